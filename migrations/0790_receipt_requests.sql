-- Receipts that buyers asked for by e-mail. One address for each invoice; the mail is written once, when the invoice is paid.
create table receipt_request (
  merchant_id text not null references merchant (id),
  invoice_id text not null collate "C",
  livemode boolean not null,
  -- A digest under the installation's key: by it the e-mails to one address are counted.
  recipient bytea not null,
  -- The address and the words of the e-mail, sealed; null once the request has ended.
  sealed bytea,
  changes integer not null default 0,
  asked_at timestamptz not null default now(),
  ended_at timestamptz,
  outcome text check (outcome in ('sent', 'refused')),
  primary key (merchant_id, invoice_id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id),
  check ((ended_at is null) = (outcome is null))
);
create index receipt_request_open on receipt_request (asked_at) where ended_at is null;
create index receipt_request_sent on receipt_request (recipient, ended_at) where outcome = 'sent';
create index receipt_request_by_age on receipt_request (asked_at);

grant select (merchant_id, invoice_id, ended_at, changes), insert (merchant_id, invoice_id, livemode, recipient, sealed),
  update (recipient, sealed, changes, asked_at) on receipt_request to paylink_api;
grant select, update (sealed, ended_at, outcome), delete on receipt_request to paylink_delivery;

alter table receipt_request enable row level security;
alter table receipt_request force row level security;
create policy owner_all on receipt_request to current_user using (true) with check (true);
create policy api_one_tenant on receipt_request to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'))
  with check (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'));
create policy delivery_reads on receipt_request for select to paylink_delivery using (true);
create policy delivery_ends on receipt_request for update to paylink_delivery using (ended_at is null) with check (true);
create policy delivery_forgets on receipt_request for delete to paylink_delivery
  using (asked_at < now() - interval '7 days');
