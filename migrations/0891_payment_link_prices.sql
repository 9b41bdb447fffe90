-- What a payment link charges in the shop's own currency, in place of dollars. Nothing computes with it before it has become
-- dollars: the program reads the amount as a decimal of its currency.
alter table payment_link
  add column price_amount text,
  add column price_currency text,
  drop constraint payment_link_check,
  add constraint payment_link_charge check (
    num_nulls(price_amount, price_currency) = 2 and (usd_cents is not null or allow_dynamic_amount)
    or num_nulls(price_amount, price_currency) = 0 and usd_cents is null
      and price_amount ~ '^(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?$' and price_currency ~ '^[A-Z]{3}$')
    not valid;
grant update (price_amount, price_currency) on payment_link to paylink_api;
