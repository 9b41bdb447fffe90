import type { AuditCheck } from './audit-check.ts'

/** How core/ledger/deposit names the ledger transfers of a payment t, before their number. */
const POSTING_PREFIX = `'dep:' || t.network || ':' || t.txid || ':' || t.output_index || ':' ||
  case when (t.network like 'bitcoin-%' or t.network like 'litecoin-%') and not t.is_block_sum then '' else t.invoice_id || ':' end`
/**
 * The number at the end of such a name, which stands in this column; null where it has none. Regular expressions would
 * take most of an audit's time.
 */
const postingNumber = (
  column: string,
): string => `case when length(split_part(${column}, ':', -1)) between 1 and 9
  and translate(split_part(${column}, ':', -1), '0123456789', '') = '' then split_part(${column}, ':', -1)::int end`

/** For what the operator keeps something, and how much of it. */
const FEES_AGREED = `select merchant_id, id, livemode, service_fee_bps from invoice where service_fee_bps > 0
  union all select merchant_id, id, livemode, service_fee_bps from deposit_account where service_fee_bps > 0`

/** The ledger against itself and against the transfers it stands for. */
export const LEDGER_CHECKS: readonly AuditCheck[] = [
  {
    name: 'ledger_sums_to_zero',
    rule: 'the entries of every ledger transfer sum to zero for each asset',
    // Nearly always every entry stands against one other, and joining the two halves is half the work of adding up each
    // transfer. Where no row of the join is without its other half or off, and there are half as many rows as entries,
    // no transfer has two entries on one side: it would have more rows than its share.
    sql: `select merchant_id, transfer_id as subject, asset || ' is off by ' || sum(amount) as detail
      from ledger_entry
      where not (
        select coalesce(bool_and(coalesce(taken.amount + given.amount = 0, false)), true)
          and 2 * count(*) = (select count(*) from ledger_entry)
        from (select * from ledger_entry where amount < 0) taken
        full join (select * from ledger_entry where amount > 0) given using (merchant_id, transfer_id, asset)
      )
      group by merchant_id, transfer_id, asset having sum(amount) <> 0`,
  },
  {
    name: 'ledger_transfer_has_entries',
    rule: 'every ledger transfer has entries',
    sql: `select t.merchant_id, t.id as subject, 'has no entries' as detail from ledger_transfer t
      where not exists (select from ledger_entry e where e.merchant_id = t.merchant_id and e.transfer_id = t.id)`,
  },
  {
    name: 'ledger_is_never_changed',
    rule: 'a ledger transfer and its entries were written by one transaction and in one mode',
    sql: `select e.merchant_id, e.transfer_id as subject,
        case when t.id is null then 'is gone, and its ' || e.account || ' entry is not'
             when e.livemode <> t.livemode then 'its ' || e.account || ' entry is of the other mode'
             else 'its ' || e.account || ' entry was written later' end as detail
      from ledger_entry e left join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
      where t.id is null or e.livemode <> t.livemode or e.transaction_id <> t.transaction_id`,
  },
  {
    name: 'balance_is_the_sum',
    rule: 'every cached balance is the sum of its entries',
    sql: `select merchant_id, asset || ' ' || account as subject,
        'the balance says ' || coalesce(b.balance::text, 'nothing') || ' and the entries ' || coalesce(e.total, 0) as detail
      from ledger_balance b full join (
        select merchant_id, livemode, asset, account, sum(amount) as total
        from ledger_entry group by merchant_id, livemode, asset, account
      ) e using (merchant_id, livemode, asset, account)
      where coalesce(b.balance, 0) <> coalesce(e.total, 0)`,
  },
  {
    name: 'received_is_the_sum',
    rule: 'what every day brought is the sum of the deposits that became final on it, less those taken back',
    sql: `select merchant_id, day || ' ' || asset as subject,
        'the day says ' || coalesce(r.amount::text, 'nothing') || ' worth ' || coalesce(r.usd_cents::text, 'nothing')
          || ' cents and the entries ' || coalesce(e.amount, 0) || ' worth ' || coalesce(e.usd_cents, 0) as detail
      from received_by_day r full join (
        select merchant_id, livemode, (created_at at time zone 'UTC')::date as day, asset,
          sum(amount) as amount, sum(sign(amount) * usd_cents) as usd_cents
        from (
          select e.merchant_id, e.livemode, e.created_at, e.asset, -sum(e.amount) as amount, coalesce(t.usd_cents, 0) as usd_cents
          from ledger_entry e join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
          where e.account in ('chain', 'pending') and t.kind in ('deposit', 'deposit_void')
          group by e.merchant_id, e.livemode, e.transfer_id, e.created_at, e.asset, t.usd_cents
        ) moved group by 1, 2, 3, 4
      ) e using (merchant_id, livemode, day, asset)
      where coalesce(r.amount, 0) <> coalesce(e.amount, 0) or coalesce(r.usd_cents, 0) <> coalesce(e.usd_cents, 0)`,
  },
  {
    name: 'balance_is_not_negative',
    rule: 'no account but the chain, the shortfall and the fees is below zero, and no shortfall above it',
    sql: `select merchant_id, asset || ' ' || account as subject, 'stands at ' || sum(amount) as detail
      from ledger_entry where account not in ('chain', 'fees')
      group by merchant_id, livemode, asset, account
      having case account when 'shortfall' then sum(amount) > 0 else sum(amount) < 0 end`,
  },
  {
    name: 'fees_below_zero_were_paid_out',
    rule: 'fees are below zero only by what was paid out of them: what was kept of payments never is',
    sql: `select e.merchant_id, e.asset || ' fees' as subject, 'what was kept stands at ' || sum(e.amount) as detail
      from ledger_entry e join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
      where e.account = 'fees' and t.kind not in ('payout', 'payout_return')
      group by e.merchant_id, e.livemode, e.asset having sum(e.amount) < 0`,
  },
  {
    name: 'shortfall_is_repaid_first',
    rule: 'nothing is available while there is a shortfall',
    sql: `select merchant_id, asset || ' shortfall' as subject,
        'stands at ' || s.balance || ' while ' || a.balance || ' is available' as detail
      from (select * from ledger_balance where account = 'shortfall' and balance < 0) s
      join (select * from ledger_balance where account = 'available' and balance > 0) a
        using (merchant_id, livemode, asset)`,
  },
  {
    name: 'shortfall_has_its_cause',
    rule: 'every shortfall was booked with what took the money back, and every repayment with what brought money',
    sql: `select l.merchant_id, l.id as subject, 'there is no ledger transfer that it belongs to' as detail
      from ledger_transfer l
      where l.kind in ('shortfall', 'shortfall_repaid') and not exists (
        select from ledger_transfer t where t.merchant_id = l.merchant_id and t.livemode = l.livemode
          and t.id = regexp_replace(l.id, ':(shortfall|repaid)$', '') and t.transaction_id = l.transaction_id and t.id <> l.id)`,
  },
  {
    name: 'transfer_has_its_postings',
    rule: 'every transfer has as many postings as it says, numbered from 1',
    sql: `select t.merchant_id, t.id as subject,
        'has ' || t.ledger_postings || ' postings and the ledger ' || coalesce(l.postings, 0) as detail
      from transfer t left join (
        select merchant_id, payment_id, count(number) as postings, min(number) as first, max(number) as last
        from (select merchant_id, payment_id, ${postingNumber('id')} as number from ledger_transfer
          where kind in ('deposit', 'deposit_void')) posting
        group by merchant_id, payment_id
      ) l on l.merchant_id = t.merchant_id and l.payment_id = t.id
      where coalesce(l.postings, 0) <> t.ledger_postings
        or t.ledger_postings > 0 and (l.first <> 1 or l.last <> t.ledger_postings)`,
  },
  {
    name: 'transfer_stands_in_its_bucket',
    rule: 'the postings of every transfer leave its whole amount in the bucket it is in, once',
    sql: `select t.merchant_id, t.id as subject,
        'belongs into ' || t.ledger_bucket || ' and the ledger has ' || coalesce(e.chain, 0) || ' in chain, ' ||
          coalesce(e.pending, 0) || ' in pending, ' || coalesce(e.suspense, 0) || ' in suspense, ' ||
          coalesce(e.available, 0) || ' in available' ||
          case when e.elsewhere then ', and something in another account' else '' end as detail
      from transfer t left join (
        select l.merchant_id, l.payment_id, e.asset,
          sum(e.amount) filter (where e.account = 'chain') as chain,
          sum(e.amount) filter (where e.account = 'pending') as pending,
          sum(e.amount) filter (where e.account = 'suspense') as suspense,
          sum(e.amount) filter (where e.account = 'available') as available,
          bool_or(e.account not in ('chain', 'pending', 'suspense', 'available')) as elsewhere
        from ledger_transfer l join ledger_entry e on e.merchant_id = l.merchant_id and e.transfer_id = l.id
        where l.kind in ('deposit', 'deposit_void')
        group by l.merchant_id, l.payment_id, e.asset
      ) e on e.merchant_id = t.merchant_id and e.payment_id = t.id and e.asset = t.asset
      where t.ledger_bucket not in ('none', 'pending', 'suspense', 'available') or e.elsewhere
        or coalesce(e.chain, 0) <> case t.ledger_bucket when 'none' then 0 else -t.amount end
        or coalesce(e.pending, 0) <> case t.ledger_bucket when 'pending' then t.amount else 0 end
        or coalesce(e.suspense, 0) <> case t.ledger_bucket when 'suspense' then t.amount else 0 end
        or coalesce(e.available, 0) <> case t.ledger_bucket when 'available' then t.amount else 0 end`,
  },
  {
    name: 'service_fee_is_as_agreed',
    rule: 'the operator keeps of every available payment what its invoice or deposit account says, and of nothing else',
    sql: `select t.merchant_id, t.id as subject, coalesce(f.total, 0) || ' is kept and ' || t.agreed || ' was agreed' as detail
      from (
        select t.merchant_id, t.id, t.asset,
          case when t.ledger_bucket = 'available' then div(t.amount * i.service_fee_bps, 10000) else 0 end as agreed
        from (${FEES_AGREED}) i join transfer t on t.merchant_id = i.merchant_id and t.invoice_id = i.id
      ) t left join (
        select l.merchant_id, l.payment_id, e.asset, sum(e.amount) as total
        from ledger_transfer l join ledger_entry e on e.merchant_id = l.merchant_id and e.transfer_id = l.id
        where l.kind in ('service_fee', 'service_fee_return') and e.account = 'fees'
        group by l.merchant_id, l.payment_id, e.asset
      ) f on f.merchant_id = t.merchant_id and f.payment_id = t.id and f.asset = t.asset
      where coalesce(f.total, 0) <> t.agreed
      union all
      select l.merchant_id, l.id, 'is kept and nothing was agreed' from ledger_transfer l
      where l.kind in ('service_fee', 'service_fee_return') and not exists (
        select from (${FEES_AGREED}) i where i.merchant_id = l.merchant_id and i.id = l.invoice_id
          and i.livemode = l.livemode)`,
  },
  {
    name: 'posting_has_its_transfer',
    rule: 'every posting of a deposit stands for a transfer and has a number',
    sql: `select l.merchant_id, l.id as subject, 'no transfer of this name is known' as detail from ledger_transfer l
      where l.kind in ('deposit', 'deposit_void') and not exists (
        select from transfer t where t.merchant_id = l.merchant_id and t.id = l.payment_id
          and t.livemode = l.livemode and t.invoice_id = l.invoice_id
          and ${POSTING_PREFIX} || ${postingNumber('l.id')} = l.id)`,
  },
]
