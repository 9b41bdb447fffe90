-- The list holds what an endpoint should have got: three other events of an invoice need not be walked past.
create index event_awaiting_listed on event_awaiting (merchant_id, livemode, event_id)
  where reason <> 'not_subscribed';
drop index event_awaiting_by_mode;
