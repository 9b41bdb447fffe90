-- Delivery workers disable an endpoint that answers that it is gone; they enable none.
alter policy workers_all on webhook_endpoint to paylink_watcher;
create policy delivery_reads on webhook_endpoint for select to paylink_delivery using (true);
create policy delivery_disables on webhook_endpoint for update to paylink_delivery
  using (true) with check (status <> 'enabled' and status_reason = 'receiver_gone');
