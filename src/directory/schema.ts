/**
 * The directory's own schema, apart from a cell's: each text is one migration, forward only, and its place in the list its
 * version. A login is of one cell, by the number at the end of its name, and writes that cell's rows and no others.
 */
export const DIRECTORY_MIGRATIONS: readonly string[] = [
  `create table cell (
     number integer primary key check (number between 0 and 1023),
     state text not null default 'draining' check (state in ('open', 'draining')),
     -- How many merchants it takes.
     room integer not null default 0 check (room between 0 and 100000000),
     merchants integer not null default 0,
     reported_at timestamptz,
     -- How many changes the cell has written; the cell counts too, and compares all rows where the two differ.
     position bigint not null default 0
   );
   -- Under which lookup somebody signs in where: no email address is stored, and no credential id of a passkey.
   create table person_cell (
     lookup bytea not null check (length(lookup) = 32),
     cell integer not null references cell,
     is_verified boolean not null,
     -- When the directory first knew, by its own clock: the cell that was first stays first.
     since timestamptz not null default now(),
     primary key (lookup, cell)
   );
   create index person_cell_by_cell on person_cell (cell, lookup);
   create table passkey_cell (
     lookup bytea not null check (length(lookup) = 32),
     cell integer not null references cell,
     primary key (lookup, cell)
   );
   create index passkey_cell_by_cell on passkey_cell (cell, lookup);
   -- For operators alone.
   create table merchant_cell (
     merchant_id text not null,
     cell integer not null references cell,
     name text not null check (length(name) <= 1000),
     primary key (merchant_id, cell)
   );
   create index merchant_cell_by_cell on merchant_cell (cell, merchant_id);

   do $$ begin
     create role paylink_directory nologin;
   exception when duplicate_object or unique_violation then null;
   end $$;
   revoke create on schema public from public;
   do $$ begin
     execute format('revoke connect on database %I from public', current_database());
     execute format('grant connect on database %I to paylink_directory', current_database());
   end $$;
   grant select on directory_migration, cell, person_cell, passkey_cell, merchant_cell to paylink_directory;
   grant insert, update (merchants, reported_at, position) on cell to paylink_directory;
   grant insert (lookup, cell, is_verified), update (is_verified), delete on person_cell to paylink_directory;
   grant insert, delete on passkey_cell to paylink_directory;
   grant insert, update (name), delete on merchant_cell to paylink_directory;

   create function own_cell() returns integer language sql stable set search_path = pg_catalog, pg_temp
     return substring(current_user from '_cell_([0-9]+)$')::integer;
   alter table cell enable row level security;
   alter table person_cell enable row level security;
   alter table passkey_cell enable row level security;
   alter table merchant_cell enable row level security;
   create policy all_read on cell for select using (true);
   create policy all_read on person_cell for select using (true);
   create policy all_read on passkey_cell for select using (true);
   create policy own on cell using (number = own_cell());
   create policy own on person_cell using (cell = own_cell());
   create policy own on passkey_cell using (cell = own_cell());
   create policy own on merchant_cell using (cell = own_cell());`,
  // A server may have several directories, whose logins share a role: each counts in its own one, and sees nothing elsewhere.
  `create or replace function own_cell() returns integer language sql stable set search_path = pg_catalog, pg_temp
     return case when starts_with(current_user, current_database() || '_cell_')
       then substring(current_user from '_cell_([0-9]+)$')::integer end;
   alter policy all_read on cell using ((select own_cell()) is not null);
   alter policy all_read on person_cell using ((select own_cell()) is not null);
   alter policy all_read on passkey_cell using ((select own_cell()) is not null);`,
]
