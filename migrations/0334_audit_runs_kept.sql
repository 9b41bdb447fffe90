-- Who runs the audit cannot undo it: a run that has ended is not written again, and only old ones are forgotten. The
-- newest hundred are some 25 days of them.
alter table audit_run enable row level security;
alter table audit_run force row level security;
create policy owner_all on audit_run to current_user using (true) with check (true);
create policy api_reads on audit_run for select to paylink_api using (true);
create policy watcher_reads on audit_run for select to paylink_watcher using (true);
create policy watcher_begins on audit_run for insert to paylink_watcher with check (true);
create policy watcher_ends on audit_run for update to paylink_watcher
  using (finished_at is null) with check (true);
create policy watcher_forgets on audit_run for delete to paylink_watcher
  using (started_at < now() - interval '20 days');
revoke update on audit_run from paylink_watcher;
grant update (finished_at, checks, not_checked, discrepancies, report) on audit_run to paylink_watcher;
