-- A sweep stays with the payout that pays what it takes. It moves only while it is planned, from a payout that failed to
-- one of the same mode and asset that goes on. The owner of the tables, by hand, may do what they must.
create function refuse_moved_sweep() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if public.is_owner_of(tg_relid) then return new; end if;
  if old.status <> 'planned'
    or not exists (select from public.payout
      where merchant_id = old.merchant_id and id = old.payout_id and status = 'failed')
    or not exists (select from public.payout
      where merchant_id = old.merchant_id and id = new.payout_id and livemode = old.livemode and network = old.network
        and asset = old.asset and status in ('approved', 'submitted')) then
    raise exception 'sweep % belongs to payout %', old.id, old.payout_id using errcode = 'check_violation';
  end if;
  return new;
end $$;

create trigger sweep_stays before update of payout_id on sweep for each row
  when (new.payout_id is distinct from old.payout_id) execute function refuse_moved_sweep();
