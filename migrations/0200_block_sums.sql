-- A payment sums what one transaction brought to one address; what comes to an invoice beyond the payments that are kept
-- one by one, and dust, is one sum for each block, named by the block's hash and an index below zero. `parts` is what such
-- a row sums: [{"txid", "output_index", "amount"}]; null where it is nothing but itself.
alter table transfer add column is_block_sum boolean not null default false;
alter table transfer add column transfers integer not null default 1;
alter table transfer add column parts jsonb;
create index transfer_block_sum on transfer (merchant_id, invoice_id) where is_block_sum;
create index transfer_block_sum_in on transfer (network, block_hash) where is_block_sum;
create index transfer_with_parts on transfer (merchant_id, network) where parts is not null;

-- Every output, or transfer on a chain without outputs, by itself: coins are spent one by one, and so are readings of a
-- block compared. The two halves have an index each.
create view transfer_part with (security_invoker = true) as
select merchant_id, id as transfer_id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
  block_height, block_hash, ledger_bucket, left_on_chain, is_block_sum
from transfer where parts is null
union all
select t.merchant_id, t.id, t.livemode, t.invoice_id, t.network, p.txid, p.output_index, t.asset, p.amount, t.status,
  t.block_height, t.block_hash, t.ledger_bucket, t.left_on_chain, t.is_block_sum
from transfer t cross join lateral jsonb_to_recordset(t.parts) as p (txid text, output_index integer, amount numeric(78, 0))
where t.parts is not null;
grant select on transfer_part to paylink_api, paylink_watcher, paylink_signer;
