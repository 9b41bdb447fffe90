-- Letters to the people of a merchant: what came in, what needs them, what stopped.

-- What a person does not want to be told; absent means told.
create table notice_refusal (
  merchant_id text not null references merchant (id),
  user_id text not null references person (id) on delete cascade,
  kind text not null check (kind in ('paid', 'attention', 'endpoint_disabled', 'sign_in')),
  primary key (merchant_id, user_id, kind)
);
grant select, insert, delete on notice_refusal to paylink_api;
grant select on notice_refusal, organization_member, person to paylink_delivery;

-- How far live events were read for letters. Whoever holds the lease reads; a crash repeats a letter, and loses none.
create table notice_cursor (
  one_row boolean primary key default true check (one_row),
  event_id text not null collate "C",
  leased_until timestamptz not null
);
insert into notice_cursor (event_id, leased_until) values ('', now());
grant select, update on notice_cursor to paylink_delivery;
create index event_for_notice on event (id)
  where livemode and event_type in ('invoice.paid', 'invoice.overpaid', 'invoice.manual_review');

-- When the merchant's people were told that an endpoint stopped by itself.
alter table webhook_endpoint add column stop_told_at timestamptz;
update webhook_endpoint set stop_told_at = now() where status = 'disabled';
create index webhook_endpoint_stopped on webhook_endpoint (id)
  where livemode and status_reason = 'receiver_gone' and stop_told_at is null;
