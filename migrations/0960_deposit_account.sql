-- Who has permanent deposit addresses: one row for each customer reference of a merchant in a mode. The addresses are rows of
-- deposit_address, whose invoice_id is then the account's id, as it is in what comes to them.
create table deposit_account (
  merchant_id text not null references merchant (id),
  id text not null collate "C" check (id like 'da\_%'),
  livemode boolean not null,
  customer_reference text not null check (char_length(customer_reference) between 1 and 255),
  -- What the operator keeps of every deposit, in basis points, fixed when the addresses are made.
  service_fee_bps integer not null check (service_fee_bps between 0 and 10000),
  created_at timestamptz not null,
  primary key (merchant_id, id),
  unique (merchant_id, livemode, customer_reference)
);
-- Lists, newest first, in one mode; ids sort by time.
create index deposit_account_by_mode on deposit_account (merchant_id, livemode, id);

grant select, insert on deposit_account to paylink_api;
grant select on deposit_account to paylink_watcher;

alter table deposit_account enable row level security;
alter table deposit_account force row level security;
create policy owner_all on deposit_account to current_user using (true) with check (true);
create policy workers_all on deposit_account to paylink_watcher using (true);
create policy api_one_tenant on deposit_account to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'))
  with check (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'));
