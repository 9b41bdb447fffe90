-- What is posted is checked by the statement that posts it, and whole when that statement ends: a transfer comes with all
-- its entries, they sum to zero, and nothing is added later. No check waits for the commit, so that none can be brought
-- forward, and a balance moves only by entries that are really there (an insert "on conflict do nothing" runs the triggers
-- before a row and may then write none). Temporary tables come last in the search path, so that none can stand in for a
-- table of the ledger. Each query goes by a key, one row at a time, and with no scan of a table to choose: a connection plans
-- it once, maybe while the ledger is empty, and the plan has to serve for hours.

drop trigger ledger_entry_balance on ledger_entry;
drop trigger ledger_entry_complete on ledger_entry;
drop trigger ledger_transfer_complete on ledger_transfer;
drop function ledger_keep_balance;
drop function ledger_check_transfer;

-- Where an entry stands in the statement. Whoever posts for a merchant waits here for who posts for the same: the lock is
-- the one of queries/ledger. It is taken by a statement of its own, so that the next one sees what was posted meanwhile.
create function ledger_place_entry() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  turn constant bigint := hashtextextended('ledger/' || new.merchant_id || '/' || new.livemode, 0);
begin
  if not pg_try_advisory_xact_lock(turn) then
    perform pg_advisory_xact_lock(turn);
  end if;
  new.transaction_id := pg_current_xact_id();
  new.position := null;
  new.balance_after := null;
  if new.account not in ('chain', 'fees') then
    select new.amount + coalesce((
        select balance from ledger_balance
        where merchant_id = new.merchant_id and livemode = new.livemode
          and asset = new.asset and account = new.account), 0),
      1 + coalesce((
        select max(position) from ledger_entry
        where merchant_id = new.merchant_id and livemode = new.livemode and position is not null), 0)
    into new.balance_after, new.position;
  end if;
  return new;
end
$$;
create trigger ledger_entry_place before insert on ledger_entry
  for each row execute function ledger_place_entry();

-- Entries are of transfers of this very transaction and of their mode; those of one transfer and asset come one after the
-- other, and sum to zero; and they move the balances.
create function ledger_post_entries() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  entry ledger_entry;
  before ledger_entry;
  total numeric(78, 0) := 0;
  balance_now numeric(78, 0);
begin
  for entry in select * from posted loop
    if (entry.merchant_id, entry.transfer_id, entry.livemode, entry.asset)
      is distinct from (before.merchant_id, before.transfer_id, before.livemode, before.asset) then
      exit when total <> 0;
      perform from ledger_transfer
      where merchant_id = entry.merchant_id and id = entry.transfer_id and livemode = entry.livemode
        and transaction_id = pg_current_xact_id();
      if not found then
        raise exception 'ledger transfer % was changed after it was committed', entry.transfer_id
          using errcode = 'check_violation';
      end if;
    end if;
    total := total + entry.amount;
    update ledger_balance set balance = balance + entry.amount
    where merchant_id = entry.merchant_id and livemode = entry.livemode
      and asset = entry.asset and account = entry.account
    returning balance into balance_now;
    if not found then
      insert into ledger_balance (merchant_id, livemode, asset, account, balance)
      values (entry.merchant_id, entry.livemode, entry.asset, entry.account, entry.amount);
      balance_now := entry.amount;
    end if;
    if balance_now <> entry.balance_after then
      raise exception 'ledger transfer % shares account % with another entry of its statement',
        entry.transfer_id, entry.account using errcode = 'check_violation';
    end if;
    before := entry;
  end loop;
  if total <> 0 then
    raise exception 'the entries of ledger transfer % do not sum to zero', before.transfer_id
      using errcode = 'check_violation';
  end if;
  return null;
end
$$;
create trigger ledger_entry_post after insert on ledger_entry referencing new table as posted
  for each statement execute function ledger_post_entries();

-- A transfer is written by the statement that writes its entries.
create function ledger_check_transfer() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  transfer ledger_transfer;
begin
  for transfer in select * from written loop
    perform from ledger_entry where merchant_id = transfer.merchant_id and transfer_id = transfer.id;
    if not found or transfer.transaction_id <> pg_current_xact_id() then
      raise exception 'ledger transfer % has no entries of its own statement', transfer.id
        using errcode = 'check_violation';
    end if;
  end loop;
  return null;
end
$$;
create trigger ledger_transfer_complete after insert on ledger_transfer referencing new table as written
  for each statement execute function ledger_check_transfer();

-- The same care elsewhere.
alter function keep_hot_credit() set search_path = public, pg_temp;
alter function let_go_of_deposits() set search_path = public, pg_temp;
