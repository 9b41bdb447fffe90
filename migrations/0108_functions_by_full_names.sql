-- Functions that run as the owner find operators, functions and casts in pg_catalog alone, and name the schema of each
-- table: whatever else is in `public`, by whomever, stands in for nothing. An operator that fits two operands exactly would
-- win over one of pg_catalog's that has to convert them, wherever `public` is in the path. The trigger of the owners runs as
-- whoever deletes, and that is the owner of the table where a key cascades.

create or replace function ledger_place_entry() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  turn constant bigint := hashtextextended('ledger/' || new.merchant_id || '/' || new.livemode::text, 0);
begin
  if not pg_try_advisory_xact_lock(turn) then
    perform pg_advisory_xact_lock(turn);
  end if;
  new.transaction_id := pg_current_xact_id();
  new.position := null;
  new.balance_after := null;
  if new.account not in ('chain', 'fees', 'fees_reserved') then
    select new.amount + coalesce((
        select balance from public.ledger_balance
        where merchant_id = new.merchant_id and livemode = new.livemode
          and asset = new.asset and account = new.account), 0),
      1 + coalesce((
        select max(position) from public.ledger_entry
        where merchant_id = new.merchant_id and livemode = new.livemode and position is not null), 0)
    into new.balance_after, new.position;
  end if;
  return new;
end
$$;

create or replace function ledger_post_entries() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  entry public.ledger_entry;
  before public.ledger_entry;
  total numeric(78, 0) := 0;
  balance_now numeric(78, 0);
begin
  for entry in select * from posted loop
    if (entry.merchant_id, entry.transfer_id, entry.livemode, entry.asset)
      is distinct from (before.merchant_id, before.transfer_id, before.livemode, before.asset) then
      exit when total <> 0;
      perform from public.ledger_transfer
      where merchant_id = entry.merchant_id and id = entry.transfer_id and livemode = entry.livemode
        and transaction_id = pg_current_xact_id();
      if not found then
        raise exception 'ledger transfer % was changed after it was committed', entry.transfer_id
          using errcode = 'check_violation';
      end if;
    end if;
    total := total + entry.amount;
    update public.ledger_balance set balance = balance + entry.amount
    where merchant_id = entry.merchant_id and livemode = entry.livemode
      and asset = entry.asset and account = entry.account
    returning balance into balance_now;
    if not found then
      insert into public.ledger_balance (merchant_id, livemode, asset, account, balance)
      values (entry.merchant_id, entry.livemode, entry.asset, entry.account, entry.amount);
      balance_now := entry.amount;
    end if;
    -- Fees go below zero by the chain's doing alone, never by a payout.
    if entry.account = 'fees' and entry.amount < 0 and balance_now < 0 and entry.transfer_id like 'payout:%' then
      raise exception 'a payout takes more than the fees of %', entry.merchant_id using errcode = 'check_violation';
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

create or replace function ledger_check_transfer() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  transfer public.ledger_transfer;
begin
  for transfer in select * from written loop
    perform from public.ledger_entry where merchant_id = transfer.merchant_id and transfer_id = transfer.id;
    if not found or transfer.transaction_id <> pg_current_xact_id() then
      raise exception 'ledger transfer % has no entries of its own statement', transfer.id
        using errcode = 'check_violation';
    end if;
  end loop;
  return null;
end
$$;

create or replace function keep_hot_credit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moved record;
  was numeric(78, 0) := 0;
  now_is numeric(78, 0) := 0;
begin
  if tg_op = 'DELETE' then moved := old; else moved := new; end if;
  if tg_op <> 'INSERT' and old.status = tg_argv[0] then was := old.amount; end if;
  if tg_op <> 'DELETE' and new.status = tg_argv[0] then now_is := new.amount; end if;
  if now_is = was or moved.network !~ '^(ethereum|base)-' then return null; end if;
  insert into public.hot_credit (merchant_id, livemode, network, asset, amount)
  values (moved.merchant_id, moved.livemode, moved.network, moved.asset, tg_argv[1]::integer * (now_is - was))
  on conflict (merchant_id, livemode, network, asset) do update set amount = hot_credit.amount + excluded.amount;
  return null;
end
$$;

create or replace function let_go_of_deposits() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from public.sweep_transfer where merchant_id = new.merchant_id and sweep_id = new.id;
  return null;
end
$$;

create or replace function attempt_keep_partitions(days_ahead integer, days_kept integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  today date := (now() at time zone 'UTC')::date;
  day date;
  old_partition text;
begin
  if days_ahead not between 1 and 60 or days_kept < 30 then
    raise exception 'attempt_keep_partitions: days out of range' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtext('attempt_keep_partitions'));
  for offset_days in -1 .. days_ahead loop
    day := today + offset_days;
    if to_regclass(format('public.attempt_%s', to_char(day, 'YYYYMMDD'))) is null then
      execute format(
        'create table public.attempt_%s partition of public.attempt for values from (%L) to (%L)',
        to_char(day, 'YYYYMMDD'),
        (day::timestamp at time zone 'UTC')::text,
        ((day + 1)::timestamp at time zone 'UTC')::text
      );
    end if;
  end loop;
  for old_partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'public.attempt'::regclass and c.relname ~ '^attempt_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < today - days_kept
  loop
    execute format('drop table public.%I', old_partition);
  end loop;
end
$$;

create or replace function payment_link_owner(asked_slug text)
returns table (merchant_id text, livemode boolean, id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select merchant_id, livemode, id from public.payment_link where slug = asked_slug and active
$$;

create or replace function card_purchase_owner(asked_id text)
returns table (merchant_id text, livemode boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select merchant_id, livemode from public.card_purchase where id = asked_id
$$;

create or replace function organization_keeps_an_owner() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if (select relowner = current_user::regrole from pg_class where oid = tg_relid) then return null; end if;
  perform from public.organization where id = old.organization_id for update;
  if not exists (select from public.organization_member where organization_id = old.organization_id and role = 'owner') then
    raise exception 'organization % would have no owner', old.organization_id using errcode = 'check_violation';
  end if;
  return null;
end $$;

-- Beside the invoices' (0104). A database that was migrated before 0.1.0 may have it.
alter table checkout_session add column if not exists return_url text;
