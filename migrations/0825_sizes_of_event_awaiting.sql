-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table event_awaiting add constraint event_awaiting_sizes
  check (greatest(octet_length(event_id), octet_length(merchant_id), octet_length(reason)) <= 65536) not valid;
