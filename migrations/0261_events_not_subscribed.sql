-- An event of a type that no endpoint of its mode subscribes to is kept, and stands in no list of what to recover: nobody
-- should have got it. Only the constraint is here, so that the table is held for a moment.
alter table event_awaiting drop constraint event_awaiting_reason_check;
alter table event_awaiting add constraint event_awaiting_reason_check check
  (reason in ('no_endpoint', 'not_subscribed', 'disabled', 'removed', 'exhausted')) not valid;
