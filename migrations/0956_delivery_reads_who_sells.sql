-- The name that buyers see, and who sells, as receipts say it.
grant select (merchant_id, name, legal_name, postal_address, tax_number) on branding to paylink_delivery;
-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table branding add constraint branding_name_size check (octet_length(name) <= 65536) not valid;
