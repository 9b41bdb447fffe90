-- PostgreSQL keeps half a gigabyte of one letter in some megabytes, and a process that reads such a value for all merchants
-- ends, at each start again: the signer, and delivery with the e-mails that warn of new destinations. A body has 64 KB at
-- most, and everything else far less: the bounds of this migration and of those of the same name leave room.
alter table event add constraint event_sizes
  check (greatest(octet_length(body), octet_length(event_type), octet_length(id), octet_length(merchant_id),
    octet_length(request_id), octet_length(resource_id)) <= 1048576) not valid;
