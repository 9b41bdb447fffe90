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
  -- What the body says of itself, for the paylink-version header.
  schema_version integer not null default 1,
  request_id text,
  created_at timestamptz not null,
  primary key (merchant_id, id)
);
create unique index event_by_resource on event (merchant_id, resource_id, sequence);
create index event_by_mode on event (merchant_id, livemode, id);
create index event_by_type on event (merchant_id, livemode, event_type, id);
-- Finds what is past its retention, at next to no cost for the insert.
create index event_by_age on event using brin (created_at) with (autosummarize = on);

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
create index event_awaiting_by_mode on event_awaiting (merchant_id, livemode, event_id);

-- Small hot rows, deleted when finished. No index beyond the key and the lane: an index on due_at alone makes
-- every claim walk past the rows of endpoints that do not answer.
create table delivery (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  endpoint_id text not null collate "C",
  event_id text not null collate "C",
  -- Tries so far, the one in flight counted.
  attempt integer not null default 0,
  -- When the next try is due; while a lease is held, when the lease lapses.
  due_at timestamptz not null,
  -- Retrying ends here.
  give_up_at timestamptz not null,
  -- Who is sending it: every finish names the lease it holds, so that a worker that lost it changes nothing.
  lease_id uuid,
  primary key (merchant_id, id)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
create index delivery_lane_order on delivery (endpoint_id, due_at);

-- Endpoints whose last tries failed. From ten failures in a row (core/endpoint/breaker) the lane is open: one
-- delivery at a time probes it when probe_at comes, the others keep their places. The first success deletes the row.
create table delivery_lane (
  merchant_id text not null,
  endpoint_id text not null collate "C",
  livemode boolean not null,
  failures integer not null check (failures > 0),
  probe_id text collate "C",
  -- Null while the lane is closed.
  probe_at timestamptz,
  primary key (merchant_id, endpoint_id)
);
create index delivery_lane_probe on delivery_lane (probe_at) where probe_at is not null;

-- One HTTP try. Append only; a partition a day (UTC), dropped after 30 days.
create table attempt (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  event_id text not null collate "C",
  endpoint_id text not null collate "C",
  number integer not null,
  http_status integer,
  code text not null,
  duration_ms integer not null,
  created_at timestamptz not null,
  primary key (merchant_id, id, created_at)
) partition by range (created_at);
create index attempt_by_event on attempt (merchant_id, event_id, id);

-- Makes the partitions from yesterday to `days_ahead` days ahead, and drops those that ended more than
-- `days_kept` days ago. The delivery workers call it; they own no table, so it runs as the owner. It gives up
-- rather than hold up the queue behind a lock.
create function attempt_keep_partitions(days_ahead integer, days_kept integer) returns void
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  today date := (now() at time zone 'UTC')::date;
  day date;
  old_partition text;
begin
  if days_ahead not between 1 and 60 or days_kept < 30 then
    raise exception 'attempt_keep_partitions: days out of range' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtext('attempt_keep_partitions'));
  for offset_days in -1 .. days_ahead loop
    day := today + offset_days;
    if to_regclass(format('attempt_%s', to_char(day, 'YYYYMMDD'))) is null then
      execute format(
        'create table attempt_%s partition of attempt for values from (%L) to (%L)',
        to_char(day, 'YYYYMMDD'),
        (day::timestamp at time zone 'UTC')::text,
        ((day + 1)::timestamp at time zone 'UTC')::text
      );
    end if;
  end loop;
  for old_partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'attempt'::regclass and c.relname ~ '^attempt_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < today - days_kept
  loop
    execute format('drop table %I', old_partition);
  end loop;
end
$$;
select attempt_keep_partitions(7, 30);
