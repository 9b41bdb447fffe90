-- Pictures of what tills sell, as we encoded them, under the digest by which a till names them.
create table till_picture (
  merchant_id text not null references merchant (id),
  livemode boolean not null,
  digest text not null check (digest ~ '^[0-9a-f]{32}$'),
  picture bytea not null check (octet_length(picture) between 1 and 8192),
  created_at timestamptz not null,
  primary key (merchant_id, livemode, digest)
);
grant select, insert, delete on till_picture to paylink_api;

alter table till_picture enable row level security;
alter table till_picture force row level security;
create policy owner_all on till_picture to current_user using (true) with check (true);
-- Both modes: where pictures are served, nothing says in which one a till is.
create policy api_one_merchant on till_picture to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true))
  with check (merchant_id = current_setting('paylink.merchant_id', true));
