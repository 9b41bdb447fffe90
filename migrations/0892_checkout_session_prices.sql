-- What an order costs in the shop's own currency, and the rate that made dollars of it when the session was created; null
-- where it costs dollars. Written once: no login may update it. Its invoice has the same three.
alter table checkout_session
  add column price_amount text,
  add column price_currency text,
  add column price_rate jsonb,
  add constraint checkout_session_price_is_whole check (
    num_nulls(price_amount, price_currency, price_rate) = 3
    or num_nulls(price_amount, price_currency, price_rate, price_rate ->> 'usdPerUnit') = 0
      and price_amount ~ '^(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?$' and price_currency ~ '^[A-Z]{3}$'
      and price_rate ->> 'usdPerUnit' ~ '^[0-9]{1,15}(\.[0-9]{1,12})?$' and octet_length(price_rate::text) <= 4096)
    not valid;
