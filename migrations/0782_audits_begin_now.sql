-- With the watcher's login an audit that is said to begin later would stand as the last one until then.
alter policy watcher_begins on audit_run with check (started_at < now() + interval '10 minutes');
