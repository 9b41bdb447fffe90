import type { AuditCheck } from './audit-check.ts'

/** Invoices against their addresses and transfers, as far as a query can tell; the rest is audit-invoices.ts. */
export const INVOICE_CHECKS: readonly AuditCheck[] = [
  {
    name: 'invoice_has_its_address',
    rule: "every invoice's address is one of its own deposit addresses",
    sql: `select i.merchant_id, i.id as subject, i.address || ' was not given to it' as detail from invoice i
      where not exists (select from deposit_address d where d.merchant_id = i.merchant_id
        and d.invoice_id = i.id and d.livemode = i.livemode and d.address = i.address)`,
  },
  {
    name: 'address_is_given_once',
    rule: 'every deposit address was derived, is marked as taken, and is the one that was derived',
    sql: `select d.merchant_id, d.keyspace || '/' || d.idx as subject,
        case when a.idx is null then 'was never derived'
             when a.assigned_at is null then 'is still in the pool'
             else 'is not the address that was derived' end as detail
      from deposit_address d left join address a using (keyspace, idx)
      where a.idx is null or a.assigned_at is null or a.program <> d.program or a.address <> d.address`,
  },
  {
    name: 'taken_address_has_its_invoice',
    rule: 'every address that was taken from the pool belongs to an invoice',
    sql: `select null::text as merchant_id, a.keyspace || '/' || a.idx as subject, 'was taken for no invoice' as detail
      from address a left join deposit_address d using (keyspace, idx)
      where a.assigned_at is not null and d.idx is null`,
  },
  {
    name: 'index_is_beyond_every_address',
    rule: 'no address stands at or beyond the next index of its keyspace',
    sql: `select null::text as merchant_id, k.keyspace as subject,
        'the next index is ' || k.next_index || ' and address ' || max(a.idx) || ' exists' as detail
      from account_key k join address a using (keyspace)
      group by k.keyspace, k.next_index having max(a.idx) >= k.next_index`,
  },
  {
    name: 'transfer_is_of_its_mode',
    rule: "every transfer is of its invoice's mode and of a network of that mode",
    sql: `select t.merchant_id, t.id as subject, 'is of ' || t.network || ' and of the wrong mode' as detail
      from transfer t join invoice i on i.merchant_id = t.merchant_id and i.id = t.invoice_id
      where t.livemode <> i.livemode or t.livemode <> (t.network like '%-live')`,
  },
  {
    name: 'transfer_is_where_it_says',
    rule: 'a confirming or confirmed transfer has its block, a confirmed one its time, and any other has none',
    sql: `select merchant_id, id as subject, 'is ' || status || ' with block ' || coalesce(block_height::text, 'none') as detail
      from transfer
      where (status in ('confirming', 'confirmed')) <> (block_hash is not null)
        or (block_hash is null) <> (block_height is null)
        or (status = 'confirmed') <> (confirmed_at is not null)`,
  },
  {
    name: 'transfer_is_its_parts',
    rule: 'a transfer that sums several is worth what they are, and as many as it says',
    sql: `select t.merchant_id, t.id as subject,
        'says ' || t.transfers || ' worth ' || t.amount || ' and sums ' || p.count || ' worth ' || p.amount as detail
      from transfer t join (
        select merchant_id, transfer_id, count(*) as count, sum(amount) as amount from transfer_part
        group by merchant_id, transfer_id
      ) p on p.merchant_id = t.merchant_id and p.transfer_id = t.id
      where t.parts is not null and (t.transfers <> p.count or t.amount <> p.amount)
      union all
      select merchant_id, id, 'sums ' || transfers || ' and none is known' from transfer
      where (transfers <> 1 or is_block_sum) and parts is null`,
  },
  {
    name: 'session_and_invoice_agree',
    rule: 'a checkout session and the invoice made of it name each other, with one order, total, link and mode',
    sql: `select coalesce(s.merchant_id, i.merchant_id) as merchant_id, coalesce(s.id, i.checkout_session_id) as subject,
        'and invoice ' || coalesce(i.id, s.invoice_id, 'none') || ' do not agree' as detail
      from (select * from checkout_session where invoice_id is not null) s
      full join (select * from invoice where checkout_session_id is not null) i
        on i.merchant_id = s.merchant_id and i.id = s.invoice_id
      where s.id is null or i.id is null or i.checkout_session_id <> s.id or i.livemode <> s.livemode
        or i.order_reference is distinct from s.order_reference or i.usd_cents is distinct from s.usd_cents
        or i.payment_link_id is distinct from s.payment_link_id`,
  },
]
