-- How an audit ended is sealed with the key of the watcher's process: with its login alone nobody makes one up.
alter table audit_run add column seal bytea check (octet_length(seal) = 64);
grant update (seal) on audit_run to paylink_watcher;
