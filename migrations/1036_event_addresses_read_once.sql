-- The same rule, with the body taken apart once: `->>` reads all of it anew for each field, which cost more than all that
-- is asked of them.
create function shows_own_addresses(merchant text, invoice text, shown text, uri text, beside json) returns boolean
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if shown <> '' and not exists (
    select from public.deposit_address d
    where d.merchant_id = merchant and d.invoice_id = invoice and d.address = shown) then
    return false;
  end if;
  if uri <> '' and not public.links_to_address(uri, coalesce(shown, '')) then
    return false;
  end if;
  if json_typeof(beside) is distinct from 'array' then
    return true;
  end if;
  -- Events of earlier releases name no address beside: theirs was the invoice's.
  return not exists (
    select from json_array_elements(beside) one where not public.shows_own_addresses(
      merchant, invoice, coalesce(one ->> 'address', shown), one ->> 'payment_uri', null));
end
$$;

create or replace function event_shows_own_address(merchant text, invoice text, body bytea) returns boolean
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp
  -- An audit has every statement planned anew, and asks this of each event.
  set plan_cache_mode = auto as $$
declare
  data json := convert_from(body, 'UTF8')::json -> 'data';
  fields record;
begin
  select * into fields from json_to_record(case json_typeof(data) when 'object' then data else '{}' end)
    as (address text, payment_uri text, also_accepts json);
  return public.shows_own_addresses(merchant, invoice, fields.address, fields.payment_uri, fields.also_accepts);
end
$$;
