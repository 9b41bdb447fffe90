-- The same token on other networks, with which an invoice can be paid as well, as names of assets.
alter table invoice
  add column also_accepts jsonb not null default '[]',
  add constraint invoice_also_accepts
    check (jsonb_typeof(also_accepts) = 'array' and octet_length(also_accepts::text) <= 1024) not valid;
grant update (also_accepts) on invoice to paylink_api;
