-- What each day (UTC) brought, in each coin: deposits that became final, less those that the chain took back, on the day
-- of either. A sum of ledger entries, kept by a trigger and by nothing else, so that a home page adds up days and not a
-- million entries.
create table received_by_day (
  merchant_id text not null references merchant (id),
  livemode boolean not null,
  day date not null,
  asset text not null,
  amount numeric(78, 0) not null,
  -- What that was worth when it was received; nothing for what never had a price.
  usd_cents numeric(78, 0) not null,
  primary key (merchant_id, livemode, day, asset)
);

-- What left `chain` and `pending`, for whichever account of what is final, has been received. Each query goes by a key, as
-- in ledger_post_entries.
create function ledger_keep_received() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  moved record;
  usd numeric(78, 0);
begin
  for moved in
    select merchant_id, livemode, transfer_id, asset, created_at, -sum(amount) as amount from posted
    where account in ('chain', 'pending')
    group by merchant_id, livemode, transfer_id, asset, created_at having sum(amount) <> 0
  loop
    select sign(moved.amount) * coalesce(usd_cents, 0) into usd from public.ledger_transfer
    where merchant_id = moved.merchant_id and id = moved.transfer_id and kind in ('deposit', 'deposit_void');
    continue when not found;
    insert into public.received_by_day as known (merchant_id, livemode, day, asset, amount, usd_cents)
    values (moved.merchant_id, moved.livemode, (moved.created_at at time zone 'UTC')::date, moved.asset, moved.amount, usd)
    on conflict (merchant_id, livemode, day, asset)
    do update set amount = known.amount + excluded.amount, usd_cents = known.usd_cents + excluded.usd_cents;
  end loop;
  return null;
end
$$;

-- From here on nothing is posted until this migration ends: what the trigger counts and what is added up below meet.
create trigger ledger_entry_received after insert on ledger_entry referencing new table as posted
  for each statement execute function ledger_keep_received();
insert into received_by_day (merchant_id, livemode, day, asset, amount, usd_cents)
select merchant_id, livemode, (created_at at time zone 'UTC')::date, asset, sum(amount), sum(sign(amount) * usd_cents)
from (
  select e.merchant_id, e.livemode, e.created_at, e.asset, -sum(e.amount) as amount, coalesce(t.usd_cents, 0) as usd_cents
  from ledger_entry e join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
  where e.account in ('chain', 'pending') and t.kind in ('deposit', 'deposit_void')
  group by e.merchant_id, e.livemode, e.transfer_id, e.created_at, e.asset, t.usd_cents
) moved
group by 1, 2, 3, 4;

grant select on received_by_day to paylink_api, paylink_watcher;
alter table received_by_day enable row level security;
alter table received_by_day force row level security;
create policy workers_all on received_by_day to paylink_watcher using (true) with check (true);
do $$
begin
  execute 'create policy owner_all on received_by_day to current_user using (true) with check (true)';
  execute 'create policy api_one_tenant on received_by_day to paylink_api
     using (merchant_id = current_setting(''paylink.merchant_id'', true)
            and livemode = (current_setting(''paylink.livemode'', true) = ''true''))';
end
$$;
