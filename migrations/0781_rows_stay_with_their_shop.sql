-- Rows stay with the shop and mode that they were written for, and links, sessions and endpoints under their own name: the
-- logins write only what the program changes. With the API's login the slug of a shop's payment link could be given to
-- another shop, whom its buyers then paid.
revoke update on payment_link, checkout_session, webhook_endpoint, endpoint_secret, branding, payment_rules, delivery_lane
  from paylink_api;
grant update (name, usd_cents, duration_minutes, active) on payment_link to paylink_api;
grant update (invoice_id, cancelled_at) on checkout_session to paylink_api;
grant update (url, subscribed_events, status, status_reason, verified_at, removed_at, stop_told_at, requested_by)
  on webhook_endpoint to paylink_api;
grant update (valid_until) on endpoint_secret to paylink_api;
grant update (name, colour, logo, logo_digest, logo_width, logo_height, updated_at) on branding to paylink_api;
grant update (rules, updated_at) on payment_rules to paylink_api;
grant update (failures, failing_since, next_at, recovered_at) on delivery_lane to paylink_api;

revoke update on frozen_deposit from paylink_watcher;
grant update (amount, reason, checked_at) on frozen_deposit to paylink_watcher;
revoke update on known_manager from paylink_delivery;
grant update (left_at) on known_manager to paylink_delivery;
