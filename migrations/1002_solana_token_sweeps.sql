-- Sweeps of tokens into Solana's vault: asked for by the watcher and signed by the signer as those of SOL in solana_chore. A
-- table of their own, for a release that knows no tokens takes every row there for SOL.
create table solana_token_sweep (
  network text not null references solana_house (network),
  id text not null collate "C" check (length(id) <= 128),
  asset text not null check (length(asset) <= 64),
  -- Indexes of deposit addresses, and what is taken from each one's token account, in base units of the asset.
  indexes bigint[] not null,
  amounts numeric(78, 0)[] not null,
  txid text check (length(txid) <= 88),
  raw bytea check (octet_length(raw) <= 1232),
  last_valid_height bigint,
  created_at timestamptz not null,
  signed_at timestamptz,
  ended_at timestamptz,
  -- Whether it happened.
  landed boolean,
  primary key (network, id),
  check (cardinality(indexes) = cardinality(amounts) and cardinality(indexes) between 1 and 16),
  check (0 < all (amounts) and 'NaN' <> all (amounts)),
  check ((ended_at is null) = (landed is null))
);
create index solana_token_sweep_open on solana_token_sweep (network, id) where ended_at is null;
-- What was swept from an address.
create index solana_token_sweep_swept on solana_token_sweep using gin (indexes) where landed;
-- What the signer asks before it pays out of the vault: sweeps that brought nothing, or have not yet.
create index solana_token_sweep_unlanded on solana_token_sweep (network, asset) where landed is not true;
create index solana_token_sweep_found on solana_token_sweep (network, txid) where landed and raw is null;

grant select on solana_token_sweep to paylink_watcher, paylink_signer;
grant insert (network, id, asset, indexes, amounts, txid, created_at, ended_at, landed) on solana_token_sweep to paylink_watcher;
grant update (ended_at, landed) on solana_token_sweep to paylink_watcher;
grant update (txid, raw, last_valid_height, signed_at) on solana_token_sweep to paylink_signer;
