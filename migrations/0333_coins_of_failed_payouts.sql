-- Coins are let go of only by payouts that have failed.
create policy watcher_frees_failed on payout_input as restrictive for delete to paylink_watcher
  using (exists (select from payout p
    where p.merchant_id = payout_input.merchant_id and p.id = payout_input.payout_id and p.status = 'failed'));
