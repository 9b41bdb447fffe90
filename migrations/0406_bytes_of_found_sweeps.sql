-- The bytes of sweeps that a watcher found on the chain and that the database did not know: by its own signature in them
-- the signer knows again what its journal has lost. Whoever else writes them gains nothing.
create table solana_found_sweep (
  network text not null references solana_house (network),
  txid text not null collate "C" check (length(txid) <= 88),
  raw bytea not null check (octet_length(raw) <= 1232),
  found_at timestamptz not null,
  primary key (network, txid)
);
create index solana_chore_found on solana_chore (network, txid) where kind = 'sweep' and landed and raw is null;

grant select, insert on solana_found_sweep to paylink_watcher;
grant select on solana_found_sweep to paylink_signer;
