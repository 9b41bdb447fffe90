-- As before, and Solana Pay's link may name a token by its mint beside the address (docs.solanapay.com/spec).
create or replace function event_shows_own_address(merchant text, invoice text, body bytea) returns boolean
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
    || '|solana:' || shown || '\?(amount=[0-9.]+&)?spl-token=[1-9A-HJ-NP-Za-km-z]{32,44}'
    || '|ethereum:' || shown || '@[0-9]+(\?value=[0-9]+)?'
    || '|ethereum:0x[0-9A-Fa-f]{40}@[0-9]+/transfer\?address=' || shown || '(&uint256=[0-9]+)?)$');
end
$$;
