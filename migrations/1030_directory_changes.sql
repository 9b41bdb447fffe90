-- What the directory of cells is to learn (docs/scaling.md): in which cell somebody signs in. A cell without a directory has
-- no row in directory_cell, and then nothing is noted.
create table directory_cell (
  single boolean primary key default true check (single),
  -- As the directory had them last, for one that has to be made anew.
  state text not null check (state in ('open', 'draining')),
  room integer not null,
  -- How many changes the directory has had from this cell. Where it says another number, all rows are compared.
  position bigint not null
);

-- Whose rows changed since, each once; what they are now, whoever writes the directory reads.
create table directory_change (
  kind text not null check (kind in ('person', 'passkey', 'merchant')),
  -- An address, the id of a passkey's credential, or a merchant's id.
  subject text not null check (length(subject) <= 4096),
  -- Another one with each change, so that none is taken off while it is written.
  version uuid not null default gen_random_uuid(),
  primary key (kind, subject)
);

-- Arguments: the kind, and the column of the subject.
create function note_directory_change() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform from public.directory_cell;
  if not found then
    return null;
  end if;
  insert into public.directory_change (kind, subject)
  select distinct tg_argv[0], named.subject
  from (values (to_jsonb(old) ->> tg_argv[1]), (to_jsonb(new) ->> tg_argv[1])) as named (subject)
  where named.subject is not null
  on conflict (kind, subject) do update set version = gen_random_uuid();
  return null;
end $$;
revoke execute on function note_directory_change() from public;

grant select, insert, update (state, room, position) on directory_cell to paylink_api;
grant select, insert, update (version), delete on directory_change to paylink_api;
