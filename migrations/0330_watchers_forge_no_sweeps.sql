-- With the watcher's password alone nobody plans a sweep of an address that was not given to an invoice of its merchant,
-- says that one is done which the signer did not sign, or brings back one that has failed: what merchants have in a hot
-- wallet goes by these rows. Restrictive: beside what the role may do already.
create policy watcher_plans_own on sweep as restrictive for insert to paylink_watcher
  with check (status = 'planned' and final_at is null and exists (
    select from deposit_address d
    where d.keyspace = case when sweep.livemode then 'evm-live' else 'evm-test' end and d.program = sweep.address
      and d.idx = sweep.key_index and d.merchant_id = sweep.merchant_id and d.livemode = sweep.livemode));
create policy watcher_tells_what_was_signed on sweep as restrictive for update to paylink_watcher
  using (status <> 'failed')
  with check (status <> 'done' or exists (
    select from sweep_transaction t
    where t.merchant_id = sweep.merchant_id and t.sweep_id = sweep.id and t.network = sweep.network
      and t.txid = sweep.txid and t.cost = sweep.cost));

-- What the signer asks before it pays out of a hot wallet: sweeps that brought nothing, or have not yet.
create index sweep_not_done on sweep (merchant_id, network, asset) where status <> 'done';
