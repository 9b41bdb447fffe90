-- Whether a shop still wants its buyers to be written to.
grant select (merchant_id, livemode, rules) on payment_rules to paylink_delivery;
-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table payment_rules add constraint payment_rules_sizes check (octet_length(rules::text) <= 65536) not valid;
