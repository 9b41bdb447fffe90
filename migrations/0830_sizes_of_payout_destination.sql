-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table payout_destination add constraint payout_destination_sizes
  check (greatest(octet_length(address), octet_length(asset), octet_length(created_by), octet_length(id),
    octet_length(merchant_id), octet_length(name)) <= 65536) not valid;
