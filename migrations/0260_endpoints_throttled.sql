-- An endpoint that fails ten times in a row is throttled, and no longer stopped: each of its deliveries is tried, a few
-- at a time. next_at is null while it is not; claims move it on. Rows whose failures are 0 stand for an endpoint that
-- came back: what waits for it is made due. probe_id and probe_at serve workers of before alone.
alter table delivery_lane
  add column failing_since timestamptz not null default now(),
  add column next_at timestamptz,
  add column recovered_at timestamptz,
  drop constraint delivery_lane_failures_check,
  add constraint delivery_lane_failures_check check (failures >= 0);
update delivery_lane set next_at = now() where failures >= 10;
create index delivery_lane_throttled on delivery_lane (next_at) where next_at is not null;
