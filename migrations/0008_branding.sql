-- How a merchant's pages look, in both modes.

create table branding (
  merchant_id text not null references merchant (id),
  -- In place of the merchant's name; null: that one.
  name text,
  colour text check (colour ~ '^#[0-9a-f]{6}$'),
  -- A WebP picture that we encoded, with its size in pixels and the name under which it is served.
  logo bytea check (octet_length(logo) <= 8192),
  logo_digest text,
  logo_width integer,
  logo_height integer,
  updated_at timestamptz not null,
  primary key (merchant_id),
  check (num_nulls(logo, logo_digest, logo_width, logo_height) in (0, 4))
);
grant select, insert, update on branding to paylink_api;
grant select on branding to paylink_watcher, paylink_delivery;
alter table branding enable row level security;
alter table branding force row level security;
create policy owner_all on branding to current_user using (true) with check (true);
create policy workers_read on branding for select to paylink_watcher, paylink_delivery using (true);
create policy api_one_merchant on branding to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true))
  with check (merchant_id = current_setting('paylink.merchant_id', true));
