-- Whether what an invoice's event shows as its address, in words and as a link for wallets (BIP 21, EIP-681, Solana Pay),
-- was given to that invoice. Empty is what it shows where the invoice's row names another.
create function event_shows_own_address(merchant text, invoice text, body bytea) returns boolean
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  told json := convert_from(body, 'UTF8')::json -> 'data';
  shown text := coalesce(told ->> 'address', '');
  uri text := coalesce(told ->> 'payment_uri', '');
begin
  if shown <> '' and not exists (
    select from public.deposit_address d
    where d.merchant_id = merchant and d.invoice_id = invoice and d.address = shown) then
    return false;
  end if;
  return uri = '' or uri ~ ('^((bitcoin|litecoin|solana):' || shown || '(\?amount=[0-9.]+)?'
    || '|ethereum:' || shown || '@[0-9]+(\?value=[0-9]+)?'
    || '|ethereum:0x[0-9A-Fa-f]{40}@[0-9]+/transfer\?address=' || shown || '(&uint256=[0-9]+)?)$');
end
$$;

create function require_own_address() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not public.event_shows_own_address(new.merchant_id, new.resource_id, new.body) then
    raise exception 'event % shows an address that invoice % was not given', new.id, new.resource_id
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end
$$;
create trigger event_shows_own_address before insert on event
  for each row when (new.event_type like 'invoice.%') execute function require_own_address();
