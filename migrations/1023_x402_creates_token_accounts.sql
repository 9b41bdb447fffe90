-- On Solana the invoice's token account may be missing. What creates it is signed with what pays into it, and sent before it.
alter table x402_transaction
  add column creation_txid text check (length(creation_txid) <= 88),
  add column creation_raw bytea check (octet_length(creation_raw) <= 1232);
