-- A watcher advances invoices. What the buyer was asked for, and where to pay, is the API's to write: with the watcher's
-- password alone nobody can put another address on an invoice.
revoke update on invoice from paylink_watcher;
grant update (status, expired_at, cancelled_at, paid_at, accepted_at, reorg_dismissed, announced, event_count, expiry_reading)
  on invoice to paylink_watcher;
