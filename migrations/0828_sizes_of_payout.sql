-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table payout add constraint payout_sizes
  check (greatest(octet_length(approved_by), octet_length(asset), octet_length(destination),
    octet_length(destination_id), octet_length(failure_code), octet_length(fee_destination_id),
    octet_length(id), octet_length(merchant_id), octet_length(network), octet_length(rejected_by),
    octet_length(requested_by), octet_length(source), octet_length(status), octet_length(txid)) <= 65536) not valid;
