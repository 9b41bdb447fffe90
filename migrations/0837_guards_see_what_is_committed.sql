-- A guard that looks for a row sees, in a transaction of one snapshot, what there was as that began: a thief with SQL would
-- begin one, and wait until a member was removed or a payment signed. Such transactions write nothing that a guard looks at.
create function require_read_committed() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'this is written in a transaction that is read committed' using errcode = 'insufficient_privilege';
  end if;
end
$$;

revoke execute on function require_read_committed() from public;
grant execute on function require_read_committed() to paylink_api, paylink_watcher, paylink_signer, paylink_delivery;

create or replace function keep_signed_x402() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- The owner is a member of every role.
  if not pg_has_role(current_user, 'paylink_api', 'usage') or pg_has_role(current_user, 'paylink_watcher', 'usage') then
    return new;
  end if;
  perform public.require_read_committed();
  perform pg_advisory_xact_lock(hashtextextended(old.id, 0));
  if new.status <> 'refused' or exists (
    select from public.x402_transaction t where t.merchant_id = old.merchant_id and t.authorization_id = old.id) then
    raise exception 'the API may not end what was signed of %', old.id using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;

create or replace function refuse_access_gone() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if public.is_owner_of(tg_relid) then return new; end if;
  perform public.require_read_committed();
  if tg_op = 'UPDATE' or exists (select from public.access_gone where what = tg_table_name || '/' || new.id) then
    raise exception '% of % was removed, or is another', new.id, tg_table_name using errcode = 'check_violation';
  end if;
  return new;
end $$;

create or replace function refuse_password_gone() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform public.require_read_committed();
  if exists (select from public.access_gone
    where what = 'person_account/' || encode(sha256(convert_to(new.password, 'UTF8')), 'hex')) then
    raise exception 'the password of % was replaced', new.id using errcode = 'check_violation';
  end if;
  return new;
end $$;

create or replace function refuse_moved_sweep() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if public.is_owner_of(tg_relid) then return new; end if;
  perform public.require_read_committed();
  if old.status <> 'planned'
    or not exists (select from public.payout
      where merchant_id = old.merchant_id and id = old.payout_id and status = 'failed')
    or not exists (select from public.payout
      where merchant_id = old.merchant_id and id = new.payout_id and livemode = old.livemode and network = old.network
        and asset = old.asset and status in ('approved', 'submitted')) then
    raise exception 'sweep % belongs to payout %', old.id, old.payout_id using errcode = 'check_violation';
  end if;
  return new;
end $$;

create or replace function organization_keeps_an_owner() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if (select relowner = current_user::regrole from pg_class where oid = tg_relid) then return null; end if;
  perform public.require_read_committed();
  perform from public.organization where id = old.organization_id for update;
  if not exists (select from public.organization_member where organization_id = old.organization_id and role = 'owner') then
    raise exception 'organization % would have no owner', old.organization_id using errcode = 'check_violation';
  end if;
  return null;
end $$;

create or replace function deposit_address_is_from_the_pool() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
  perform public.require_read_committed();
  if not exists (
    select from public.address a where a.keyspace = new.keyspace and a.idx = new.idx and a.program = new.program
      and a.address = new.address and a.assigned_at is not null
  ) then
    raise exception 'deposit address %/% was not taken from the pool', new.keyspace, new.idx
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end
$$;
