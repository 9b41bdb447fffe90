-- An address is an invoice's or a deposit account's: no foreign key names two tables.
alter table deposit_address drop constraint deposit_address_merchant_id_invoice_id_fkey;

create function require_receiver() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- As every guard that looks for rows: a snapshot of before still has what was taken out since.
  perform public.require_read_committed();
  if not exists (select from public.invoice i where i.merchant_id = new.merchant_id and i.id = new.invoice_id)
    and not exists (select from public.deposit_account a
      where a.merchant_id = new.merchant_id and a.id = new.invoice_id and a.livemode = new.livemode) then
    raise exception 'there is no invoice and no deposit account %', new.invoice_id
      using errcode = 'foreign_key_violation';
  end if;
  return null;
end
$$;
revoke execute on function require_receiver() from public;
-- After the statement: an invoice is written with its address.
create trigger deposit_address_has_its_receiver after insert on deposit_address
  for each row execute function require_receiver();
