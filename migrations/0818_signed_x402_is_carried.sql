-- Whatever the signer has signed for a payer has a nonce of the hot wallet, and everything that is signed later waits for it:
-- the API refuses no such payment, nor calls it looked after. It waits for who signs or refuses at the same time.
create function keep_signed_x402() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- The owner is a member of every role.
  if not pg_has_role(current_user, 'paylink_api', 'usage') or pg_has_role(current_user, 'paylink_watcher', 'usage') then
    return new;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(old.id, 0));
  if new.status <> 'refused' or exists (
    select from public.x402_transaction t where t.merchant_id = old.merchant_id and t.authorization_id = old.id) then
    raise exception 'the API may not end what was signed of %', old.id using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;
revoke execute on function keep_signed_x402() from public;
create trigger x402_that_is_signed_is_carried before update on x402_authorization for each row
  when (row(new.status, new.done_at) is distinct from row(old.status, old.done_at)) execute function keep_signed_x402();
