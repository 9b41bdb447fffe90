-- As 0997, and every rate is a text: of what is none, such as true, a pattern says neither yes nor no, and no audit could read it.
alter table invoice
  add constraint invoice_token_rates_are_texts check (token_rates is null or (
    jsonb_typeof(token_rates) = 'object' and octet_length(token_rates::text) <= 16384 and usd_cents is not null
      and not jsonb_path_exists(token_rates, '$.* ? (!(@.usdPerUnit.type() == "string"
        && @.usdPerUnit like_regex "^[0-9]{1,15}(\\.[0-9]{1,12})?$"))'))) not valid,
  drop constraint invoice_token_rates;
