-- Events that were delivered are forgotten after 90 days. Younger ones nobody forgets: the audit reads them.
create policy delivery_forgets_old on event as restrictive for delete to paylink_delivery
  using (created_at < now() - interval '89 days');
