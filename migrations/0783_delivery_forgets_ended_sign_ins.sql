-- Delivery workers forget sign-ins that have ended: with their login nobody signs people out.
alter table person_session enable row level security;
create policy api_all on person_session to paylink_api using (true) with check (true);
create policy delivery_reads on person_session for select to paylink_delivery using (true);
create policy delivery_forgets on person_session for delete to paylink_delivery using (expires_at < now());
