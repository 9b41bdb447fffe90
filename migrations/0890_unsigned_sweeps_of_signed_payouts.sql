-- A sweep that was planned for a payout while the signer was signing that is signed for its sake no more: until it is
-- signed it moves to a payout of the same mode and asset that goes on, as one does whose payout failed, or was rejected after a restore.
create or replace function refuse_moved_sweep() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if public.is_owner_of(tg_relid) then return new; end if;
  perform public.require_read_committed();
  if old.status <> 'planned'
    or not exists (select from public.payout o
      where o.merchant_id = old.merchant_id and o.id = old.payout_id and (o.status in ('failed', 'rejected')
        or (exists (select from public.payout_transaction t
            where t.merchant_id = o.merchant_id and t.payout_id = o.id)
          and not exists (select from public.sweep_transaction t
            where t.merchant_id = old.merchant_id and t.sweep_id = old.id))))
    or not exists (select from public.payout
      where merchant_id = old.merchant_id and id = new.payout_id and livemode = old.livemode and network = old.network
        and asset = old.asset and status in ('approved', 'submitted')) then
    raise exception 'sweep % belongs to payout %', old.id, old.payout_id using errcode = 'check_violation';
  end if;
  return new;
end $$;

revoke execute on function refuse_moved_sweep() from public;
