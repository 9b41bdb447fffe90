-- A watcher records what becomes of a payment. Whose it is, and which transaction brought it, is never written again.
revoke update on transfer from paylink_watcher;
grant update (status, first_seen_at, confirmed_at, block_height, block_hash, block_time, late, review_reason, resolution,
  announced_confirming, announced_review, ledger_bucket, ledger_postings, amount, dust, transfers, parts,
  checked_block_hash, left_on_chain) on transfer to paylink_watcher;
