-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table endpoint_secret add constraint endpoint_secret_sizes
  check (greatest(octet_length(endpoint_id), octet_length(id), octet_length(merchant_id),
    octet_length(secret_sealed)) <= 65536) not valid;
