-- An API process may have addresses of the pool to itself for some seconds, to give them out without asking first. Until
-- one is taken it belongs to the pool: what is not used by then is anybody's again, and a process that dies loses none.
alter table address add column leased_until timestamptz;
grant update (leased_until) on address to paylink_api;

-- Takes a leased address, if every watched network of its keyspace matches it and nobody else has taken it meanwhile;
-- else ends the transaction (PL002), whose further statements are on their way already.
create function take_leased_address(space text, form text, chain text, place bigint, at timestamptz) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update public.address a set assigned_at = at
  where a.keyspace = space and a.idx = place and a.parameters = form and a.assigned_at is null
    and a.idx <= (select case when bool_or(w.network = chain) then min(w.through) end
      from public.network_watch w where w.keyspace = space);
  if not found then
    raise exception 'address %/% is not in the pool any more', space, place using errcode = 'PL002';
  end if;
end
$$;

-- Marks an Idempotency-Key as in use until the transaction ends; ends it (PL001) where the key was used before, or another
-- transaction uses it. The answer is looked for by a statement of its own after the lock: one snapshot for both could miss
-- an answer committed in between.
create function claim_fresh_key(merchant text, mode boolean, verb text, path text, own_key text, lock bigint) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not pg_try_advisory_xact_lock(lock) then
    raise exception 'the idempotency key is in use' using errcode = 'PL001';
  end if;
  if exists (
    select from public.idempotency_key k
    where k.merchant_id = merchant and k.livemode = mode and k.method = verb and k.route = path and k.key = own_key
  ) then
    raise exception 'the idempotency key was used before' using errcode = 'PL001';
  end if;
end
$$;
