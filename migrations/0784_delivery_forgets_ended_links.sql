-- The same of links for a new password, and of second factors that are being proved.
alter table person_verification enable row level security;
create policy api_all on person_verification to paylink_api using (true) with check (true);
create policy delivery_reads on person_verification for select to paylink_delivery using (true);
create policy delivery_forgets on person_verification for delete to paylink_delivery using (expires_at < now());
