-- Delivery workers forget kept answers of 72 hours (spec §8): a younger one keeps a request from being done twice.
alter policy workers_all on idempotency_key to paylink_watcher;
create policy delivery_reads on idempotency_key for select to paylink_delivery using (true);
create policy delivery_forgets on idempotency_key for delete to paylink_delivery
  using (created_at < now() - interval '72 hours');
