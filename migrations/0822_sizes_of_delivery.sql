-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table delivery add constraint delivery_sizes
  check (greatest(octet_length(endpoint_id), octet_length(event_id), octet_length(id), octet_length(merchant_id)) <= 65536) not valid;
