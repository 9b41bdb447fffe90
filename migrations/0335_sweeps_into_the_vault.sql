-- What the signer asks before it pays out of the vault: sweeps that brought nothing, or have not yet.
create index solana_chore_unlanded on solana_chore (network) where kind = 'sweep' and landed is not true;

-- A watcher asks for sweeps, and books those that it finds on the chain; their signed bytes are the signer's to write.
revoke insert on solana_chore from paylink_watcher;
grant insert (network, id, kind, nonce_place, vault_lamports, indexes, lamports, txid, created_at, ended_at, landed)
  on solana_chore to paylink_watcher;
