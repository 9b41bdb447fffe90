-- As every guard that looks for rows: not by a snapshot of before, in which what was taken out since still stands.
create or replace function require_receiver() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
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
