-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table deposit_address add constraint deposit_address_sizes
  check (greatest(octet_length(address), octet_length(invoice_id), octet_length(keyspace),
    octet_length(merchant_id), octet_length(program)) <= 65536) not valid;
