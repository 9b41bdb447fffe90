-- Delivery workers forget logged requests after thirty days, and no others.
drop policy workers_all on request_log;
create policy delivery_reads on request_log for select to paylink_delivery using (true);
create policy delivery_forgets on request_log for delete to paylink_delivery
  using (created_at < now() - interval '30 days');
