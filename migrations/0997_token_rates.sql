-- Of an invoice in dollars of any issuer: the rate at which each token counts, by its ticker, locked when it was created.
alter table invoice
  add column token_rates jsonb,
  add constraint invoice_token_rates check (token_rates is null or (
    jsonb_typeof(token_rates) = 'object' and octet_length(token_rates::text) <= 16384 and usd_cents is not null
      and not jsonb_path_exists(token_rates, '$.* ? (!(@.usdPerUnit like_regex "^[0-9]{1,15}(\\.[0-9]{1,12})?$"))'))) not valid;
grant update (token_rates) on invoice to paylink_api;
