import type { AuditCheck } from './audit-check.ts'

/** Payouts on chains of accounts: what is swept for them, the nonces they have, and the hot wallet they come from. */
export const SWEEP_CHECKS: readonly AuditCheck[] = [
  {
    name: 'sweep_takes_own_deposits',
    rule: 'every sweep takes deposits of its own merchant at its own address, and is worth exactly them; one that failed takes none',
    sql: `select s.merchant_id, s.id as subject, 'is worth ' || s.amount || ' and its deposits ' || coalesce(d.total, 0) as detail
      from sweep s left join lateral (
        select sum(t.amount) as total from sweep_transfer l
          join transfer t on t.merchant_id = l.merchant_id and t.id = l.transfer_id and t.network = s.network
            and t.asset = s.asset and t.livemode = s.livemode
          join deposit_address a on a.merchant_id = t.merchant_id and a.invoice_id = t.invoice_id
            and a.program = s.address and a.idx = s.key_index
        where l.merchant_id = s.merchant_id and l.sweep_id = s.id
      ) d on true
      where case when s.status = 'failed' then 0 else s.amount end <> coalesce(d.total, 0)`,
  },
  {
    name: 'sweep_is_carried_once',
    rule: 'every sweep that is done is carried by one of its own signed transactions',
    sql: `select s.merchant_id, s.id as subject, 'is done by ' || s.txid || ', which is none of its own' as detail
      from sweep s where s.status = 'done' and not exists (
        select from sweep_transaction t where t.merchant_id = s.merchant_id and t.sweep_id = s.id and t.txid = s.txid
          and t.network = s.network and t.cost = s.cost)`,
  },
  {
    name: 'swept_covers_payouts',
    rule: 'no merchant’s payouts take more from the hot wallet or the vault than was swept for that merchant',
    sql: `select merchant_id, asset || ' on ' || network as subject, 'swept ' || swept || ', signed payouts ' || paid as detail
      from (
        select merchant_id, livemode, network, asset, sum(swept) as swept, sum(paid) as paid from (
          select merchant_id, livemode, network, asset, amount as swept, 0 as paid from sweep where status = 'done' or status = 'planned'
            and exists (select from sweep_transaction t where t.merchant_id = sweep.merchant_id and t.sweep_id = sweep.id)
          union all
          select p.merchant_id, p.livemode, p.network, p.asset, 0, p.amount from payout p
            join account_nonce n on n.merchant_id = p.merchant_id and n.intent_id = p.id where p.status <> 'failed'
          union all
          select d.merchant_id, d.livemode, c.network, 'SOL', source.lamports, 0 from solana_chore c
            cross join lateral unnest(c.indexes, c.lamports) as source (index, lamports)
            join deposit_address d on d.keyspace = c.network and d.idx = source.index
            where c.kind = 'sweep' and c.landed
          union all
          select p.merchant_id, p.livemode, p.network, p.asset, 0, p.amount from payout p
            where p.asset = 'SOL' and p.status <> 'failed' and exists (
              select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
        ) moved group by merchant_id, livemode, network, asset
      ) sums where paid > swept`,
  },
  {
    name: 'swept_was_paid',
    rule: 'no deposit address on Solana was swept of more than was paid to it',
    sql: `select d.merchant_id, c.id as subject, 'took ' || s.lamports || ' of what is swept of an address, ' || swept.total || ', to which '
        || coalesce(paid.total, 0) || ' was paid' as detail
      from solana_chore c cross join lateral unnest(c.indexes, c.lamports) as s (index, lamports)
      cross join lateral (
        select sum(e.lamports[array_position(e.indexes, s.index)]) as total from solana_chore e
        where e.network = c.network and e.kind = 'sweep' and e.landed and e.indexes @> array[s.index]) swept
      left join deposit_address d on d.keyspace = c.network and d.idx = s.index
      left join lateral (
        select sum(t.amount) as total from transfer t where t.merchant_id = d.merchant_id and t.invoice_id = d.invoice_id
          and t.network = c.network and t.asset = 'SOL' and t.status = 'confirmed') paid on true
      where c.kind = 'sweep' and c.landed and swept.total > coalesce(paid.total, 0)`,
  },
  {
    name: 'hot_credit_is_what_was_swept',
    rule: 'the running figure of what each merchant has in a hot wallet is what was swept there without what was paid out',
    sql: `select merchant_id, asset || ' on ' || network as subject, 'the figure says ' || coalesce(c.amount, 0) || ' and the rows ' || coalesce(m.total, 0) as detail
      from hot_credit c full join (
        select merchant_id, livemode, network, asset, sum(amount) as total from (
          select merchant_id, livemode, network, asset, amount from sweep where status = 'done'
          union all
          select merchant_id, livemode, network, asset, -amount from payout
          where status = 'confirmed' and network ~ '^(ethereum|base)-'
        ) moved group by merchant_id, livemode, network, asset
      ) m using (merchant_id, livemode, network, asset)
      where coalesce(c.amount, 0) <> coalesce(m.total, 0)`,
  },
  {
    name: 'nonce_has_its_signature',
    rule: 'every nonce that was given out belongs to something signed, and every signed sweep has its nonce',
    sql: `select n.merchant_id, n.intent_id as subject, 'has nonce ' || n.nonce || ' and nothing signed for it' as detail
      from account_nonce n where not exists (
          select from payout_transaction t where t.merchant_id = n.merchant_id and t.payout_id = n.intent_id and t.network = n.network)
        and not exists (
          select from sweep_transaction t where t.merchant_id = n.merchant_id and t.sweep_id = n.intent_id and t.network = n.network)
        and not exists (
          select from x402_transaction t where t.merchant_id = n.merchant_id and t.authorization_id = n.intent_id and t.network = n.network)
      union all
      select t.merchant_id, t.sweep_id, 'is signed and has no nonce' from sweep_transaction t where not exists (
        select from account_nonce n where n.merchant_id = t.merchant_id and n.intent_id = t.sweep_id and n.network = t.network)`,
  },
  {
    name: 'hot_wallet_covers_merchants',
    rule: 'every hot wallet holds what was swept into it for merchants and has not left',
    sql: `select null as merchant_id, w.network || ' ' || o.asset as subject, 'holds ' || o.held || ' and owes ' || o.owed as detail
      from hot_wallet w cross join lateral (
        select a.asset, case when a.asset = 'USDC_BASE' then coalesce(w.token_balance, 0) else w.balance end as held,
          (select coalesce(sum(amount - cost), 0) from sweep
            where network = w.network and asset = a.asset and status = 'done' and final_at is not null)
          - (select coalesce(sum(p.amount - coalesce(c.cost, 0)), 0) from account_nonce n
              join payout p on p.merchant_id = n.merchant_id and p.id = n.intent_id and p.asset = a.asset and p.status <> 'failed'
              left join lateral (select sum(cost) as cost from sweep
                where merchant_id = p.merchant_id and payout_id = p.id and status = 'done') c on true
              where n.network = w.network and n.nonce < w.nonce) as owed
        from (select distinct asset from sweep where network = w.network) a
      ) o where o.held < o.owed`,
  },
]
