-- What was done at the dashboard, each entry sealed to the one before it, so that none can be changed, taken out
-- or put in between without `paylink audit-log verify` seeing it.
create table audit_entry (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  -- 1, 2, 3… per merchant, over both modes: the chain.
  number bigint not null check (number > 0),
  actor text not null,
  -- The API's operation, such as `rotateWebhookSecret`, or a command's name.
  action text not null,
  resource_id text,
  -- `begun` is written before the act; `done` or `refused` after it, under the same request id.
  phase text not null check (phase in ('begun', 'done', 'refused')),
  code text,
  request_id text not null,
  created_at timestamptz not null,
  -- SHA-256 over the previous entry's hash and this entry's fields (core/people/audit-hash).
  hash bytea not null,
  primary key (merchant_id, id)
);
create unique index audit_entry_chain on audit_entry (merchant_id, number);

grant select, insert on audit_entry to paylink_api;
alter table audit_entry enable row level security;
alter table audit_entry force row level security;
create policy owner_all on audit_entry to current_user using (true) with check (true);
-- Both modes of one merchant are one chain, so that the mode is no wall here.
create policy api_one_merchant on audit_entry to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true))
  with check (merchant_id = current_setting('paylink.merchant_id', true));
