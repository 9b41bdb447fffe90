import { COINS } from '../core/assets.ts'
import { weightOf } from '../db/ledger/token-weights.ts'
import type { AuditCheck } from './audit-check.ts'

/**
 * What events say of money against the rows that the chain audit and the ledger's checks hold to the truth. A payment's row
 * stays for ever, whatever becomes of it on the chain: an event can be compared with it for as long as the event is kept.
 * The amount that a contract pays may be another in another block; the ledger keeps each.
 */

const UNITS = Object.entries(COINS)
  .map(([asset, { decimals }]) => `when '${asset}' then ${10n ** BigInt(decimals)}`)
  .join(' ')
/** An amount of an event in base units. */
export const units = (amount: string, asset: string): string =>
  `(${amount})::numeric * (case ${asset} ${UNITS} end)`

/** Final at some time: two postings at least, the first when it came into a block. */
export const WAS_FINAL = `(f.status = 'confirmed' or f.ledger_postings >= 2)`
const isSum = (row: string): string => `(${row}.transfers <> 1 or ${row}.is_block_sum)`

const POSTING = `'dep:' || f.network || ':' || f.txid || ':' || f.output_index || ':'`
/** The amounts with which a payment was posted, from first to last. By primary key. */
export const POSTED = `from generate_series(1, f.ledger_postings) n join ledger_entry l on l.merchant_id = f.merchant_id
  and l.transfer_id = any (array[${POSTING} || n, ${POSTING} || f.invoice_id || ':' || n])`
/** The most that a payment ever brought: one whose amount has changed was posted, taken back and posted again. */
const MOST = `case when f.ledger_postings <= 2 or ${isSum('f')} then f.amount
  else greatest(f.amount, (select max(l.amount) ${POSTED})) end`

/** By transfer_by_invoice. */
const OF_INVOICE = `from transfer f where f.merchant_id = e.merchant_id and f.invoice_id = e.resource_id`

const asks = (asset: string): string => `(i.asset = ${asset} or i.also_accepts ? ${asset})`
/**
 * Of an event's invoice, in its coin, or its token on each network that counts, or every dollar token at its rate: the most that
 * came, of that what was final, and what a base unit of the event's asset counts for. Both by primary key.
 */
const CAME = `(select bool_or(${isSum('f')}) as in_sums, coalesce(sum(${MOST} * ${weightOf('f.asset')}), 0) as most,
    coalesce(sum(${MOST} * ${weightOf('f.asset')}) filter (where ${WAS_FINAL}), 0) as final, min(${weightOf('e.asset')}) as unit
  from (select * from invoice where invoice.merchant_id = e.merchant_id and invoice.id = e.resource_id offset 0) i
  left join transfer f on f.merchant_id = e.merchant_id and f.invoice_id = e.resource_id
    and (f.asset = e.asset or ${asks('e.asset')} and ${asks('f.asset')})) came`

/** Of every event of a part its data, read once; a check reads one page of bodies after another. What is no object says nothing. */
const EVENTS_OF = (kind: 'invoice' | 'payout' | 'deposit'): string =>
  `(select body.merchant_id, body.id, body.resource_id, body.event_type, body.sequence, data.*
    from (select merchant_id, id, resource_id, event_type, sequence, convert_from(body, 'UTF8')::json -> 'data' as data
      from event_part where event_type like '${kind}.%' offset 0) body
    cross join lateral json_to_record(case json_typeof(body.data) when 'object' then body.data else '{}' end) as data(
      status text, asset text, amount text, usd_amount text, price json, amount_detected text, amount_confirmed text, payments json,
      expiry_reading json, destination text, txid text, submitted_at text, confirmed_at text, failure_code text,
      network text, address text, customer_reference text)) e`
export const depositEvents = EVENTS_OF('deposit')

/** A time of a payout, as exactly as events have it. */
const exactly = (column: string): string => `date_trunc('milliseconds', p.${column})`

/** What is wrong with an invoice's event, asked of each by itself: what it is compared with is found by an index. */
const OF_INVOICES = [
  {
    name: 'event_tells_recorded_payments',
    rule: 'every payment that an invoice event reports was recorded, with its amount, and was final where it says so',
    detail: `'reports a payment that was not so'`,
    // A subquery that keeps its order is asked for each payment; joined, as many as may be in a list are planned for.
    broken: `exists (select from json_array_elements(e.payments) p
      where not exists (select ${OF_INVOICE} and f.id = p ->> 'id' and f.txid = p ->> 'txid'
        and f.asset = p ->> 'asset' and f.output_index = (p ->> 'output_index')::numeric
        and (${isSum('f')} or f.amount = ${units(`p ->> 'amount'`, `p ->> 'asset'`)}
          or exists (select ${POSTED} and l.amount = ${units(`p ->> 'amount'`, `p ->> 'asset'`)}))
        and (p ->> 'status' <> 'confirmed' or ${WAS_FINAL}) offset 0))`,
  },
  {
    name: 'event_tells_no_more_than_came',
    rule: 'no invoice event reports more money than came to its invoice',
    detail: `'reports ' || e.amount_detected || ', of which ' || e.amount_confirmed || ' is final, and less came'`,
    // A sum of many payments may have been more before a reorganisation took some of them. Of dollars, what is less than a
    // base unit of the event's asset is rounded, of one coin nothing is.
    broken: `exists (select from ${CAME} where came.in_sums is not true
      and (${units('e.amount_detected', 'e.asset')} * came.unit >= came.most + came.unit
        or ${units('e.amount_confirmed', 'e.asset')} * came.unit >= came.final + came.unit))`,
  },
  {
    name: 'event_tells_what_was_settled',
    rule: 'an event says that an invoice is paid where it was, for its amount in its coin, and every event its price',
    detail: `concat('says ', e.status, ', and the invoice was not')`,
    // A release before there were prices may tell of an invoice while a newer one starts: its events have none.
    broken: `exists (select from invoice i where i.merchant_id = e.merchant_id and i.id = e.resource_id and (
      e.usd_amount::numeric * 100 is distinct from i.usd_cents
      or e.price is not null and (e.price ->> 'amount' is distinct from i.price_amount
        or e.price ->> 'currency' is distinct from i.price_currency)
      or e.event_type = 'invoice.expired' and e.expiry_reading ->> 'tip_hash' is distinct from i.expiry_reading ->> 'tipHash'
      or (e.event_type in ('invoice.paid', 'invoice.overpaid') or e.status in ('paid', 'overpaid')) and (
        i.paid_at is null or e.asset <> i.asset or ${units('e.amount', 'i.asset')} <> i.amount
        or not exists (select from invoice_resolution r
          where r.merchant_id = i.merchant_id and r.invoice_id = i.id and r.resolution = 'accept')
        and i.accepted_at is null and ${units('e.amount_confirmed', 'i.asset')}
          < i.amount - ceil(i.tolerance_under / ${weightOf('i.asset')}))) offset 0)`,
  },
] as const

/** Taking a body apart costs more than all that is asked of it: each is read once for all three. */
const ANY_OF_INVOICES = `select e.merchant_id, e.id as subject, 'is wrong' as detail from ${EVENTS_OF('invoice')}
  where ${OF_INVOICES.map(({ broken }) => broken).join(' or ')}`

/** Events against the money that they report. */
export const EVENT_FACT_CHECKS: readonly AuditCheck[] = [
  ...OF_INVOICES.map(({ name, rule, detail, broken }) => ({
    name,
    rule,
    sql: `select e.merchant_id, e.id as subject, ${detail} as detail from ${EVENTS_OF('invoice')} where ${broken}`,
    inParts: true as const,
    unless: ANY_OF_INVOICES,
  })),
  {
    name: 'event_tells_of_its_payout',
    inParts: true,
    rule: "a payout event reports its payout's coin, amount, destination and times, and of a transaction that was signed for it",
    // When it was approved is not compared: what was not yet signed is approved again after a restore.
    sql: `select e.merchant_id, e.id as subject, concat('reports ', e.amount, ' to ', e.destination) as detail
      from ${EVENTS_OF('payout')} left join payout p on p.merchant_id = e.merchant_id and p.id = e.resource_id
      where p.id is null or e.asset is distinct from p.asset or e.destination is distinct from p.destination
        or ${units('e.amount', 'p.asset')} is distinct from p.amount
        or e.status = 'confirmed' and p.status not in ('submitted', 'confirmed')
        or e.status in ('failed', 'rejected') and p.status <> e.status or e.event_type is distinct from 'payout.' || e.status
        or e.failure_code is distinct from p.failure_code and e.failure_code is not null
        or e.submitted_at::timestamptz is distinct from ${exactly('submitted_at')} and e.submitted_at is not null
        or e.confirmed_at::timestamptz is distinct from ${exactly('confirmed_at')} and e.confirmed_at is not null
        or e.txid is not null and not exists (select from payout_transaction t
          where t.merchant_id = p.merchant_id and t.payout_id = p.id and t.txid = e.txid)`,
  },
]
