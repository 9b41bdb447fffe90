-- One statement may post many transfers, whose entries share accounts: what a block brought to a merchant. Where an entry
-- stands, and what stands in its account after it, follow from the entry before it, also of the same statement; each
-- balance is then moved once. As before, a balance moves only by entries that are really there, none of them says itself
-- where it stands, and each query goes by a key.

create or replace function ledger_place_entry() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  turn constant bigint := hashtextextended('ledger/' || new.merchant_id || '/' || new.livemode::text, 0);
  last record;
begin
  if not pg_try_advisory_xact_lock(turn) then
    perform pg_advisory_xact_lock(turn);
  end if;
  new.transaction_id := pg_current_xact_id();
  new.position := null;
  new.balance_after := null;
  if new.account in ('chain', 'fees', 'fees_reserved') then return new; end if;
  select position, transaction_id, asset, account, balance_after into last from public.ledger_entry
  where merchant_id = new.merchant_id and livemode = new.livemode and position is not null
  order by position desc limit 1;
  new.position := coalesce(last.position, 0) + 1;
  -- The balances do not have the entries of this statement yet. Those of this transaction are the last ones, since whoever
  -- else posts for the merchant waits, and have no gap. One by one, by their key: all of them in their order may be planned
  -- as a sort of everything that the merchant has.
  while last.transaction_id = new.transaction_id and (last.asset, last.account) <> (new.asset, new.account) loop
    select position, transaction_id, asset, account, balance_after into last from public.ledger_entry
    where merchant_id = new.merchant_id and livemode = new.livemode and position = last.position - 1;
  end loop;
  if last.transaction_id = new.transaction_id and (last.asset, last.account) = (new.asset, new.account) then
    new.balance_after := last.balance_after + new.amount;
  else
    new.balance_after := new.amount + coalesce((
      select balance from public.ledger_balance
      where merchant_id = new.merchant_id and livemode = new.livemode
        and asset = new.asset and account = new.account), 0);
  end if;
  return new;
end
$$;

-- What is looked up by a key for each row stands in a query of its own, which no plan can turn into a scan.
create or replace function ledger_post_entries() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  wrong record;
  moved record;
  balance_now numeric(78, 0);
begin
  select transfer_id, total into wrong from (
    select merchant_id, transfer_id, livemode, sum(amount) as total from posted
    group by merchant_id, transfer_id, livemode, asset) transfer
  where total <> 0 or (
    select true from public.ledger_transfer
    where merchant_id = transfer.merchant_id and id = transfer.transfer_id and livemode = transfer.livemode
      and transaction_id = pg_current_xact_id()) is null
  limit 1;
  if wrong.total <> 0 then
    raise exception 'the entries of ledger transfer % do not sum to zero', wrong.transfer_id
      using errcode = 'check_violation';
  elsif wrong.total = 0 then
    raise exception 'ledger transfer % was changed after it was committed', wrong.transfer_id
      using errcode = 'check_violation';
  end if;
  for moved in
    select merchant_id, livemode, asset, account, sum(amount) as amount,
      (array_agg(balance_after order by position desc))[1] as balance_after, min(balance_after) as lowest,
      bool_or(account = 'fees' and amount < 0 and transfer_id like 'payout:%') as pays_fees_out
    from posted group by merchant_id, livemode, asset, account
  loop
    update public.ledger_balance set balance = balance + moved.amount
    where merchant_id = moved.merchant_id and livemode = moved.livemode
      and asset = moved.asset and account = moved.account
    returning balance into balance_now;
    if not found then
      insert into public.ledger_balance (merchant_id, livemode, asset, account, balance)
      values (moved.merchant_id, moved.livemode, moved.asset, moved.account, moved.amount);
      balance_now := moved.amount;
    end if;
    -- Fees go below zero by the chain's doing alone, never by a payout.
    if moved.pays_fees_out and balance_now < 0 then
      raise exception 'a payout takes more than the fees of %', moved.merchant_id using errcode = 'check_violation';
    end if;
    -- Nor on the way, where a later entry of the statement brings as much back.
    if moved.lowest < 0 and moved.account <> 'shortfall' then
      raise exception 'the entries of account % of % take more than stands there', moved.account, moved.merchant_id
        using errcode = 'check_violation';
    end if;
    if balance_now <> moved.balance_after then
      raise exception 'the entries of account % of % do not lead to its balance', moved.account, moved.merchant_id
        using errcode = 'check_violation';
    end if;
  end loop;
  return null;
end
$$;

create or replace function ledger_check_transfer() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  wrong_id text;
begin
  select id into wrong_id from written transfer
  where transaction_id <> pg_current_xact_id() or not (
    select count(*) > 0 from public.ledger_entry where merchant_id = transfer.merchant_id and transfer_id = transfer.id)
  limit 1;
  if wrong_id is not null then
    raise exception 'ledger transfer % has no entries of its own statement', wrong_id using errcode = 'check_violation';
  end if;
  return null;
end
$$;

create or replace function ledger_keep_received() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  insert into public.received_by_day as known (merchant_id, livemode, day, asset, amount, usd_cents)
  select merchant_id, livemode, day, asset, sum(amount), sum(sign(amount) * usd_cents)
  from (
    select merchant_id, livemode, (created_at at time zone 'UTC')::date as day, asset, amount, (
      select coalesce(usd_cents, 0) from public.ledger_transfer
      where merchant_id = moved.merchant_id and id = moved.transfer_id and kind in ('deposit', 'deposit_void')) as usd_cents
    from (
      select merchant_id, livemode, transfer_id, asset, created_at, -sum(amount) as amount from posted
      where account in ('chain', 'pending')
      group by merchant_id, livemode, transfer_id, asset, created_at having sum(amount) <> 0) moved) received
  where usd_cents is not null
  group by merchant_id, livemode, day, asset
  on conflict (merchant_id, livemode, day, asset)
  do update set amount = known.amount + excluded.amount, usd_cents = known.usd_cents + excluded.usd_cents;
  return null;
end
$$;
