-- Emails to the buyers of invoices with a `customer_email`: the link when it is created, and a reminder. The receipt is a
-- receipt_request. A row is written with its invoice and never again, so that each is sent once at most.
create table buyer_email (
  merchant_id text not null references merchant (id),
  invoice_id text not null collate "C",
  kind text not null check (kind in ('link', 'reminder')),
  livemode boolean not null,
  -- As of receipt_request: a digest under the installation's key, by which the emails to one mailbox are counted.
  recipient bytea not null,
  -- The address, its language and the links, sealed; null once it has ended.
  sealed bytea,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  outcome text check (outcome in ('sent', 'refused')),
  -- Why it was not sent.
  reason text,
  primary key (merchant_id, invoice_id, kind),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id),
  check ((ended_at is null) = (outcome is null)),
  constraint buyer_email_open_is_sealed check (sealed is not null or ended_at is not null),
  constraint buyer_email_sizes check (greatest(octet_length(merchant_id), octet_length(invoice_id), octet_length(kind),
    octet_length(recipient), octet_length(sealed), octet_length(outcome), octet_length(reason)) <= 65536)
);
create index buyer_email_open on buyer_email (due_at) where ended_at is null;
create index buyer_email_sent on buyer_email (recipient, ended_at) where outcome = 'sent';
create index buyer_email_of_shop on buyer_email (merchant_id, ended_at) where outcome = 'sent';
create index buyer_email_by_age on buyer_email (created_at);

grant select (merchant_id, invoice_id, livemode, kind, due_at, ended_at, outcome, reason),
  insert (merchant_id, invoice_id, livemode, kind, recipient, sealed, due_at) on buyer_email to paylink_api;
grant select, update (sealed, ended_at, outcome, reason), delete on buyer_email to paylink_delivery;

alter table buyer_email enable row level security;
alter table buyer_email force row level security;
create policy owner_all on buyer_email to current_user using (true) with check (true);
create policy api_one_tenant on buyer_email to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'))
  with check (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'));
create policy delivery_reads on buyer_email for select to paylink_delivery using (true);
-- One that was handed to the mail server may turn out not to be sent; none is ever opened again.
create policy delivery_ends on buyer_email for update to paylink_delivery
  using (ended_at is null or outcome = 'sent') with check (ended_at is not null and sealed is null);
create policy delivery_forgets on buyer_email for delete to paylink_delivery
  using (created_at < now() - interval '7 days');

-- Who wants no more emails of a shop: a digest of the mailbox, as above. It holds in both modes, and nobody takes it back.
create table buyer_optout (
  merchant_id text not null references merchant (id),
  recipient bytea not null,
  created_at timestamptz not null default now(),
  primary key (merchant_id, recipient),
  constraint buyer_optout_sizes check (greatest(octet_length(merchant_id), octet_length(recipient)) <= 65536)
);
grant insert (merchant_id, recipient) on buyer_optout to paylink_api;
grant select on buyer_optout to paylink_delivery;
alter table buyer_optout enable row level security;
alter table buyer_optout force row level security;
create policy owner_all on buyer_optout to current_user using (true) with check (true);
create policy api_one_merchant on buyer_optout for insert to paylink_api
  with check (merchant_id = current_setting('paylink.merchant_id', true));
create policy delivery_reads on buyer_optout for select to paylink_delivery using (true);
