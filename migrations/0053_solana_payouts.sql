-- Solana's payouts. Deposits lie on addresses of their own; a payout goes out from one vault, into which they are swept
-- as payouts need it. A fee payer, which is the operator's own money, pays what the chain takes, and is paid back by
-- each payout. None of this is any one merchant's.

-- The signer's own accounts on a network: written by it, with what a watcher read of them beside. One row a network.
create table solana_house (
  network text primary key,
  -- Base58.
  fee_payer text not null,
  vault text not null,
  nonce_accounts text[] not null,
  -- As of a finalized slot, lamports; null until a watcher has read them.
  fee_payer_lamports numeric(78, 0) check (fee_payer_lamports >= 0),
  vault_lamports numeric(78, 0) check (vault_lamports >= 0),
  -- What an account must hold to exist: without data, and with a nonce's.
  rent_exempt numeric(78, 0) check (rent_exempt >= 0),
  nonce_rent_exempt numeric(78, 0) check (nonce_rent_exempt >= 0),
  -- Price of a compute unit, millionths of a lamport.
  unit_price bigint check (unit_price >= 0),
  -- What sweeps are signed with, good up to this block height.
  blockhash text,
  last_valid_height bigint,
  read_at timestamptz
);

-- The value that each durable nonce has at a finalized slot; no row where its account does not exist yet.
create table solana_nonce (
  network text not null references solana_house (network),
  account text not null,
  value text not null,
  read_at timestamptz not null,
  primary key (network, account)
);

-- What the signer is asked to do with its own accounts: make a nonce's account, or sweep deposits into the vault. The
-- watcher asks, the signer signs, the watcher sends. Money only ever moves between the signer's own accounts, and one
-- that was not taken in time is dead and asked for anew.
create table solana_chore (
  network text not null references solana_house (network),
  id text not null collate "C",
  kind text not null check (kind in ('nonce', 'sweep')),
  -- Of a nonce: its place in nonce_accounts, and what the vault is given beside so that it exists.
  nonce_place integer,
  vault_lamports numeric(78, 0) not null default 0 check (vault_lamports >= 0),
  -- Of a sweep: indexes of deposit addresses, and all that lies on each.
  indexes bigint[] not null default '{}',
  lamports numeric(78, 0)[] not null default '{}',
  txid text,
  raw bytea,
  last_valid_height bigint,
  created_at timestamptz not null,
  signed_at timestamptz,
  ended_at timestamptz,
  -- Whether it happened.
  landed boolean,
  primary key (network, id),
  check (kind <> 'nonce' or nonce_place is not null),
  check (cardinality(indexes) = cardinality(lamports)),
  check ((ended_at is null) = (landed is null))
);
create index solana_chore_open on solana_chore (network, id) where ended_at is null;
-- What was swept from an address.
create index solana_chore_swept on solana_chore using gin (indexes) where landed;

grant select on solana_house to paylink_api;
grant select on solana_house, solana_nonce, solana_chore to paylink_watcher;
grant update (fee_payer_lamports, vault_lamports, rent_exempt, nonce_rent_exempt, unit_price, blockhash, last_valid_height, read_at)
  on solana_house to paylink_watcher;
grant insert, update, delete on solana_nonce to paylink_watcher;
grant insert, update (ended_at, landed) on solana_chore to paylink_watcher;
grant select, insert, update (fee_payer, vault, nonce_accounts) on solana_house to paylink_signer;
grant select on solana_nonce, solana_chore to paylink_signer;
grant update (txid, raw, last_valid_height, signed_at) on solana_chore to paylink_signer;
