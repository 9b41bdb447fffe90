-- Delivery workers forget counts of sign-ins that are over.
alter table sign_in_rate enable row level security;
create policy api_all on sign_in_rate to paylink_api using (true) with check (true);
create policy delivery_reads on sign_in_rate for select to paylink_delivery using (true);
create policy delivery_forgets on sign_in_rate for delete to paylink_delivery
  using (last_request < 1000 * extract(epoch from now() - interval '1 day'));
