-- Invoices of the past, read from what another service exported. They are a record to look things up in: no ledger entry,
-- no event and no address comes of them, and no invoice of ours is made.
create table imported_invoice (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  -- Where it comes from, and its id there: what is read twice is there once.
  source text not null,
  source_id text not null,
  -- In the words of its source.
  status text not null,
  amount numeric not null,
  currency text not null,
  order_reference text,
  customer_email text,
  payments json not null,
  created_at timestamptz not null,
  imported_at timestamptz not null,
  primary key (merchant_id, id)
);
create unique index imported_invoice_once on imported_invoice (merchant_id, livemode, source, source_id);

grant select on imported_invoice to paylink_api;
alter table imported_invoice enable row level security;
alter table imported_invoice force row level security;
do $$
begin
  execute 'create policy owner_all on imported_invoice to current_user using (true) with check (true)';
  execute 'create policy api_one_tenant on imported_invoice for select to paylink_api
     using (merchant_id = current_setting(''paylink.merchant_id'', true)
            and livemode = (current_setting(''paylink.livemode'', true) = ''true''))';
end
$$;
