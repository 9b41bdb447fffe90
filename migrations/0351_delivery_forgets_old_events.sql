-- Delivery workers forget events of 90 days (spec §8), and no younger ones.
alter policy workers_all on event to paylink_watcher;
create policy delivery_reads on event for select to paylink_delivery using (true);
create policy delivery_forgets on event for delete to paylink_delivery
  using (created_at < now() - interval '90 days');
