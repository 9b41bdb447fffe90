-- The requests that a merchant's servers and people made, for 30 days. Written in batches, some of a crash's last
-- second lost: a help for developers, and no record that anything rests on.
create table request_log (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  request_id text not null,
  caller text not null,
  method text not null,
  -- The route, such as /invoices/:id, and the path that was asked.
  route text not null,
  path text not null,
  status integer not null,
  error_code text,
  duration_ms integer not null,
  created_at timestamptz not null,
  primary key (merchant_id, id)
);
create index request_log_by_mode on request_log (merchant_id, livemode, id);
create index request_log_by_age on request_log (created_at);

-- The API's process writes the requests of many merchants at once: it may insert for any, and read one merchant's.
grant select, insert on request_log to paylink_api;
grant select, delete on request_log to paylink_delivery;
alter table request_log enable row level security;
alter table request_log force row level security;
create policy owner_all on request_log to current_user using (true) with check (true);
create policy workers_all on request_log to paylink_delivery using (true) with check (true);
create policy api_writes on request_log for insert to paylink_api with check (true);
create policy api_one_tenant on request_log for select to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'));
