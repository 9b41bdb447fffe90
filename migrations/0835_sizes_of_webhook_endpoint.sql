-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table webhook_endpoint add constraint webhook_endpoint_sizes
  check (greatest(octet_length(format), octet_length(id), octet_length(merchant_id),
    octet_length(requested_by), octet_length(status), octet_length(status_reason),
    octet_length(subscribed_events::text), octet_length(url)) <= 65536) not valid;
