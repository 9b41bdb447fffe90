-- At which addresses delivery has seen the owners and admins of each shop. It alone writes them: who changes an address, or
-- takes a manager out, with the API's login must not keep the warning e-mails from where they went until then.
create table known_manager (
  merchant_id text not null,
  person_id text not null,
  email text not null check (length(email) <= 320),
  -- Since when the person is no manager at this address any more; null while they are.
  left_at timestamptz,
  primary key (merchant_id, person_id, email)
);
create index known_manager_left on known_manager (left_at) where left_at is not null;
grant select, insert, update, delete on known_manager to paylink_delivery;

alter table known_manager enable row level security;
alter table known_manager force row level security;
create policy owner_all on known_manager to current_user using (true) with check (true);
create policy delivery_all on known_manager to paylink_delivery using (true) with check (true);
