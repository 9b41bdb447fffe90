-- Who writes to the buyer: as the buyers' pages name it.
grant select (id, name) on merchant to paylink_delivery;
-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table merchant add constraint merchant_sizes check (octet_length(name) <= 65536) not valid;
