-- Purchases by card: what a provider was asked for an invoice, what it offered, and that the buyer went there. Nothing
-- here credits anything: money counts when its chain shows it, and what a provider says changes words on a page.

create table card_purchase (
  merchant_id text not null references merchant (id),
  -- Also the reference by which the provider knows the purchase.
  id text not null collate "C",
  livemode boolean not null,
  invoice_id text not null collate "C",
  provider text not null check (provider in ('coinbase', 'moonpay', 'sandbox')),
  -- What is bought, and where it goes: the invoice's own address.
  asset text not null,
  amount numeric(78, 0) not null check (amount > 0),
  address text not null,
  -- Where the buyer lives: ISO 3166-1, for the United States with the state of ISO 3166-2.
  place text not null,
  status text not null check (status in ('asking', 'offered', 'refused', 'failed')),
  created_at timestamptz not null,
  -- Until then the question or its answer stands, and no press asks again.
  fresh_until timestamptz not null,
  -- Sealed, for whoever has the URL may use it. A provider's session URL works once.
  url bytea,
  -- The provider's answer, as the page shows it.
  answer json,
  left_at timestamptz,
  news text check (news in ('pending', 'completed', 'failed')),
  -- The provider's own transaction that the news is of: a buyer whose card was declined may try again there.
  news_of text,
  news_at timestamptz,
  primary key (merchant_id, id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
create index card_purchase_of_invoice on card_purchase (merchant_id, invoice_id, id);

-- The buyer chose the invoice's coin: a card then buys that one and not the one that it buys by default.
alter table invoice add column asset_picked boolean not null default false;

-- A provider's webhook names a purchase and no merchant, and row level security shows nothing to a transaction of no
-- merchant. This tells whose a purchase is, and nothing else of it.
create index card_purchase_by_id on card_purchase (id);
create function card_purchase_owner(asked_id text)
returns table (merchant_id text, livemode boolean)
language sql stable security definer set search_path = public, pg_temp as $$
  select merchant_id, livemode from card_purchase where id = asked_id
$$;
revoke execute on function card_purchase_owner from public;
grant execute on function card_purchase_owner to paylink_api;

grant select, insert, update on card_purchase to paylink_api;

alter table card_purchase enable row level security;
alter table card_purchase force row level security;
do $$
begin
  execute 'create policy owner_all on card_purchase to current_user using (true) with check (true)';
  execute 'create policy api_one_tenant on card_purchase to paylink_api
     using (merchant_id = current_setting(''paylink.merchant_id'', true)
            and livemode = (current_setting(''paylink.livemode'', true) = ''true''))
     with check (merchant_id = current_setting(''paylink.merchant_id'', true)
            and livemode = (current_setting(''paylink.livemode'', true) = ''true''))';
end
$$;
