-- A test network may be pointed from one chain to another that shares its parameters: from the sandbox chain to a
-- regtest node, or to one that was made anew.

-- Which chain the checkpoint is of: the hash of the first block after genesis on a chain of one's own, else the
-- name of its parameters. Null until it is known.
alter table network_state add column chain text;

-- Null while the network is the chain that the transfer was read from; else that chain's identity: the transfer
-- stays as it was and is no longer followed.
alter table transfer add column left_on_chain text;

-- Checks, when a process starts, that it holds the key which sealed what the database holds. One row.
create table installation_secret (
  id boolean primary key default true check (id),
  -- A MAC of a constant under the key; it says nothing of the key itself.
  key_check bytea not null,
  created_at timestamptz not null
);
grant select, insert on installation_secret to paylink_api, paylink_delivery;

-- The ledger as a statement: entries in the order in which they were posted, each with the balance after it.
-- The outside (chain) has neither. Whoever posts holds the merchant's turn (queries/ledger), so that the positions
-- 1, 2, 3… of a merchant and mode have no gap and need no sequence.
alter table ledger_transfer add column payment_id text;
alter table ledger_entry add column position bigint, add column balance_after numeric(78, 0);

update ledger_transfer set payment_id = transfer.id
from transfer
where transfer.merchant_id = ledger_transfer.merchant_id
  and transfer.network = split_part(ledger_transfer.id, ':', 2)
  and transfer.txid = split_part(ledger_transfer.id, ':', 3)
  and transfer.output_index::text = split_part(ledger_transfer.id, ':', 4);
update ledger_entry set position = numbered.position, balance_after = numbered.balance_after
from (
  select merchant_id, transfer_id, account, asset,
    row_number() over (
      partition by merchant_id, livemode order by created_at, transaction_id, transfer_id, amount, account) as position,
    sum(amount) over (
      partition by merchant_id, livemode, asset, account
      order by created_at, transaction_id, transfer_id, amount, account rows unbounded preceding) as balance_after
  from ledger_entry where account <> 'chain'
) numbered
where ledger_entry.merchant_id = numbered.merchant_id and ledger_entry.transfer_id = numbered.transfer_id
  and ledger_entry.account = numbered.account and ledger_entry.asset = numbered.asset;

create unique index ledger_entry_in_order on ledger_entry (merchant_id, livemode, position)
  where position is not null;
create index ledger_entry_by_asset on ledger_entry (merchant_id, livemode, asset, position)
  where position is not null;
alter table ledger_entry add constraint ledger_entry_in_statement
  check ((account = 'chain') = (position is null) and (position is null) = (balance_after is null));

drop trigger ledger_entry_balance on ledger_entry;
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
  if new.account <> 'chain' then
    new.balance_after := balance_now;
    new.position := 1 + coalesce((
      select max(position) from ledger_entry
      where merchant_id = new.merchant_id and livemode = new.livemode and position is not null), 0);
  end if;
  return new;
end
$$;
create trigger ledger_entry_balance before insert on ledger_entry
  for each row execute function ledger_keep_balance();
