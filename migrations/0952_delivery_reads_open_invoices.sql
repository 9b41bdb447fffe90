-- What an email to a buyer says of an invoice, and whether it may still be paid. Events say no less.
grant select (merchant_id, id, livemode, status, asset, amount, usd_cents, price_amount, price_currency, description,
  external_reference, created_at, expires_at) on invoice to paylink_delivery;
-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table invoice add constraint invoice_price_sizes
  check (greatest(octet_length(price_amount), octet_length(price_currency)) <= 65536) not valid;
