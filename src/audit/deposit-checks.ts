import { ASSET_IDS } from '../core/assets.ts'
import type { AuditCheck } from './audit-check.ts'
import { depositEvents, POSTED, units, WAS_FINAL } from './event-facts.ts'

const ASSETS = ASSET_IDS.map((id) => `'${id}'`).join(', ')

/** Permanent addresses and what came to them. What is true of every transfer, the checks of invoices and the ledger look at. */
export const DEPOSIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'address_has_its_receiver',
    rule: 'every deposit address and transfer belongs to an invoice or a deposit account of its merchant and mode',
    sql: `select r.merchant_id, r.id as subject, 'belongs to ' || r.invoice_id || ', which is not known' as detail
      from (select merchant_id, id, livemode, invoice_id from transfer
        union all select merchant_id, keyspace || '/' || idx, livemode, invoice_id from deposit_address) r
      left join invoice i on i.merchant_id = r.merchant_id and i.id = r.invoice_id and i.livemode = r.livemode
      left join deposit_account a on a.merchant_id = r.merchant_id and a.id = r.invoice_id and a.livemode = r.livemode
      where i.id is null and a.id is null`,
  },
  {
    name: 'deposit_is_its_payment',
    rule: 'every payment to a permanent address that is no dust is one deposit, and every deposit is such a payment',
    sql: `select coalesce(d.merchant_id, t.merchant_id) as merchant_id, coalesce(d.id, t.id) as subject,
        case when d.id is null then 'is no deposit' when t.id is null then 'has no payment'
          else 'is of another account than its payment' end as detail
      from deposit d full join (select * from transfer where invoice_id like 'da\\_%') t
        on t.merchant_id = d.merchant_id and t.id = d.payment_id
      where d.id is null and not t.dust or t.id is null
        or d.account_id <> t.invoice_id or d.livemode <> t.livemode`,
  },
  {
    name: 'deposit_follows_its_facts',
    rule: 'every payment to a permanent address stands in the bucket, and its deposit was announced, as its facts give',
    sql: `select t.merchant_id, t.id as subject, concat('is ', t.status, ' in ', t.ledger_bucket, ', announced as ', d.announced) as detail
      from transfer t left join deposit d on d.merchant_id = t.merchant_id and d.payment_id = t.id
        and d.id = 'dep_' || substr(t.id, 5)
      where t.invoice_id like 'da\\_%' and (
        t.ledger_bucket <> case when t.dust or t.status not in ('confirming', 'confirmed') then 'none'
          when t.status = 'confirming' then 'pending'
          when t.review_reason is not null or t.asset not in (${ASSETS}) then 'suspense' else 'available' end
        or t.resolution is not null
        or coalesce(d.announced, 'none') <> all (case
          when d.id is null or t.review_reason is not null then array['none']
          when t.dust or t.status in ('replaced', 'reorged') then array['none', 'reversed']
          when t.status = 'confirmed' then array['confirmed'] else array['detected', 'reversed'] end))`,
  },
  {
    name: 'deposit_event_matches_its_deposit',
    inParts: true,
    rule: "every deposit event reports its payment's coin, amount, transaction, customer and address, and its last one what was announced",
    sql: `select e.merchant_id, e.id as subject, concat('reports ', e.amount, ' ', e.asset, ' in ', e.txid) as detail
      from ${depositEvents} left join deposit d on d.merchant_id = e.merchant_id and d.id = e.resource_id
      left join transfer f on f.merchant_id = d.merchant_id and f.id = d.payment_id
      left join deposit_account a on a.merchant_id = d.merchant_id and a.id = d.account_id
      where f.id is null or a.id is null or e.asset is distinct from f.asset or e.txid is distinct from f.txid
        or e.network is distinct from f.network or e.customer_reference is distinct from a.customer_reference
        or ${units('e.amount', 'f.asset')} is distinct from f.amount
          and not exists (select ${POSTED} and l.amount = ${units('e.amount', 'f.asset')})
        or e.event_type = 'deposit.confirmed' and not ${WAS_FINAL}
        or d.event_count = e.sequence and e.event_type is distinct from 'deposit.' || d.announced
        or not exists (select from deposit_address x where x.merchant_id = a.merchant_id and x.invoice_id = a.id
          and x.address = e.address)`,
  },
]
