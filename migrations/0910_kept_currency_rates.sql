-- What one unit of each currency was worth on each day of UTC, so that statements and journals say what a line was worth
-- then: the first rate of the day that could be trusted, with what each source said. Written once, and never changed.
create table currency_rate (
  livemode boolean not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  day date not null,
  -- As on invoices: usdPerUnit, quotedAt, sources.
  rate jsonb not null
    check (num_nulls(rate ->> 'usdPerUnit') = 0 and rate ->> 'usdPerUnit' ~ '^[0-9]{1,15}(\.[0-9]{1,12})?$'
      and octet_length(rate::text) <= 4096),
  primary key (livemode, currency, day)
);
grant select, insert on currency_rate to paylink_api;
