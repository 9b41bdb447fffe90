-- What a shop's people note of an invoice for themselves. Apart from the invoice, so that nothing that shows one to a buyer,
-- or sends it, can show the note.
create table invoice_note (
  merchant_id text not null references merchant (id),
  invoice_id text not null collate "C",
  livemode boolean not null,
  text text not null,
  updated_by text not null,
  updated_at timestamptz not null,
  primary key (merchant_id, invoice_id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
grant select, insert, delete, update (text, updated_by, updated_at) on invoice_note to paylink_api;

alter table invoice_note enable row level security;
alter table invoice_note force row level security;
create policy owner_all on invoice_note to current_user using (true) with check (true);
create policy api_one_tenant on invoice_note to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'))
  with check (merchant_id = current_setting('paylink.merchant_id', true)
    and livemode = (current_setting('paylink.livemode', true) = 'true'));
