-- What the signer has seen of live destinations, written by it alone: its own file decides, this tells the others.
create table destination_sighting (
  merchant_id text not null,
  destination_id text not null collate "C",
  livemode boolean not null check (livemode),
  asset text not null,
  address text not null,
  -- From when on the signer signs payouts to it.
  payable_at timestamptz not null,
  -- When the merchant's owners and admins were e-mailed about it.
  told_at timestamptz,
  primary key (merchant_id, destination_id),
  foreign key (merchant_id, destination_id) references payout_destination (merchant_id, id)
);
create index destination_sighting_untold on destination_sighting (payable_at) where told_at is null;
grant select, insert, update (payable_at) on destination_sighting to paylink_signer;
grant select, update (told_at) on destination_sighting to paylink_delivery;

alter table destination_sighting enable row level security;
alter table destination_sighting force row level security;
create policy owner_all on destination_sighting to current_user using (true) with check (true);
create policy workers_all on destination_sighting to paylink_signer, paylink_delivery using (true) with check (true);

-- Which lists the signer has begun in its own file: where the file knows nothing of one that stands here, it was lost.
create table signer_list (
  kind text primary key,
  began_at timestamptz not null
);
grant select, insert on signer_list to paylink_signer;

grant select on payout_destination, fee_destination to paylink_signer;

-- Once off the list a destination stays off: to be paid again it has to be added, and waits, again.
create function keep_destination_removed() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'destination % was removed: add its address anew', old.id using errcode = 'check_violation';
end
$$;
create trigger payout_destination_stays_removed before update on public.payout_destination
  for each row when (old.removed_at is not null and new.removed_at is distinct from old.removed_at)
  execute function keep_destination_removed();
