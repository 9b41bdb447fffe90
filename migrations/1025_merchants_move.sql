-- Where a merchant's new sales are made, once the merchant moves to another cell. In the cell that they leave a merchant is
-- `moving`, then `moved` (or `staying` until all of a move that was given up is undone); in the other one `arriving`, then
-- `arrived`. `cell` is the other cell. No login reads or writes this: only functions below.
create table merchant_move (
  merchant_id text primary key references merchant (id),
  state text not null check (state in ('moving', 'staying', 'moved', 'arriving', 'arrived')),
  cell smallint not null check (cell between 0 and 1023),
  began_at timestamptz not null
);

-- Orders whose checkout session is in the cell that it was opened in: no other one opens a second for them.
create table moved_order (
  merchant_id text not null references merchant (id),
  order_reference text not null,
  cell smallint not null check (cell between 0 and 1023),
  primary key (merchant_id, order_reference)
);

-- A sale is refused while its merchant moves, and where they have moved from; settings and stored answers are only while
-- they move, so that what was copied is what counts. Whoever writes holds the lock that a move takes alone: none is half written then.
create function refuse_away() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  merchant text;
  found_state text;
  other smallint;
begin
  -- Watcher, delivery and signer follow what is there already.
  if not pg_has_role(session_user, 'paylink_api', 'usage') then
    if tg_op = 'DELETE' then return old; end if;
    return new;
  end if;
  perform public.require_read_committed();
  if tg_table_name = 'organization_member' then
    if tg_op = 'DELETE' then merchant := old.organization_id; else merchant := new.organization_id; end if;
  elsif tg_op = 'DELETE' then merchant := old.merchant_id;
  else merchant := new.merchant_id;
  end if;
  perform pg_advisory_xact_lock_shared(hashtextextended('merchant_move/' || merchant, 0));
  select state, cell into found_state, other from public.merchant_move where merchant_id = merchant;
  if found_state in ('moving', 'staying', 'arriving') then
    raise exception 'merchant % is being moved', merchant using errcode = 'PL003';
  end if;
  if found_state = 'moved' and tg_argv[0] = 'sale' then
    raise exception 'merchant % has moved', merchant using errcode = 'PL004', detail = other::text;
  end if;
  if tg_table_name = 'checkout_session' then
    select cell into other from public.moved_order
    where merchant_id = merchant and order_reference = new.order_reference;
    if found then
      raise exception 'order % has a checkout session in another cell', new.order_reference
        using errcode = 'PL004', detail = other::text;
    end if;
  end if;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end
$$;
revoke execute on function refuse_away from public;

-- An invoice of a session, or in place of an expired one, ends what began here.
create trigger invoice_is_sold_here before insert on invoice
  for each row when (new.checkout_session_id is null and new.reopened_from is null)
  execute function refuse_away('sale');
create trigger session_is_opened_here before insert on checkout_session
  for each row execute function refuse_away('sale');
create trigger deposit_account_is_opened_here before insert on deposit_account
  for each row execute function refuse_away('sale');
create trigger payment_link_is_kept_here before insert or update or delete on payment_link
  for each row execute function refuse_away('sale');

do $$
declare
  setting text;
begin
  foreach setting in array array['api_key', 'branding', 'buyer_optout', 'endpoint_secret', 'idempotency_key',
    'organization_member', 'payment_rules', 'payout_destination', 'till_picture', 'webhook_endpoint']
  loop
    execute format('create trigger %I before insert or update or delete on %I
      for each row execute function refuse_away(''setting'')', setting || '_is_kept_here', setting);
  end loop;
end $$;

-- A link sells where its merchant is.
create or replace function payment_link_owner(asked_slug text)
returns table (merchant_id text, livemode boolean, id text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  away record;
begin
  select m.state, m.cell into away from public.payment_link l join public.merchant_move m on m.merchant_id = l.merchant_id
  where l.slug = asked_slug;
  if away.state = 'moved' then
    raise exception 'the merchant of % has moved', asked_slug using errcode = 'PL004', detail = away.cell::text;
  end if;
  if away.state = 'arriving' then return; end if;
  return query select l.merchant_id, l.livemode, l.id from public.payment_link l where l.slug = asked_slug and l.active;
end
$$;
