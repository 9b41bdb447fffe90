-- Filters of lists that a person of a shop keeps under a name, in both modes together.
create table saved_view (
  merchant_id text not null references merchant (id),
  user_id text not null references person (id) on delete cascade,
  list text not null,
  name text not null,
  query json not null,
  created_at timestamptz not null,
  primary key (merchant_id, user_id, list, name)
);
grant select, insert, delete, update (query) on saved_view to paylink_api;

alter table saved_view enable row level security;
alter table saved_view force row level security;
create policy owner_all on saved_view to current_user using (true) with check (true);
create policy api_one_merchant on saved_view to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true))
  with check (merchant_id = current_setting('paylink.merchant_id', true));
