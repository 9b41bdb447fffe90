-- Who sells, for the receipts that buyers print: the business's name in law, its address of at most five lines, and its number
-- with the tax office or the register. Each null where the shop did not say.
alter table branding
  add column legal_name text,
  add column postal_address text,
  add column tax_number text,
  add constraint branding_seller_is_text check (
    (legal_name is null or char_length(legal_name) between 1 and 200 and legal_name !~ '[\x01-\x1f\x7f-\x9f]')
    and (postal_address is null or char_length(postal_address) between 1 and 400
      and postal_address !~ '[\x01-\x09\x0b-\x1f\x7f-\x9f]' and postal_address !~ '(\n[^\n]*){5}')
    and (tax_number is null or char_length(tax_number) between 1 and 64 and tax_number !~ '[\x01-\x1f\x7f-\x9f]'))
    not valid;
grant update (legal_name, postal_address, tax_number) on branding to paylink_api;
