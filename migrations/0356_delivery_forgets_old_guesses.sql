-- Delivery workers forget guesses at second factors that count no more: each counts for an hour at most.
alter table secret_guess enable row level security;
create policy api_all on secret_guess to paylink_api using (true) with check (true);
create policy delivery_reads on secret_guess for select to paylink_delivery using (true);
create policy delivery_forgets on secret_guess for delete to paylink_delivery
  using (since < now() - interval '1 day');
