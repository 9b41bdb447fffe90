-- Delivery workers forget signing secrets whose overlap is over, and no others.
alter policy workers_all on endpoint_secret to paylink_watcher;
create policy delivery_reads on endpoint_secret for select to paylink_delivery using (true);
create policy delivery_forgets on endpoint_secret for delete to paylink_delivery
  using (valid_until < clock_timestamp());
