-- An invoice's address is one that was taken from the pool, whose rows the API's login cannot write.
create function deposit_address_is_from_the_pool() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
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
create trigger deposit_address_is_from_the_pool before insert on deposit_address
  for each row execute function deposit_address_is_from_the_pool();
