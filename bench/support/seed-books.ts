import pg from 'pg'
import type { TestDatabase } from '../../test/support/database.ts'
import { withoutIndexes } from './without-indexes.ts'

/** So many of each merchant's invoices; one merchant has a large shop's worth. */
const INVOICES_OF_A_MERCHANT = 10_000
const AMOUNT = 100_000n

/**
 * Paid invoices with their address, payment, postings, balances and events, whole as the auditor wants them, or their
 * ledger alone, written by one statement a table, with neither triggers nor foreign keys. Gives the seconds that it took.
 */
export async function seedBooks(
  database: TestDatabase,
  invoices: number,
  what: 'books' | 'ledger' = 'books',
): Promise<number> {
  const startedAt = performance.now()
  const client = new pg.Client({ connectionString: database.ownerUrl })
  await client.connect()
  try {
    await client.query('begin; set local session_replication_role = replica')
    await withoutIndexes(client, TABLES, async () => {
      for (const [about, statement] of STATEMENTS) {
        if (what === 'books' || about === 'ledger') await client.query(statement(invoices))
      }
    })
    await client.query('commit')
    // As the server does by itself soon after rows were written.
    await client.query('vacuum (analyze)')
  } finally {
    await client.end()
  }
  return (performance.now() - startedAt) / 1_000
}

/** Those that get the most rows. */
const TABLES = [
  'address',
  'invoice',
  'deposit_address',
  'transfer',
  'ledger_transfer',
  'ledger_entry',
  'event',
  'event_awaiting',
]

const NUMBERED = (
  invoices: number,
): string => `(select n, 'mer_' || lpad((n / ${INVOICES_OF_A_MERCHANT})::text, 26, '0') as merchant,
    'inv_' || lpad(n::text, 26, '0') as invoice, md5(n::text) || md5('x' || n::text) as txid,
    timestamptz '2026-11-01T00:00:00Z' + n * interval '1 second' as at
  from generate_series(0, ${invoices - 1}) as n) one`

const EVENTS = `(values (1, 'invoice.created', 'awaiting_payment', null, '0', '0'),
    (2, 'invoice.payment_detected', 'payment_detected', 'detected', '0.001', '0'),
    (3, 'invoice.confirming', 'confirming', 'confirming', '0.001', '0'),
    (4, 'invoice.paid', 'paid', 'confirmed', '0.001', '0.001'))
    as milestone (sequence, type, status, payment_status, detected, confirmed)`

/** What the audit compares with the rows, and as many bytes as a body has beside. */
const EVENT_DATA = `json_build_object('id', invoice, 'status', status, 'usd_amount', '10.00', 'asset', 'LTC',
    'amount', '0.001', 'amount_detected', detected, 'amount_confirmed', confirmed, 'address', 'rltc1q' || left(txid, 38),
    'payments', case when payment_status is null then json_build_array() else json_build_array(json_build_object(
      'id', 'pay_' || lpad(n::text, 26, '0'), 'txid', txid, 'output_index', 0, 'asset', 'LTC', 'amount', '0.001',
      'status', payment_status)) end,
    'filler', repeat('x', 700))`

const STATEMENTS: readonly [about: 'books' | 'ledger', sql: (invoices: number) => string][] = [
  [
    'ledger',
    (count) => `insert into merchant (id, name, email, created_at)
    select distinct merchant, 'Shop', 'owner@shop.example', now() from ${NUMBERED(count)}`,
  ],
  [
    'books',
    (count) =>
      `insert into account_key (keyspace, path, next_index, created_at) values ('litecoin-test', 'm', ${count}, now())`,
  ],
  [
    'books',
    (count) => `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
    select 'litecoin-test', n, decode(left(txid, 40), 'hex'), 'rltc1q' || left(txid, 38), 'regtest', at, at from ${NUMBERED(count)}`,
  ],
  [
    'books',
    (
      count,
    ) => `insert into invoice (merchant_id, id, livemode, status, asset, amount, usd_cents, amount_source, rate,
      tolerance_under, tolerance_over, confirmations, allow_asset_selection, address, created_at, expires_at, paid_at,
      announced, event_count)
    select merchant, invoice, false, 'paid', 'LTC', ${AMOUNT}, 1000, 'merchant',
      '{"usdPerUnit":"100","quotedAt":"2026-11-01T00:00:00.000Z","sources":[]}', 0, 0, '{"LTC":1}', false,
      'rltc1q' || left(txid, 38), at, at + interval '1 hour', at,
      '{"detected":true,"paid":true,"overpaid":false,"expired":false,"reorged":false,"partialSums":[]}', 4
    from ${NUMBERED(count)}`,
  ],
  [
    'books',
    (
      count,
    ) => `insert into deposit_address (merchant_id, keyspace, idx, livemode, invoice_id, program, address, created_at)
    select merchant, 'litecoin-test', n, false, invoice, decode(left(txid, 40), 'hex'), 'rltc1q' || left(txid, 38), at
    from ${NUMBERED(count)}`,
  ],
  [
    'books',
    (
      count,
    ) => `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount,
      status, first_seen_at, detected_at, confirmed_at, block_height, block_hash, block_time, confirmations_required,
      late, dust, announced_confirming, announced_review, ledger_bucket, ledger_postings)
    select merchant, 'pay_' || lpad(n::text, 26, '0'), false, invoice, 'litecoin-test', txid, 0, 'LTC', ${AMOUNT},
      'confirmed', at, at, at, n / 20, md5((n / 20)::text) || md5((n / 20)::text), at, 1, false, false, true, false,
      'available', 2
    from ${NUMBERED(count)}`,
  ],
  [
    'ledger',
    (
      count,
    ) => `insert into ledger_transfer (merchant_id, id, livemode, kind, invoice_id, payment_id, usd_cents, created_at)
    select merchant, 'dep:litecoin-test:' || txid || ':0:' || number, false, 'deposit', invoice,
      'pay_' || lpad(n::text, 26, '0'), 1000, at
    from ${NUMBERED(count)}, generate_series(1, 2) as number`,
  ],
  [
    'ledger',
    (
      count,
    ) => `insert into ledger_entry (merchant_id, transfer_id, account, asset, livemode, amount, created_at, position, balance_after)
    select merchant, 'dep:litecoin-test:' || txid || ':0:' || number, account, 'LTC', false, amount * ${AMOUNT}, at,
      case when place is null then null else 3 * (n % ${INVOICES_OF_A_MERCHANT}) + place end,
      case when place is null then null when account = 'available' then (n % ${INVOICES_OF_A_MERCHANT} + 1) * ${AMOUNT}
        when amount > 0 then ${AMOUNT} else 0 end
    from ${NUMBERED(count)}, (values (1, 'chain', -1, null::int), (1, 'pending', 1, 1), (2, 'pending', -1, 2),
      (2, 'available', 1, 3)) as side (number, account, amount, place)`,
  ],
  [
    'ledger',
    () => `insert into ledger_balance (merchant_id, livemode, asset, account, balance)
    select merchant_id, livemode, asset, account, sum(amount) from ledger_entry group by 1, 2, 3, 4`,
  ],
  [
    'ledger',
    (count) => `insert into received_by_day (merchant_id, livemode, day, asset, amount, usd_cents)
    select merchant, false, (at at time zone 'UTC')::date, 'LTC', count(*) * ${AMOUNT}, count(*) * 1000
    from ${NUMBERED(count)} group by merchant, (at at time zone 'UTC')::date`,
  ],
  [
    'books',
    (
      count,
    ) => `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
    select merchant, 'evt_' || lpad((4 * n + sequence)::text, 26, '0'), false, type, invoice, sequence,
      convert_to('{"id":"evt_' || lpad((4 * n + sequence)::text, 26, '0') || '","schema_version":1,"event_type":"' || type ||
        '","merchant_id":"' || merchant || '","resource_id":"' || invoice ||
        '","livemode":false,"created_at":"2026-11-01T00:00:00.000Z","sequence":' || sequence ||
        ',"request_id":null,"data":' || ${EVENT_DATA} || '}', 'UTF8'), at
    from ${NUMBERED(count)}, ${EVENTS}`,
  ],
  [
    'books',
    () => `insert into event_awaiting (merchant_id, event_id, livemode, reason, since)
    select merchant_id, id, livemode, 'no_endpoint', created_at from event`,
  ],
]
