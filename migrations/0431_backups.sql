-- Backups that were made, by the service itself or by the command. One row each, the newest few kept. A reminder of when
-- the last good one was; the backups themselves are elsewhere.
create table backup_run (
  started_at timestamptz primary key,
  -- Null while it runs, or where it died.
  finished_at timestamptz,
  -- Where it went, without credentials; null where it failed.
  place text,
  bytes bigint,
  -- Null where it succeeded.
  error text
);
alter table backup_run enable row level security;
alter table backup_run force row level security;
create policy owner_all on backup_run to current_user using (true) with check (true);
create policy api_reads on backup_run for select to paylink_api using (true);
create policy watcher_reads on backup_run for select to paylink_watcher using (true);
grant select on backup_run to paylink_api, paylink_watcher;
