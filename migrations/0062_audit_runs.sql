-- Audits that ran, by the service itself or by the command. One row each, the newest few kept.
create table audit_run (
  started_at timestamptz primary key,
  -- Null while it runs, or where it died.
  finished_at timestamptz,
  checks integer not null default 0,
  -- What could not be checked, such as a chain whose node was away.
  not_checked integer not null default 0,
  discrepancies integer not null default 0,
  -- Name, rule, reason and number of findings of each check; never whose they are.
  report jsonb not null default '[]'
);
grant select, insert, update, delete on audit_run to paylink_watcher;
grant select on audit_run to paylink_api;

-- The service audits itself by the watcher's role, which reads what it must and changes none of it.
grant select on attempt, checkout_session to paylink_watcher;
create policy watcher_reads on checkout_session for select to paylink_watcher using (true);
