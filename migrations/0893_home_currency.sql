-- What a shop keeps its prices in (ISO 4217): new ones begin with it, and its dashboard says what dollars are worth in it.
-- Null is US dollars.
alter table branding
  add column home_currency text,
  add constraint branding_home_currency check (home_currency ~ '^[A-Z]{3}$') not valid;
grant update (home_currency) on branding to paylink_api;
