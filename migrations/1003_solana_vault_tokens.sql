-- What the vault of a Solana network holds of each token, at a finalized slot, as the network's watcher read it; no row where
-- the mint is not there.
create table solana_vault_token (
  network text not null references solana_house (network),
  asset text not null check (length(asset) <= 64),
  -- Base58. For live money the signer believes its own registry alone.
  mint text not null check (length(mint) between 32 and 44),
  amount numeric(78, 0) not null check (amount >= 0 and amount <> 'NaN'),
  -- Why its issuer lets nothing be moved whole: a fee, a program of its own, a pause, a frozen vault.
  refusal text check (length(refusal) <= 200),
  read_at timestamptz not null,
  primary key (network, asset)
);

grant select on solana_vault_token to paylink_api, paylink_signer, paylink_watcher;
grant insert, delete on solana_vault_token to paylink_watcher;
grant update (mint, amount, refusal, read_at) on solana_vault_token to paylink_watcher;
