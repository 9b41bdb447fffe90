-- Terms of a transaction that a watcher found in the place of a payout's, with its nonce or coins and to its destination:
-- after a restore of database and journal it may be a replacement that both have forgotten. The signer signs the same terms
-- again, and only where that gives the same transaction was it its own. Whoever else writes here gains nothing.
create table found_payout (
  merchant_id text not null,
  payout_id text not null collate "C",
  livemode boolean not null,
  txid text not null check (length(txid) between 64 and 66),
  -- Of accounts alone.
  gas numeric(78, 0) check (gas between 0 and 1e12),
  max_fee numeric(78, 0) check (max_fee between 0 and 1e24),
  tip numeric(78, 0) check (tip between 0 and 1e24),
  -- What the destination got, base units; of a token 0.
  value numeric(78, 0) not null check (value between 0 and 1e30),
  found_at timestamptz not null,
  primary key (merchant_id, payout_id),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);
grant select, insert, update (txid, gas, max_fee, tip, value, found_at) on found_payout to paylink_watcher;
grant select on found_payout to paylink_signer;
alter table found_payout enable row level security;
alter table found_payout force row level security;
create policy owner_all on found_payout to current_user using (true) with check (true);
create policy workers_all on found_payout to paylink_watcher, paylink_signer using (true) with check (true);
