-- Events are written once, in the transaction that causes them; deliveries are the work that follows.

create table webhook_endpoint (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  url text not null,
  -- Exact event types, or {*}.
  subscribed_events text[] not null,
  status text not null check (status in ('pending_verification', 'enabled', 'disabled')),
  status_reason text,
  verified_at timestamptz,
  removed_at timestamptz,
  created_at timestamptz not null,
  primary key (merchant_id, id)
);
-- The endpoints an event may go to, asked in every transaction that makes one.
create index webhook_endpoint_eligible on webhook_endpoint (merchant_id, livemode)
  where status = 'enabled' and verified_at is not null and removed_at is null;

create table endpoint_secret (
  merchant_id text not null,
  id text not null,
  endpoint_id text not null,
  livemode boolean not null,
  -- Sealed with AES-256-GCM; bound to this row.
  secret_sealed bytea not null,
  created_at timestamptz not null,
  -- Null for the current secret; set while an older one still signs.
  valid_until timestamptz,
  primary key (merchant_id, id),
  foreign key (merchant_id, endpoint_id) references webhook_endpoint (merchant_id, id)
);
create unique index endpoint_secret_current on endpoint_secret (merchant_id, endpoint_id)
  where valid_until is null;
create index endpoint_secret_by_endpoint on endpoint_secret (merchant_id, endpoint_id);

create table event (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  event_type text not null,
  resource_id text not null,
  -- 1, 2, 3… for each resource.
  sequence integer not null,
  -- The exact bytes that are signed and sent.
  body bytea not null,
  request_id text,
  created_at timestamptz not null,
  primary key (merchant_id, id)
);
create unique index event_by_resource on event (merchant_id, resource_id, sequence);
create index event_by_mode on event (merchant_id, livemode, id);

-- Events that reached no eligible endpoint: kept until somebody asks for them.
create table event_awaiting (
  merchant_id text not null,
  event_id text not null collate "C",
  livemode boolean not null,
  reason text not null check (reason in ('no_endpoint', 'disabled', 'removed', 'exhausted')),
  since timestamptz not null,
  primary key (merchant_id, event_id),
  foreign key (merchant_id, event_id) references event (merchant_id, id)
);

-- Small hot rows, deleted when finished. No index beyond the key and the lane: an index on due_at alone makes
-- every claim walk past the rows of endpoints that do not answer.
create table delivery (
  merchant_id text not null,
  id text not null,
  livemode boolean not null,
  endpoint_id text not null,
  event_id text not null,
  -- Tries so far, the one in flight counted.
  attempt integer not null default 0,
  due_at timestamptz not null,
  -- Retrying ends here.
  give_up_at timestamptz not null,
  lease_id uuid,
  primary key (merchant_id, id)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
create index delivery_lane on delivery (endpoint_id, due_at);

-- One HTTP try. Append only; a partition a day, dropped after 30 days.
create table attempt (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  event_id text not null,
  endpoint_id text not null,
  number integer not null,
  http_status integer,
  code text not null,
  duration_ms integer not null,
  created_at timestamptz not null,
  primary key (merchant_id, id, created_at)
) partition by range (created_at);
create index attempt_by_event on attempt (merchant_id, event_id, id);
