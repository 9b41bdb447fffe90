-- Delivery reads hundreds of events at once: a megabyte for each was too much. An honest one has 64 KB at most.
alter table event drop constraint event_sizes, add constraint event_sizes
  check (greatest(octet_length(body), octet_length(event_type), octet_length(id), octet_length(merchant_id),
    octet_length(request_id), octet_length(resource_id)) <= 262144) not valid;
