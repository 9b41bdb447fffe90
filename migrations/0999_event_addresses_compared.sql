-- As before, without a pattern of its own for each address: making one took longer than all else about a new event. An
-- address that is shown is one that `deposit_address` has, so it is compared as it stands.
create function links_to_address(uri text, shown text) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  scheme text := split_part(uri, ':', 1);
  target text := substr(uri, length(scheme) + 2);
  -- EIP-681 names a token's contract first, and whom to pay after it.
  contract text := split_part(target, '?address=', 1);
  recipient text := substr(target, length(contract) + length('?address=') + 1);
begin
  return strpos(uri, ':') > 0 and (
    starts_with(target, shown) and substr(target, length(shown) + 1) ~ case scheme
      when 'bitcoin' then '^(\?amount=[0-9.]+)?$'
      when 'litecoin' then '^(\?amount=[0-9.]+)?$'
      when 'solana' then '^((\?amount=[0-9.]+)?|\?(amount=[0-9.]+&)?spl-token=[1-9A-HJ-NP-Za-km-z]{32,44})$'
      when 'ethereum' then '^@[0-9]+(\?value=[0-9]+)?$'
      -- Nothing is this.
      else '^(?!)' end
    or scheme = 'ethereum' and contract <> target and contract ~ '^0x[0-9A-Fa-f]{40}@[0-9]+/transfer$'
      and starts_with(recipient, shown) and substr(recipient, length(shown) + 1) ~ '^(&uint256=[0-9]+)?$');
end
$$;

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
    if uri <> '' and not public.links_to_address(uri, shown) then
      return false;
    end if;
  end loop;
  return true;
end
$$;
