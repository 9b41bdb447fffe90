-- What came to a permanent address, once for each payment that is no dust: what was announced to the merchant, and what the coin
-- was worth when it came. Where it stands on the chain, its transfer says.
create table deposit (
  merchant_id text not null,
  -- The payment's with another prefix.
  id text not null collate "C" check (id = 'dep_' || substr(payment_id, 5)),
  livemode boolean not null,
  account_id text not null,
  payment_id text not null,
  -- json, not jsonb: evidence is given back exactly as it came.
  rate json check (octet_length(rate::text) <= 65536),
  -- The last event; null where none was sent, since it is no money of ours to credit.
  announced text check (announced in ('detected', 'confirmed', 'reversed')),
  event_count integer not null check (event_count >= 0),
  created_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, account_id) references deposit_account (merchant_id, id),
  foreign key (merchant_id, payment_id) references transfer (merchant_id, id)
);
-- Lists, newest first, in one mode, and of one account.
create index deposit_by_mode on deposit (merchant_id, livemode, id);
create index deposit_by_account on deposit (merchant_id, account_id, id);
-- What of an account is not final yet.
create index deposit_unsettled on deposit (merchant_id, account_id) where announced = 'detected';

grant select on deposit to paylink_api;
grant select, insert, update (announced, event_count) on deposit to paylink_watcher;

alter table deposit enable row level security;
alter table deposit force row level security;
create policy owner_all on deposit to current_user using (true) with check (true);
create policy workers_all on deposit to paylink_watcher using (true) with check (true);
create policy api_one_tenant on deposit to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'));
