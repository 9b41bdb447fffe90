-- The permanent addresses of a network, newest first: those among all addresses that are looked at on their own.
create index deposit_address_permanent on deposit_address (keyspace, idx) where invoice_id like 'da\_%';
