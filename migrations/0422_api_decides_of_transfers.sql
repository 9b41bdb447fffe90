-- The API writes what a merchant decides of a payment, and its postings. What the chain says of it is the watcher's.
revoke update on transfer from paylink_api;
-- All that the API's statement names; the trigger keeps all but the decision as it is.
grant update (status, first_seen_at, confirmed_at, block_height, block_hash, block_time, late, review_reason, resolution,
  announced_confirming, announced_review, ledger_bucket, ledger_postings, amount, dust, transfers, parts,
  checked_block_hash) on transfer to paylink_api;

create function require_watcher() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- The owner is a member of every role.
  if pg_has_role(current_user, 'paylink_api', 'usage') and not pg_has_role(current_user, 'paylink_watcher', 'usage') then
    raise exception 'the API may not write what the chain says of % %', tg_table_name, old.id
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;
-- Times are written back with the milliseconds that JavaScript knows.
create trigger transfer_is_the_watchers before update on transfer for each row
  when (row(new.status, date_trunc('milliseconds', new.first_seen_at), date_trunc('milliseconds', new.confirmed_at),
      new.block_height, new.block_hash, date_trunc('milliseconds', new.block_time), new.late, new.review_reason,
      new.announced_confirming, new.announced_review, new.amount, new.dust, new.transfers, new.parts,
      new.checked_block_hash)
    is distinct from row(old.status, date_trunc('milliseconds', old.first_seen_at),
      date_trunc('milliseconds', old.confirmed_at), old.block_height, old.block_hash,
      date_trunc('milliseconds', old.block_time), old.late, old.review_reason, old.announced_confirming,
      old.announced_review, old.amount, old.dust, old.transfers, old.parts, old.checked_block_hash))
  execute function require_watcher();
