-- Delivery workers talk to servers that anybody may name. Their login sends what others wrote: it changes no address
-- that events go to, adds no delivery, and forgets only what is past its time.
revoke update on webhook_endpoint from paylink_delivery;
grant update (status, status_reason, stop_told_at) on webhook_endpoint to paylink_delivery;
revoke insert, update on delivery from paylink_delivery;
grant update (attempt, due_at, lease_id, was_due_at, lapsed) on delivery to paylink_delivery;
revoke update on delivery_lane from paylink_delivery;
grant update (failures, failing_since, next_at, recovered_at) on delivery_lane to paylink_delivery;
revoke update on notice_cursor from paylink_delivery;
grant update (event_id, leased_until) on notice_cursor to paylink_delivery;
revoke delete on event_awaiting from paylink_delivery;
revoke select on merchant, branding from paylink_delivery;
revoke select on idempotency_key, request_log, person, organization_member from paylink_delivery;
grant select (ctid, created_at) on idempotency_key to paylink_delivery;
grant select (merchant_id, id, created_at) on request_log to paylink_delivery;
grant select (id, name, email, email_verified) on person to paylink_delivery;
grant select (organization_id, user_id, role) on organization_member to paylink_delivery;
