import { ASSET_IDS, COINS, keyspaceOfNetwork, networkOf } from '../core/assets.ts'
import { DOLLARS_ARE_RIGHT } from '../db/ledger/token-weights.ts'
import type { AuditCheck } from './audit-check.ts'

/** Every kind of money with the chain that it is on; rows for SQL. */
const COIN_CHAINS = Object.values(COINS)
  .map(({ id, chain }) => `('${id}', '${chain}')`)
  .join(', ')

/** Of which account the addresses of a coin are. */
const keyspaceOf = (asset: string): string =>
  `case i.livemode::text || ${asset} ${[true, false]
    .flatMap((live) =>
      ASSET_IDS.map((id) => `when '${live}${id}' then '${keyspaceOfNetwork(networkOf(id, live))}'`),
    )
    .join(' ')} end`

/** Invoices against their addresses and transfers, as far as a query can tell; the rest is audit-invoices.ts. */
export const INVOICE_CHECKS: readonly AuditCheck[] = [
  {
    name: 'invoice_has_its_address',
    rule: "every invoice's address is one of its own deposit addresses, for its coin, and it has one for all that it accepts",
    sql: `select i.merchant_id, i.id as subject, i.address || ' was not given to it' as detail from invoice i
      where not exists (select from deposit_address d where d.merchant_id = i.merchant_id
        and d.invoice_id = i.id and d.livemode = i.livemode and d.address = i.address
        and d.keyspace = ${keyspaceOf('i.asset')})
      union all
      select i.merchant_id, i.id, 'accepts ' || also.asset || ' and has no address for it'
      from invoice i cross join lateral jsonb_array_elements_text(i.also_accepts) as also (asset)
      where not exists (select from deposit_address d where d.merchant_id = i.merchant_id
        and d.invoice_id = i.id and d.livemode = i.livemode and d.keyspace = ${keyspaceOf('also.asset')})`,
  },
  {
    name: 'review_has_its_answer',
    rule: 'every review that was answered was answered by a merchant’s decision',
    sql: `select t.merchant_id, t.id as subject, 'is ' || t.resolution || ', and nobody decided so' as detail
      from transfer t where t.resolution is not null and not exists (
        select from invoice_resolution r where r.merchant_id = t.merchant_id and r.invoice_id = t.invoice_id
          and r.resolution = case t.resolution when 'accepted' then 'accept' else 'dismiss' end)
      union all
      select i.merchant_id, i.id, 'its reorganisation is dismissed, and nobody decided so'
      from invoice i where i.reorg_dismissed and not exists (
        select from invoice_resolution r where r.merchant_id = i.merchant_id and r.invoice_id = i.id
          and r.resolution = 'dismiss')`,
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
    rule: 'every address that was taken from the pool belongs to an invoice or a deposit account',
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
    name: 'transfer_is_on_its_chain',
    rule: 'every transfer is of a network that has its coin, and none is left on another chain than was followed',
    // Only a test network is ever pointed to another chain.
    sql: `select t.merchant_id, t.id as subject, 'is ' || t.asset || ' on ' || t.network
          || coalesce(', left on ' || t.left_on_chain, '') as detail
      from transfer t left join network_state n on n.network = t.network
      where not exists (select from (values ${COIN_CHAINS}) coin (asset, chain)
          where coin.asset = t.asset and t.network in (coin.chain || '-live', coin.chain || '-test'))
        or t.left_on_chain is not null and (t.livemode or t.left_on_chain = n.chain)`,
  },
  {
    name: 'acceptance_was_decided',
    rule: 'every invoice that counts as accepted was accepted by its merchant, with a payment that came to it',
    sql: `select i.merchant_id, i.id as subject, 'counts as accepted, and ' || case when exists (select from transfer t
          where t.merchant_id = i.merchant_id and t.invoice_id = i.id and t.resolution = 'accepted' and not t.dust)
        then 'nobody decided so' else 'no payment of it was' end as detail
      from invoice i where i.accepted_at is not null and not (
        exists (select from invoice_resolution r
          where r.merchant_id = i.merchant_id and r.invoice_id = i.id and r.resolution = 'accept')
        and exists (select from transfer t
          where t.merchant_id = i.merchant_id and t.invoice_id = i.id and t.resolution = 'accepted' and not t.dust))`,
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
    name: 'price_is_its_dollars',
    rule: 'the dollars of every price are what it is worth at its stored rate, rounded up to the cent',
    // That both are numbers, the table's constraint makes sure of.
    sql: `select merchant_id, id as subject,
        concat('asks for ', usd_cents, ' cents for ', price_amount, ' ', price_currency, ' at ', price_rate ->> 'usdPerUnit') as detail
      from invoice where price_amount is not null
        and usd_cents <> ceil(price_amount::numeric * (price_rate ->> 'usdPerUnit')::numeric * 100)`,
  },
  {
    name: 'dollars_are_their_rates',
    rule: 'every token of an invoice in dollars counts near a dollar, and its amount is its dollars at its own rate, rounded up',
    sql: `select merchant_id, id as subject,
        concat('asks for ', amount, ' of ', asset, ' for ', usd_cents, ' cents at ', left(token_rates::text, 200)) as detail
      from invoice i where token_rates is not null and not coalesce(${DOLLARS_ARE_RIGHT}, false)`,
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

/** Attempts are kept this long (spec §6.6); an older event cannot be shown to have been delivered. */
const ATTEMPTS_KEPT_DAYS = 30
/** Days that delivered events are kept (delivery/upkeep): of what was made since then none is forgotten. */
const EVENTS_KEPT_DAYS = 90
const KEPT_SINCE = `now() - interval '${EVENTS_KEPT_DAYS} days'`
/** What numbers its events. */
const COUNTING = `select merchant_id, id, created_at, event_count from invoice
  union all select merchant_id, id, created_at, event_count from payout
  union all select merchant_id, id, created_at, event_count from deposit`

/**
 * The bytes of an event begin as core/event/envelope writes them; between the two parts stand the 24 characters of a time.
 * The first is put together once for each event, and its length counted by its pieces, for that is most of the check's work.
 */
const HEAD = [
  `'{"id":"'`,
  'id',
  `'","schema_version":'`,
  'schema_version',
  `',"event_type":"'`,
  'event_type',
  `'","merchant_id":"'`,
  'merchant_id',
  `'","resource_id":"'`,
  'resource_id',
  `'","livemode":'`,
  'livemode::text',
  `',"created_at":"'`,
] as const
const REST = `'","sequence":' || sequence || ','`

/** Events against what they report, and against their deliveries. */
export const EVENT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'events_have_no_gap',
    rule: 'the events of every resource are numbered 1, 2, 3 without a gap',
    // Of a resource that is old, the first events may be forgotten.
    // By the index event_by_resource alone: the events themselves, with their bodies, are the most there is to read.
    sql: `select merchant_id, resource_id as subject,
        events || ' events, numbered ' || first || ' to ' || last as detail
      from (select merchant_id, resource_id, count(*) as events, min(sequence) as first, max(sequence) as last
        from event group by merchant_id, resource_id) numbered
      where events <> last - first + 1 or first <> 1 and not exists (
        select from (${COUNTING}) r where r.merchant_id = numbered.merchant_id and r.id = numbered.resource_id
          and r.created_at <= ${KEPT_SINCE})`,
  },
  {
    name: 'events_are_counted',
    rule: 'every invoice, payout and deposit knows how many events it had',
    sql: `select r.merchant_id, r.id as subject,
        'says ' || r.event_count || ' and the last event is ' || coalesce(e.last, 0) as detail
      from (${COUNTING}) r left join (
        select merchant_id, resource_id, max(sequence) as last from event group by merchant_id, resource_id
      ) e on e.merchant_id = r.merchant_id and e.resource_id = r.id
      where r.event_count <> coalesce(e.last, 0) and (e.last is not null or r.created_at > ${KEPT_SINCE})`,
  },
  {
    name: 'milestone_is_told_once',
    rule: 'created, payment_detected, paid, overpaid and expired are emitted at most once, and where the invoice says so',
    sql: `select coalesce(emitted.merchant_id, i.merchant_id) as merchant_id, coalesce(resource_id, i.id) as subject,
        concat('emitted ', created, ', ', detected, ', ', paid, ', ', overpaid, ', ', expired, ' times, and says ', i.announced) as detail
      from (select merchant_id, resource_id,
          count(*) filter (where event_type = 'invoice.created') as created,
          count(*) filter (where event_type = 'invoice.payment_detected') as detected,
          count(*) filter (where event_type = 'invoice.paid') as paid,
          count(*) filter (where event_type = 'invoice.overpaid') as overpaid,
          count(*) filter (where event_type = 'invoice.expired') as expired
        from event group by merchant_id, resource_id) emitted
      full join (select merchant_id, id, announced, expired_at, expiry_reading from invoice where created_at > ${KEPT_SINCE}) i
        on i.merchant_id = emitted.merchant_id and i.id = resource_id
      where greatest(created, detected, paid, overpaid, expired) > 1 or i.expired_at is null and i.expiry_reading is not null
        or i.id is not null and (i.announced -> 'detected', i.announced -> 'paid', i.announced -> 'overpaid', i.announced -> 'expired')
          is distinct from (to_jsonb(coalesce(detected, 0) > 0), to_jsonb(coalesce(paid, 0) > 0),
            to_jsonb(coalesce(overpaid, 0) > 0), to_jsonb(coalesce(expired, 0) > 0))`,
  },
  {
    name: 'event_tells_of_an_invoice',
    rule: 'every invoice event is about an invoice of its merchant and mode',
    sql: `select e.merchant_id, e.id as subject, e.resource_id || ' is not known' as detail from event e
      where e.event_type like 'invoice.%' and not exists (
        select from invoice i where i.merchant_id = e.merchant_id and i.id = e.resource_id and i.livemode = e.livemode)`,
  },
  {
    name: 'event_body_is_its_own',
    inParts: true,
    rule: 'the bytes of every event carry its own id, type, merchant, resource, mode and number',
    sql: `select merchant_id, id as subject, 'its body is about something else' as detail from event_part
      where position(convert_to(concat(${HEAD.join(', ')}), 'UTF8') in body) <> 1
        or substring(body, ${HEAD.map((part) => `octet_length(${part}::text)`).join(' + ')} + 25,
          octet_length(${REST})) <> convert_to(${REST}, 'UTF8')`,
  },
  {
    name: 'event_shows_own_address',
    inParts: true,
    rule: 'the address that an invoice event shows was given to its invoice',
    sql: `select merchant_id, id as subject, 'shows an address that ' || resource_id || ' was not given' as detail
      from event_part where event_type like 'invoice.%' and not event_shows_own_address(merchant_id, resource_id, body)`,
  },
  {
    name: 'event_is_never_lost',
    rule: 'every event was delivered or superseded, is waiting to be delivered, or awaits recovery',
    // By the events' primary key alone; only of what is found so the events themselves are read.
    sql: `select merchant_id, e.id as subject, e.event_type || ' is neither delivered, nor waiting, nor awaiting recovery' as detail
      from (
        select merchant_id, id from event e
        where not exists (select from delivery d where d.merchant_id = e.merchant_id and d.event_id = e.id)
          and not exists (select from event_awaiting a where a.merchant_id = e.merchant_id and a.event_id = e.id)
          and not exists (select from attempt t where t.merchant_id = e.merchant_id and t.event_id = e.id
            and t.code in ('ok', 'superseded'))
      ) lost join event e using (merchant_id, id)
      where e.created_at > now() - interval '${ATTEMPTS_KEPT_DAYS} days'`,
  },
  {
    name: 'delivery_is_never_lost',
    rule: 'every event waits for, was tried at, or awaits recovery for each endpoint that subscribed when it was made',
    // An endpoint is verified anew when it is enabled again: events of before then awaited recovery.
    sql: `select e.merchant_id, e.id as subject, 'never came to ' || w.id as detail
      from webhook_endpoint w join event e on e.merchant_id = w.merchant_id and e.livemode = w.livemode
        and e.created_at > greatest(w.verified_at + interval '1 minute', now() - interval '${ATTEMPTS_KEPT_DAYS} days')
        and w.subscribed_events && array[e.event_type, '*']
      where w.status = 'enabled' and w.removed_at is null and w.verified_at is not null
        and not exists (select from delivery d where d.merchant_id = e.merchant_id and d.event_id = e.id
          and d.endpoint_id = w.id)
        and not exists (select from event_awaiting a where a.merchant_id = e.merchant_id and a.event_id = e.id)
        and not exists (select from attempt t where t.merchant_id = e.merchant_id and t.event_id = e.id
          and t.endpoint_id = w.id)`,
  },
  {
    name: 'delivery_is_of_its_mode',
    rule: 'every delivery takes an event to an endpoint of the same merchant and mode',
    sql: `select d.merchant_id, d.id as subject, 'leads from ' || d.event_id || ' to ' || d.endpoint_id as detail
      from delivery d
      left join event e on e.merchant_id = d.merchant_id and e.id = d.event_id and e.livemode = d.livemode
      left join webhook_endpoint w on w.merchant_id = d.merchant_id and w.id = d.endpoint_id and w.livemode = d.livemode
      where e.id is null or w.id is null`,
  },
]
