-- Approved payouts that the signer holds back, and why. One that is signed is held no more.
create table payout_hold (
  merchant_id text not null,
  payout_id text not null collate "C",
  livemode boolean not null,
  reason text not null,
  -- Null: until somebody changes what the reason says.
  until timestamptz,
  held_at timestamptz not null,
  primary key (merchant_id, payout_id),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);
grant select, insert, update (reason, until, held_at) on payout_hold to paylink_signer;

alter table payout_hold enable row level security;
alter table payout_hold force row level security;
create policy owner_all on payout_hold to current_user using (true) with check (true);
create policy workers_all on payout_hold to paylink_signer using (true) with check (true);
