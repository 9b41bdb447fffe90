-- What of each merchant's money is in a hot wallet, without what is being paid out of it: all that was swept in, less all
-- confirmed payouts. A running figure, so that nobody has to sum a history that only grows.
create table hot_credit (
  merchant_id text not null,
  livemode boolean not null,
  network text not null,
  asset text not null,
  -- Base units. Below zero only where a sweep left its block for good after it was paid out of.
  amount numeric(78, 0) not null check (amount <> 'NaN'::numeric),
  primary key (merchant_id, livemode, network, asset)
);
-- The few merchants who have anything there.
create index hot_credit_by_asset on hot_credit (network, asset) where amount <> 0;

-- Counts a row's amount while its status is the first argument, with the second one's sign.
create function keep_hot_credit() returns trigger
language plpgsql security definer set search_path = public as $$
declare
  moved record;
  was numeric(78, 0) := 0;
  now_is numeric(78, 0) := 0;
begin
  if tg_op = 'DELETE' then moved := old; else moved := new; end if;
  if tg_op <> 'INSERT' and old.status = tg_argv[0] then was := old.amount; end if;
  if tg_op <> 'DELETE' and new.status = tg_argv[0] then now_is := new.amount; end if;
  if now_is = was or moved.network !~ '^(ethereum|base)-' then return null; end if;
  insert into hot_credit (merchant_id, livemode, network, asset, amount)
  values (moved.merchant_id, moved.livemode, moved.network, moved.asset, tg_argv[1]::integer * (now_is - was))
  on conflict (merchant_id, livemode, network, asset) do update set amount = hot_credit.amount + excluded.amount;
  return null;
end
$$;
create trigger keep_hot_credit_swept after insert or delete or update of status, amount on sweep
  for each row execute function keep_hot_credit('done', '1');
create trigger keep_hot_credit_paid after insert or delete or update of status, amount on payout
  for each row execute function keep_hot_credit('confirmed', '-1');

insert into hot_credit (merchant_id, livemode, network, asset, amount)
select merchant_id, livemode, network, asset, sum(amount) from (
  select merchant_id, livemode, network, asset, amount from sweep where status = 'done'
  union all
  select merchant_id, livemode, network, asset, -amount from payout
  where status = 'confirmed' and network ~ '^(ethereum|base)-'
) moved group by merchant_id, livemode, network, asset;

grant select on hot_credit to paylink_api, paylink_watcher, paylink_signer;
alter table hot_credit enable row level security;
alter table hot_credit force row level security;
create policy owner_all on hot_credit to current_user using (true) with check (true);
create policy workers_all on hot_credit to paylink_watcher, paylink_signer using (true) with check (true);
create policy api_one_tenant on hot_credit to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'))
  with check (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'));

-- The deposits of a sweep that can never happen are free again. Nobody may delete them otherwise.
create function let_go_of_deposits() returns trigger
language plpgsql security definer set search_path = public as $$
begin
  delete from sweep_transfer where merchant_id = new.merchant_id and sweep_id = new.id;
  return null;
end
$$;
create trigger let_go_of_deposits after update of status on sweep
  for each row when (new.status = 'failed' and old.status <> 'failed') execute function let_go_of_deposits();
delete from sweep_transfer l using sweep s
where s.merchant_id = l.merchant_id and s.id = l.sweep_id and s.status = 'failed';
