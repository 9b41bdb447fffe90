-- What a watcher's process saw become of what the signer signed, sealed by a key that is in no database: the signer counts a
-- sweep in, and a failed payout back, by these seals and not by what rows say. Whoever else writes them gains nothing.
create table outcome_seal (
  network text not null,
  kind text not null check (kind in ('landed', 'failed')),
  -- Of the sweep; of a payout the newest.
  txid text not null check (length(txid) <= 88),
  -- Ed25519.
  seal bytea check (octet_length(seal) = 64),
  -- It stood in the books before there were seals: the signer takes it over once, at its first start.
  from_before boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (network, kind, txid),
  check (seal is not null or from_before)
);

insert into outcome_seal (network, kind, txid, from_before)
select network, 'landed', txid, true from sweep where status = 'done' and txid is not null
union
select network, 'landed', txid, true from solana_chore where kind = 'sweep' and landed and txid is not null
union
select last.network, 'failed', last.txid, true from (
  select distinct on (t.merchant_id, t.payout_id) t.network, t.txid
  from payout p join payout_transaction t on t.merchant_id = p.merchant_id and t.payout_id = p.id
  where p.status = 'failed' and p.network ~ '^(ethereum|base|solana)-'
  order by t.merchant_id, t.payout_id, t.number desc) last;

-- A watcher seals; what stands there from before is nobody's to add.
grant select on outcome_seal to paylink_watcher;
grant insert (network, kind, txid, seal, created_at), update (seal) on outcome_seal to paylink_watcher;
grant select on outcome_seal to paylink_signer;

-- By which key the signer knows outcomes, beside the one by which it knows approvals.
alter table signer_approval_key add column outcome_key bytea check (octet_length(outcome_key) = 32);
