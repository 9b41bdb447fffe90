-- Rows keep what they are found by: the program changes none of it, and with a login's SQL the state of one network, or the
-- price of one coin, could be given to another.
revoke update on network_state, hot_wallet, network_fee, network_watch, solana_nonce from paylink_watcher;
grant update (parameters, height, hash, block_time, tip_height, status, reason, read_at, updated_at, chain, safe_height,
  finalized_height, minimum, second_height, second_hash, payout_provider, payout_notice, notifications_silent)
  on network_state to paylink_watcher;
grant update (address, chain_id, height, nonce, balance, base_fee, tip, l1_fee, token_contract, token_name, token_version,
  token_balance, updated_at) on hot_wallet to paylink_watcher;
grant update (milli_per_vbyte, updated_at) on network_fee to paylink_watcher;
grant update (through, updated_at, turn) on network_watch to paylink_watcher;
grant update (value, read_at) on solana_nonce to paylink_watcher;

revoke update on approver_seen, signer_approval_key from paylink_signer;
grant update (counts_from) on approver_seen to paylink_signer;
grant update (public_key, outcome_key) on signer_approval_key to paylink_signer;

revoke update on asset_price, person_place, person_totp_seal, secret_guess, presented_code from paylink_api;
grant update (price, updated_at) on asset_price to paylink_api;
grant update (seen_at) on person_place to paylink_api;
grant update (signer_key, sealed, created_at) on person_totp_seal to paylink_api;
grant update (guesses, since) on secret_guess to paylink_api;
