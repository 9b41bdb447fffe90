-- Double entry. A ledger transfer is written once with its entries and never changed; a correction is another
-- transfer. Accounts of a merchant: chain (the outside; the only one that may be negative), pending, suspense,
-- available, reserved.

create table ledger_transfer (
  merchant_id text not null references merchant (id),
  -- Deterministic: dep:<network>:<txid>:<index>:<number>.
  id text not null,
  livemode boolean not null,
  kind text not null,
  invoice_id text,
  -- What the moved value was worth in US cents at the invoice's rate; null where no rate was taken.
  usd_cents numeric(78, 0),
  created_at timestamptz not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  primary key (merchant_id, id)
);

create table ledger_entry (
  merchant_id text not null,
  transfer_id text not null,
  account text not null check (account in ('chain', 'pending', 'suspense', 'available', 'reserved')),
  asset text not null,
  livemode boolean not null,
  amount numeric(78, 0) not null check (amount <> 'NaN'::numeric and amount <> 0),
  created_at timestamptz not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  primary key (merchant_id, transfer_id, account, asset),
  foreign key (merchant_id, transfer_id) references ledger_transfer (merchant_id, id)
);

-- The sum of the entries, kept by a trigger and by nothing else.
create table ledger_balance (
  merchant_id text not null references merchant (id),
  livemode boolean not null,
  asset text not null,
  account text not null,
  balance numeric(78, 0) not null check (balance <> 'NaN'::numeric),
  primary key (merchant_id, livemode, asset, account),
  check (account = 'chain' or balance >= 0)
);

create function ledger_keep_balance() returns trigger
language plpgsql security definer set search_path = public as $$
begin
  insert into ledger_balance (merchant_id, livemode, asset, account, balance)
  values (new.merchant_id, new.livemode, new.asset, new.account, 0)
  on conflict do nothing;
  update ledger_balance
  set balance = balance + new.amount
  where merchant_id = new.merchant_id and livemode = new.livemode
    and asset = new.asset and account = new.account;
  return null;
end
$$;
create trigger ledger_entry_balance after insert on ledger_entry
  for each row execute function ledger_keep_balance();

-- At commit: a transfer has entries, all of its own transaction, and they sum to zero for each asset.
create function ledger_check_transfer() returns trigger
language plpgsql security definer set search_path = public as $$
declare
  checked_id text := case tg_table_name when 'ledger_transfer' then to_jsonb(new) ->> 'id' else to_jsonb(new) ->> 'transfer_id' end;
begin
  if not exists (
    select from ledger_entry where merchant_id = new.merchant_id and transfer_id = checked_id
  ) then
    raise exception 'ledger transfer % has no entries', checked_id using errcode = 'check_violation';
  end if;
  if exists (
    select from ledger_entry
    where merchant_id = new.merchant_id and transfer_id = checked_id
    group by asset having sum(amount) <> 0
  ) then
    raise exception 'the entries of ledger transfer % do not sum to zero', checked_id
      using errcode = 'check_violation';
  end if;
  if exists (
    select from ledger_entry e
    join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
    where e.merchant_id = new.merchant_id and e.transfer_id = checked_id
      and (e.transaction_id <> t.transaction_id or e.livemode <> t.livemode)
  ) then
    raise exception 'ledger transfer % was changed after it was committed', checked_id
      using errcode = 'check_violation';
  end if;
  return null;
end
$$;
create constraint trigger ledger_transfer_complete after insert on ledger_transfer
  deferrable initially deferred for each row execute function ledger_check_transfer();
create constraint trigger ledger_entry_complete after insert on ledger_entry
  deferrable initially deferred for each row execute function ledger_check_transfer();
