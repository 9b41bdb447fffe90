-- A watcher records what the chain did to a payout. What was asked for and approved is not its to write.
revoke update on payout from paylink_watcher;
grant update (status, txid, network_fee, failure_code, submitted_at, confirmed_at, failed_at, event_count)
  on payout to paylink_watcher;

-- What the signer asks before it pays out of a hot wallet or the vault: payouts that took nothing.
create index payout_failed on payout (merchant_id, network, asset) where status = 'failed';
