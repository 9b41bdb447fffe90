-- What the merchant said of invoices that waited for a word, and what searches by prefix need.

create table invoice_resolution (
  merchant_id text not null,
  invoice_id text not null,
  request_id text not null,
  livemode boolean not null,
  resolution text not null check (resolution in ('accept', 'dismiss')),
  note text,
  -- The API key or user who said it.
  actor text not null,
  created_at timestamptz not null,
  primary key (merchant_id, invoice_id, request_id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
grant select, insert on invoice_resolution to paylink_api;
alter table invoice_resolution enable row level security;
alter table invoice_resolution force row level security;
create policy owner_all on invoice_resolution to current_user using (true) with check (true);
create policy api_one_tenant on invoice_resolution to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'))
  with check (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'));

-- The beginning of a text is found by an index only in the C collation.
drop index invoice_by_external_reference;
create index invoice_by_external_reference
  on invoice (merchant_id, livemode, (external_reference collate "C"), id) where external_reference is not null;
drop index invoice_by_order_reference;
create index invoice_by_order_reference
  on invoice (merchant_id, livemode, (order_reference collate "C"), id) where order_reference is not null;
create index invoice_by_customer_email
  on invoice (merchant_id, livemode, (customer_email collate "C"), id) where customer_email is not null;
-- Exceptions are few among many settled invoices: each status has its own list.
create index invoice_by_status on invoice (merchant_id, livemode, status, id);
