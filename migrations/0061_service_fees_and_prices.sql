-- What the operator keeps of what merchants receive: basis points, fixed when an invoice is made, so that what the
-- chain takes back gives back exactly what was kept.
alter table invoice add column service_fee_bps integer not null default 0
  check (service_fee_bps between 0 and 10000);

-- Service fees stand outside of the merchant's statement, as the chain does.
alter table ledger_entry drop constraint ledger_entry_account_check;
alter table ledger_entry add constraint ledger_entry_account_check
  check (account in ('chain', 'fees', 'pending', 'suspense', 'available', 'reserved', 'shortfall'));
alter table ledger_entry drop constraint ledger_entry_in_statement;
alter table ledger_entry add constraint ledger_entry_in_statement
  check ((account in ('chain', 'fees')) = (position is null) and (position is null) = (balance_after is null));

create or replace function ledger_keep_balance() returns trigger
language plpgsql security definer set search_path = public as $$
declare
  balance_now numeric(78, 0);
begin
  insert into ledger_balance (merchant_id, livemode, asset, account, balance)
  values (new.merchant_id, new.livemode, new.asset, new.account, 0)
  on conflict do nothing;
  update ledger_balance
  set balance = balance + new.amount
  where merchant_id = new.merchant_id and livemode = new.livemode
    and asset = new.asset and account = new.account
  returning balance into balance_now;
  new.position := null;
  new.balance_after := null;
  if new.account not in ('chain', 'fees') then
    new.balance_after := balance_now;
    new.position := 1 + coalesce((
      select max(position) from ledger_entry
      where merchant_id = new.merchant_id and livemode = new.livemode and position is not null), 0);
  end if;
  return new;
end
$$;

-- The last trustworthy price of each asset, so that every line of the ledger can say what it was worth: whoever posts
-- asks no exchange. Written by the processes that do.
create table asset_price (
  asset text not null,
  livemode boolean not null,
  -- 10⁻¹² US dollar per coin.
  price numeric(78, 0) not null check (price > 0),
  updated_at timestamptz not null,
  primary key (asset, livemode)
);
grant select, insert, update on asset_price to paylink_api;
grant select on asset_price to paylink_watcher;
