-- The shop's own tables. The receivers write to both in one transaction.

create table shop_order (
  -- What the shop gave Paylink: the order_reference of a checkout session, or the external_reference of an invoice.
  reference text primary key,
  livemode boolean not null,
  usd_amount numeric(12, 2) not null,
  -- Coins that the shop takes for this order.
  assets text[] not null,
  -- What Paylink answered: the session's id, or, for an order that is billed by an invoice of its own, the invoice's.
  checkout_session_id text,
  invoice_id text,
  status text not null default 'open' check (status in ('open', 'fulfilled', 'exception')),
  -- For the people who look after exceptions.
  note text,
  fulfilled_at timestamptz
);

create table paylink_event (
  -- The primary key is what makes a second delivery of an event do nothing.
  id text primary key,
  event_type text not null,
  resource_id text not null,
  sequence integer not null,
  -- As it came.
  body text not null,
  received_at timestamptz not null default now()
);
create index paylink_event_by_resource on paylink_event (resource_id, sequence);
