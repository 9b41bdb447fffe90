-- As in 0838, of what is read by the hundred.
alter table endpoint_secret drop constraint endpoint_secret_sizes, add constraint endpoint_secret_sizes
  check (greatest(octet_length(endpoint_id), octet_length(id), octet_length(merchant_id),
    octet_length(secret_sealed)) <= 4096) not valid;
