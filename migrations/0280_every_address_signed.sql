-- The signer signs the addresses of every keyspace, not of Solana alone: whoever shows one checks its signature against
-- a key that is kept outside the database, so that an address written into the pool by somebody else is shown to nobody.

-- Witness programs and EVM addresses have 20 bytes, Solana's owners 32.
alter table address_batch drop constraint address_batch_programs_check;
alter table address_batch add check (octet_length(programs) > 0
  and octet_length(programs) % (case when keyspace like 'solana-%' then 32 else 20 end) = 0);

-- Watchers derive no address any more.
revoke update (next_index) on account_key from paylink_watcher;
grant update (batch_key) on account_key to paylink_signer;
