-- The audits of the service itself compare events with what merchants decided.
grant select (merchant_id, invoice_id, resolution) on invoice_resolution to paylink_watcher;
create policy watcher_reads on invoice_resolution for select to paylink_watcher using (true);
