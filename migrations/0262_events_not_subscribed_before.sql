-- Of the events before: an endpoint's subscriptions never change, so those that stood when the event was made tell.
update event_awaiting a set reason = 'not_subscribed'
from event e
where a.reason = 'no_endpoint' and e.merchant_id = a.merchant_id and e.id = a.event_id and not (
  select bool_or(w.subscribed_events && array[e.event_type, '*'])
  from webhook_endpoint w
  where w.merchant_id = a.merchant_id and w.livemode = a.livemode and w.created_at <= e.created_at
    and (w.removed_at is null or w.removed_at > e.created_at));
alter table event_awaiting validate constraint event_awaiting_reason_check;
