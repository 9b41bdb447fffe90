import { ASSET_IDS, isToken } from '../core/assets.ts'
import { EVM_NETWORK_PATTERN } from '../core/chain/evm-networks.ts'
import { JOURNAL_APPROVER } from '../payouts/store/lost-payouts.ts'
import { UNSEALED_OUTCOMES } from '../payouts/store/outcome-seals.ts'
import { VAULT_SWEEPS } from '../payouts/store/vault-sweeps.ts'
import type { AuditCheck } from './audit-check.ts'

/** The account in which a payout p is set aside. */
const RESERVED_IN = `case p.source when 'fees' then 'fees_reserved' else 'reserved' end`

/** Payouts against the ledger, their approvals and their transactions. */
export const PAYOUT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'reserved_is_open_payouts',
    rule: 'what is set aside in the ledger is the sum of the payouts under way',
    sql: `select merchant_id, asset || ' ' || account as subject,
        'the ledger says ' || coalesce(b.balance, 0) || ' and the payouts ' || coalesce(p.total, 0) as detail
      from (select merchant_id, livemode, asset, account, balance from ledger_balance
        where account in ('reserved', 'fees_reserved')) b
      full join (
        select merchant_id, livemode, asset, ${RESERVED_IN} as account, sum(amount) as total from payout p
        where status in ('requested', 'approved', 'submitted') group by 1, 2, 3, 4
      ) p using (merchant_id, livemode, asset, account)
      where coalesce(b.balance, 0) <> coalesce(p.total, 0)`,
  },
  {
    name: 'payout_has_its_postings',
    rule: 'every payout was set aside once, and went out or came back once, whole',
    sql: `select p.merchant_id, p.id as subject, p.status || ', with ' || coalesce(string_agg(l.kind, ', '), 'nothing') || ' in the ledger' as detail
      from payout p left join lateral (
        select t.kind, e.amount from ledger_transfer t join ledger_entry e
          on e.merchant_id = t.merchant_id and e.transfer_id = t.id and e.account = ${RESERVED_IN} and e.asset = p.asset
        where t.merchant_id = p.merchant_id and t.payout_id = p.id
          and t.id in ('payout:' || p.id || ':reserve', 'payout:' || p.id || ':return', 'payout:' || p.id || ':sent', 'payout:' || p.id || ':fee')
      ) l on true
      group by p.merchant_id, p.id, p.status, p.amount, p.network_fee
      having coalesce(sum(l.amount) filter (where l.kind = 'payout'), 0) <> p.amount
        or coalesce(-sum(l.amount) filter (where l.kind = 'payout_return'), 0) <> case when p.status in ('rejected', 'failed') then p.amount else 0 end
        or coalesce(-sum(l.amount) filter (where l.kind = 'payout_sent'), 0) <> case when p.status = 'confirmed' then p.amount - p.network_fee else 0 end
        or coalesce(-sum(l.amount) filter (where l.kind = 'network_fee'), 0) <> case when p.status = 'confirmed' then p.network_fee else 0 end`,
  },
  {
    name: 'coins_are_the_balances',
    rule: 'the coins of a merchant are worth what stands in the ledger, to the last unit',
    // Deposits and change that no payout has spent for good; those of payouts under way stand under reserved. A test
    // network that was pointed to another chain left its coins there.
    sql: `with coin as (
        select merchant_id, livemode, asset, network, txid, output_index, amount from transfer_part
        where network ~ '^(bitcoin|litecoin)-' and ledger_bucket = 'available'
        union all
        select c.merchant_id, c.livemode, p.asset, c.network, c.txid, c.output_index, c.amount
        from payout_change c join payout p
          on p.merchant_id = c.merchant_id and p.id = c.payout_id and p.status = 'confirmed' and p.txid = c.txid
      ), held as (
        select merchant_id, livemode, asset, sum(amount) as total from coin where not exists (
          select from payout_input i join payout p on p.merchant_id = i.merchant_id and p.id = i.payout_id
          where i.merchant_id = coin.merchant_id and i.network = coin.network and i.txid = coin.txid
            and i.output_index = coin.output_index and p.status in ('confirmed', 'failed'))
        group by merchant_id, livemode, asset
      ), booked as (
        select merchant_id, livemode, asset, sum(balance) as total from ledger_balance
        where asset in ('BTC', 'LTC') and account in ('available', 'fees', 'fees_reserved', 'reserved', 'shortfall')
        group by merchant_id, livemode, asset
      )
      select merchant_id, asset || case when livemode then ' live' else ' test' end as subject,
        'its coins are worth ' || coalesce(h.total, 0) || ' and the ledger says ' || coalesce(b.total, 0) as detail
      from held h full join booked b using (merchant_id, livemode, asset)
      where coalesce(h.total, 0) <> coalesce(b.total, 0) and not exists (
        select from transfer t where t.merchant_id = coalesce(h.merchant_id, b.merchant_id)
          and t.livemode = coalesce(h.livemode, b.livemode) and t.left_on_chain is not null)`,
  },
  {
    name: 'coin_is_one_deposit',
    rule: 'every coin of Bitcoin and Litecoin was paid to one invoice',
    // A sum that left the chain with its block stays beside what brings its coins in another.
    sql: `select merchant_id, transfer_id as subject, 'claims ' || txid || ':' || output_index || ' beside another' as detail
      from (
        select merchant_id, transfer_id, txid, output_index,
          count(*) over (partition by network, lower(txid), output_index) as claims
        from transfer_part where network ~ '^(bitcoin|litecoin)-'
          and (not is_block_sum or ledger_bucket <> 'none')) claimed
      where claims > 1`,
  },
  {
    name: 'payout_posting_has_its_payout',
    rule: 'every ledger transfer of a payout stands for a payout',
    sql: `select l.merchant_id, l.id as subject, 'no payout of this id is known' as detail from ledger_transfer l
      where l.kind in ('payout', 'payout_return', 'payout_sent', 'network_fee') and not exists (
        select from payout p where p.merchant_id = l.merchant_id and p.id = l.payout_id and p.livemode = l.livemode)`,
  },
  {
    name: 'payout_goes_where_allowed',
    rule: 'every payout goes to an address of its own list: of the merchant, or, with fees, of the operator',
    sql: `select p.merchant_id, p.id as subject, 'goes to ' || p.destination || ', which is not what was allowed' as detail
      from payout p where not exists (
          select from payout_destination d where p.source = 'available' and d.merchant_id = p.merchant_id
            and d.id = p.destination_id and d.address = p.destination and d.asset = p.asset and d.livemode = p.livemode)
        and not exists (
          select from fee_destination d where p.source = 'fees' and d.id = p.fee_destination_id
            and d.address = p.destination and d.asset = p.asset and d.livemode = p.livemode)
        and p.status in ('requested', 'approved', 'submitted', 'confirmed')`,
  },
  {
    name: 'payout_of_fees_is_not_told',
    rule: 'no event reports a payout of the operator’s fees to a merchant',
    sql: `select p.merchant_id, p.id as subject, 'has events' as detail from payout p
      where p.source = 'fees' and (p.event_count > 0 or exists (
        select from event e where e.merchant_id = p.merchant_id and e.resource_id = p.id))`,
  },
  {
    name: 'payout_was_approved',
    rule: 'every payout that was signed, submitted or confirmed has an approval by whom it names, or came back from the journal of the signer',
    sql: `select p.merchant_id, p.id as subject, 'is ' || p.status || ' without its approval' as detail from payout p
      where (p.status in ('approved', 'submitted', 'confirmed')
          or exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id))
        and not exists (select from payout_approval a where a.merchant_id = p.merchant_id and a.payout_id = p.id
          and a.approver = p.approved_by)
        and not (p.approved_by = '${JOURNAL_APPROVER}' and p.id in (select payout_id from lost_payout))`,
  },
  {
    name: 'payout_says_when',
    rule: 'a payout has the times of what became of it, and no others; one that failed says why',
    sql: `select p.merchant_id, p.id as subject, 'is ' || p.status || ', and its times say something else' as detail
      from payout p where (p.status = 'rejected') <> (p.rejected_at is not null) or (p.status = 'failed') <> (p.failed_at is not null)
        or (p.rejected_by is null) <> (p.rejected_at is null) or (p.failure_code is null) <> (p.failed_at is null)
        or (p.status = 'confirmed') <> (p.confirmed_at is not null)
        or p.status in ('approved', 'submitted', 'confirmed') and p.approved_at is null`,
  },
  {
    name: 'payout_is_sent_once',
    rule: 'every submitted or confirmed payout was sent by one of its own signed transactions, within the approved fee',
    sql: `select p.merchant_id, p.id as subject, 'is ' || p.status || ' by ' || coalesce(p.txid, 'nothing') || ', which is none of its own' as detail
      from payout p where p.status in ('submitted', 'confirmed') and not exists (
        select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id and t.txid = p.txid
          and t.network = p.network and t.network_fee = p.network_fee and t.network_fee <= p.network_fee_max)`,
  },
  {
    name: 'payout_spends_own_coins',
    rule: 'every coin that a payout spends is a deposit or change of its own merchant',
    sql: `select i.merchant_id, i.payout_id as subject, 'spends ' || i.txid || ':' || i.output_index || ', which is not known' as detail
      from payout_input i where not exists (
          select from transfer_part t where t.merchant_id = i.merchant_id and t.network = i.network and t.txid = i.txid
            and t.output_index = i.output_index and t.livemode = i.livemode)
        and not exists (
          select from payout_change c where c.merchant_id = i.merchant_id and c.network = i.network and c.txid = i.txid
            and c.output_index = i.output_index and c.livemode = i.livemode)`,
  },
]

/** Whoever follows the network has read a final block by then. */
const SEEN_WITHIN_MINUTES = 60

/** Of contracts, whose money a hot wallet holds beside its own coin; a list for SQL. */
const TOKENS = ASSET_IDS.filter(isToken)
  .map((id) => `'${id}'`)
  .join(', ')

/** Payouts on chains of accounts: what is swept for them, the nonces they have, and the hot wallet they come from. */
export const SWEEP_CHECKS: readonly AuditCheck[] = [
  {
    name: 'sweep_takes_own_deposits',
    rule: 'every sweep takes deposits of its own merchant at its own address, and is worth exactly them; one that failed takes none',
    sql: `select s.merchant_id, s.id as subject, 'is worth ' || s.amount || ' and its deposits ' || coalesce(d.total, 0)
          || case when d.others > 0 then ', and takes ' || d.others || ' that are not its own' else '' end as detail
      from sweep s left join lateral (
        select sum(t.amount) filter (where a.idx is not null) as total,
            count(*) filter (where a.idx is null) as others from sweep_transfer l
          left join transfer t on t.merchant_id = l.merchant_id and t.id = l.transfer_id and t.network = s.network
            and t.asset = s.asset and t.livemode = s.livemode
          left join deposit_address a on a.merchant_id = t.merchant_id and a.invoice_id = t.invoice_id
            and a.program = s.address and a.idx = s.key_index
        where l.merchant_id = s.merchant_id and l.sweep_id = s.id
      ) d on true
      where case when s.status = 'failed' then 0 else s.amount end <> coalesce(d.total, 0) or d.others > 0`,
  },
  {
    name: 'sweep_is_sent_once',
    rule: 'every sweep that is done was sent by one of its own signed transactions',
    sql: `select s.merchant_id, s.id as subject, 'is done by ' || s.txid || ', which is none of its own' as detail
      from sweep s where s.status = 'done' and not exists (
        select from sweep_transaction t where t.merchant_id = s.merchant_id and t.sweep_id = s.id and t.txid = s.txid
          and t.network = s.network and t.cost = s.cost)`,
  },
  {
    name: 'outcome_is_sealed',
    rule: 'of every sweep that is called done, and every signed payout that is called failed, the watcher’s process has sealed that it saw so',
    sql: `select merchant_id, id as subject, state || ', and the watcher has not sealed it' as detail
      from (${UNSEALED_OUTCOMES}) unsealed`,
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
          select d.merchant_id, d.livemode, c.network, c.asset, part.amount, 0 from ${VAULT_SWEEPS} c
            cross join lateral unnest(c.indexes, c.amounts) as part (index, amount)
            join deposit_address d on d.keyspace = c.network and d.idx = part.index
            where c.landed
          union all
          select p.merchant_id, p.livemode, p.network, p.asset, 0, p.amount from payout p
            where p.network ~ '^solana-' and p.status <> 'failed' and exists (
              select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
        ) moved group by merchant_id, livemode, network, asset
      ) sums where paid > swept`,
  },
  {
    name: 'swept_was_paid',
    rule: 'no deposit address on Solana was swept of more than was paid to it',
    sql: `select d.merchant_id, c.id as subject, 'took ' || s.amount || ' of what is swept of an address, ' || swept.total || ', to which '
        || coalesce(paid.total, 0) || ' was paid' as detail
      from ${VAULT_SWEEPS} c cross join lateral unnest(c.indexes, c.amounts) as s (index, amount)
      cross join lateral (
        select sum(part.amount) as total from ${VAULT_SWEEPS} e
        cross join lateral unnest(e.indexes, e.amounts) as part (index, amount)
        where e.network = c.network and e.asset = c.asset and e.landed and e.indexes @> array[s.index]
          and part.index = s.index) swept
      left join deposit_address d on d.keyspace = c.network and d.idx = s.index
      left join lateral (
        select sum(t.amount) as total from transfer t where t.merchant_id = d.merchant_id and t.invoice_id = d.invoice_id
          and t.network = c.network and t.asset = c.asset and t.status = 'confirmed') paid on true
      where c.landed and swept.total > coalesce(paid.total, 0)`,
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
          where status = 'confirmed' and network ~ '${EVM_NETWORK_PATTERN}'
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
    name: 'x402_is_sent_and_seen',
    rule: 'every x402 payment that is settled is in one of its own signed transactions, and was found on the chain soon after',
    sql: `select a.merchant_id, a.id as subject, 'is settled by ' || coalesce(a.txid, 'nothing') || ', which '
        || case when t.txid is null then 'is none of its own' else 'brought nothing' end as detail
      from x402_authorization a
      left join x402_transaction t on t.merchant_id = a.merchant_id and t.authorization_id = a.id and t.txid = a.txid
      where a.status = 'settled' and (t.txid is null or a.done_at < now() - interval '${SEEN_WITHIN_MINUTES} minutes'
        and not exists (select from transfer p where p.merchant_id = a.merchant_id and p.invoice_id = a.invoice_id
          and p.network = a.network and p.txid = a.txid))`,
  },
  {
    name: 'hot_wallet_covers_merchants',
    rule: 'every hot wallet holds what was swept into it for merchants and has not left',
    sql: `select null as merchant_id, w.network || ' ' || o.asset as subject, 'holds ' || o.held || ' and owes ' || o.owed as detail
      from hot_wallet w cross join lateral (
        select a.asset, case when a.asset in (${TOKENS}) then coalesce((
            select t.balance from hot_wallet_token t where t.network = w.network and t.asset = a.asset), 0)
          else w.balance end as held,
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
