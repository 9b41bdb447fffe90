-- Deposits of a token that its issuer lets nobody move: the watcher finds them before it plans a sweep.
create table frozen_deposit (
  merchant_id text not null,
  livemode boolean not null,
  network text not null,
  asset text not null,
  address bytea not null check (octet_length(address) = 20),
  invoice_id text not null,
  -- What its deposits that were not swept are worth.
  amount numeric(78, 0) not null check (amount > 0),
  -- In the words of the token's contract.
  reason text not null,
  found_at timestamptz not null,
  checked_at timestamptz not null,
  primary key (merchant_id, network, asset, address),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
create index frozen_deposit_by_check on frozen_deposit (network, checked_at);

grant select, insert, update, delete on frozen_deposit to paylink_watcher;
grant select on frozen_deposit to paylink_api;
-- What the token's contract would refuse is given up before it is signed; a payout that was refused counts no more.
grant insert on payout_refusal to paylink_watcher;
grant select on payout_refusal to paylink_api;

alter table frozen_deposit enable row level security;
alter table frozen_deposit force row level security;
create policy owner_all on frozen_deposit to current_user using (true) with check (true);
create policy workers_all on frozen_deposit to paylink_watcher using (true) with check (true);
create policy api_one_tenant on frozen_deposit to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'));
