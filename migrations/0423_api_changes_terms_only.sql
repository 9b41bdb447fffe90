-- What an invoice was created with stays; the API changes what buyers and merchants may change later. Whether its deadline
-- passed unpaid is the watcher's to say, and only test invoices get an earlier deadline.
revoke update on invoice from paylink_api;
grant update (status, expired_at, expiry_reading, cancelled_at, paid_at, accepted_at, reorg_dismissed, announced,
  event_count, asset, amount, rate, tolerance_under, tolerance_over, confirmations, address, asset_picked, visit_digest,
  expires_at) on invoice to paylink_api;
create trigger expiry_is_the_watchers before update on invoice for each row
  when (date_trunc('milliseconds', new.expired_at) is distinct from date_trunc('milliseconds', old.expired_at)
    or new.livemode and new.expires_at <> old.expires_at)
  execute function require_watcher();
