-- Payment links, the checkout sessions on them, and what their invoices need.

create table payment_link (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  -- What the buyer's URL names it by: pl_ and ten characters of base 62.
  slug text not null collate "C",
  name text not null,
  -- Charged where a checkout gives no amount of its own.
  usd_cents numeric(78, 0) check (usd_cents > 0),
  -- Null: the merchant's default coin of the moment.
  asset text,
  allow_dynamic_amount boolean not null,
  -- Null: the merchant's default payment window of the moment.
  duration_minutes integer check (duration_minutes in (15, 30, 60, 180, 720, 1440)),
  active boolean not null,
  created_at timestamptz not null,
  primary key (merchant_id, id),
  check (usd_cents is not null or allow_dynamic_amount)
);
create unique index payment_link_by_slug on payment_link (slug);
create index payment_link_by_mode on payment_link (merchant_id, livemode, id);

create table checkout_session (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  payment_link_id text not null collate "C",
  order_reference text not null,
  usd_cents numeric(78, 0) not null check (usd_cents > 0),
  -- As it was asked for; null where the link or the merchant decided.
  asked_minutes integer check (asked_minutes between 5 and 1440),
  created_at timestamptz not null,
  -- The final deadline of any payment; nothing renews it.
  expires_at timestamptz not null,
  cancelled_at timestamptz,
  -- Set once, when the buyer continues.
  invoice_id text,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_link_id) references payment_link (merchant_id, id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
-- One order, one session: in both modes together, and for ever.
create unique index checkout_session_by_order on checkout_session (merchant_id, order_reference);
create index checkout_session_by_link on checkout_session (merchant_id, livemode, payment_link_id, id);

-- A session becomes one invoice, and an expired invoice is reopened once, whatever the program believes.
create unique index invoice_of_session on invoice (merchant_id, checkout_session_id)
  where checkout_session_id is not null;
create unique index invoice_reopened_once on invoice (merchant_id, reopened_from) where reopened_from is not null;

-- What was read of the chain when an invoice expired: which blocks, from whom, and until when.
alter table invoice add column expiry_reading json;

-- A buyer's URL names a link and not its merchant, and row level security shows nothing to a transaction of no
-- merchant. This tells whose an active link is, and nothing else of it.
create function payment_link_owner(asked_slug text)
returns table (merchant_id text, livemode boolean, id text)
language sql stable security definer set search_path = public, pg_temp as $$
  select merchant_id, livemode, id from payment_link where slug = asked_slug and active
$$;
revoke execute on function payment_link_owner from public;
grant execute on function payment_link_owner to paylink_api;

grant select, insert, update on payment_link, checkout_session to paylink_api;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['payment_link', 'checkout_session'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy owner_all on %I to current_user using (true) with check (true)', tenant_table);
    execute format(
      'create policy api_one_tenant on %I to paylink_api
         using (merchant_id = current_setting(''paylink.merchant_id'', true)
                and livemode = (current_setting(''paylink.livemode'', true) = ''true''))
         with check (merchant_id = current_setting(''paylink.merchant_id'', true)
                and livemode = (current_setting(''paylink.livemode'', true) = ''true''))',
      tenant_table
    );
  end loop;
end
$$;
