-- The watcher's process seals what it read of a hot wallet: the signer believes no reading that somebody with its login wrote.
-- Null: an earlier release read it, or a process without WATCHER_KEY.
alter table hot_wallet add column seal bytea constraint hot_wallet_seal_is_a_signature check (octet_length(seal) = 64);
grant update (seal) on hot_wallet to paylink_watcher;
