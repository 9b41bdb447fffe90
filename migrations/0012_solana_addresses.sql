-- Solana: addresses that only the signer can derive, and a minimum that the chain itself sets.

-- The smallest amount that the chain lets a new address receive, base units; null where it sets none or was not asked.
alter table network_state add column minimum numeric(78, 0) check (minimum >= 0);

-- Ed25519 public key by which the signer signs batches of addresses; null where anybody derives them from the xpub.
alter table account_key add column batch_key bytea check (octet_length(batch_key) = 32);

-- Addresses that the signer derived and signed, until a watcher has checked the signature and put them into the pool.
create table address_batch (
  keyspace text not null references account_key (keyspace),
  -- Index of the first address; the others follow without a gap.
  first bigint not null check (first >= 0),
  -- The owners one after another, 32 bytes each.
  programs bytea not null check (octet_length(programs) > 0 and octet_length(programs) % 32 = 0),
  signature bytea not null,
  created_at timestamptz not null,
  taken_at timestamptz,
  -- Its signature is not the signer's: somebody else wrote the row, or changed it.
  refused_at timestamptz,
  primary key (keyspace, first)
);
create index address_batch_waiting on address_batch (keyspace, first) where taken_at is null and refused_at is null;
grant select, insert, delete on address_batch to paylink_signer;
grant select on address_batch to paylink_watcher;
grant update (taken_at, refused_at) on address_batch to paylink_watcher;
