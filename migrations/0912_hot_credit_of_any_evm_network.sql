-- Every network has a hot wallet that merchants share but those of these chains: a network that comes later counts at once.
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
  if now_is = was or moved.network ~ '^(bitcoin|litecoin|solana)-' then return null; end if;
  insert into public.hot_credit (merchant_id, livemode, network, asset, amount)
  values (moved.merchant_id, moved.livemode, moved.network, moved.asset, tg_argv[1]::integer * (now_is - was))
  on conflict (merchant_id, livemode, network, asset) do update set amount = hot_credit.amount + excluded.amount;
  return null;
end
$$;
