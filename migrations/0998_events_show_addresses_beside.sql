-- An invoice has an address for each kind of network on which it can be paid: whatever its event shows beside the first was
-- given to it as well, in words and as a link for wallets.
create or replace function event_shows_own_address(merchant text, invoice text, body bytea) returns boolean
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  told json := convert_from(body, 'UTF8')::json -> 'data';
  one json;
  shown text;
  uri text;
begin
  for one in select told union all
    select e from json_array_elements(case json_typeof(told -> 'also_accepts') when 'array' then told -> 'also_accepts' end) e
  loop
    -- Events of earlier releases name no address beside: theirs was the invoice's.
    shown := coalesce(one ->> 'address', told ->> 'address', '');
    uri := coalesce(one ->> 'payment_uri', '');
    if shown <> '' and not exists (
      select from public.deposit_address d
      where d.merchant_id = merchant and d.invoice_id = invoice and d.address = shown) then
      return false;
    end if;
    if uri <> '' and uri !~ ('^((bitcoin|litecoin|solana):' || shown || '(\?amount=[0-9.]+)?'
      || '|solana:' || shown || '\?(amount=[0-9.]+&)?spl-token=[1-9A-HJ-NP-Za-km-z]{32,44}'
      || '|ethereum:' || shown || '@[0-9]+(\?value=[0-9]+)?'
      || '|ethereum:0x[0-9A-Fa-f]{40}@[0-9]+/transfer\?address=' || shown || '(&uint256=[0-9]+)?)$') then
      return false;
    end if;
  end loop;
  return true;
end
$$;
