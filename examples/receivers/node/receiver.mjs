// A webhook receiver with Node's own modules and `pg`:
//   DATABASE_URL=postgresql://… WEBHOOK_SECRETS=whsec_… PORT=4000 node receiver.mjs
// During a rotation WEBHOOK_SECRETS holds both secrets, separated by a comma.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import pg from 'pg'

const TOLERANCE_SECONDS = 300
const BODY_BYTES_MAX = 1024 * 1024
const SCHEMA_VERSION = 1
const EXCEPTIONS = ['partially_paid', 'overpaid', 'manual_review']

const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(',').filter((secret) => secret !== '')
if (secrets.length === 0) throw new Error('WEBHOOK_SECRETS is empty')
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
pool.on('error', (error) => console.error(`an idle connection was lost: ${error.message}`))

/** The request is not Paylink's, or is not to be handled: an HTTP status and a reason for our own log. */
class Refused extends Error {
  constructor(status, reason) {
    super(reason)
    this.status = status
  }
}

/** Whether the header holds one fresh time, and a signature of these bytes by one of our secrets. */
function isSigned(header, body) {
  if (!/^t=(0|[1-9]\d{0,14})(,v1=[0-9a-f]{64}){1,16}$/.test(header)) return false
  const [time, ...digests] = header.split(',').map((part) => part.slice(part.indexOf('=') + 1))
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(time)) > TOLERANCE_SECONDS) return false
  let signed = false
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
    // Every pair is compared, so that the time taken says nothing of which fits.
    for (const digest of digests) signed = timingSafeEqual(Buffer.from(digest, 'hex'), expected) || signed
  }
  return signed
}

/** The event of a genuine request. `body` is the raw bytes: JSON written anew has another signature. */
function readEvent(headers, body) {
  if (!isSigned(headers['paylink-signature'] ?? '', body))
    throw new Refused(400, 'the signature does not verify')
  const event = JSON.parse(body.toString('utf8'))
  if (
    headers['paylink-event-id'] !== event.id ||
    headers['paylink-version'] !== String(event.schema_version)
  ) {
    throw new Refused(400, 'the headers are not those of the body')
  }
  // 503: Paylink sends it again until this program knows the version.
  if (event.schema_version !== SCHEMA_VERSION)
    throw new Refused(503, `ALERT: schema version ${event.schema_version}`)
  return event
}

/** Stores the event and does what it calls for, in one transaction. */
async function handle(event, body) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const stored = await client.query(
      `insert into paylink_event (id, event_type, resource_id, sequence, body)
       values ($1, $2, $3, $4, $5) on conflict (id) do nothing`,
      [event.id, event.event_type, event.resource_id, event.sequence, body.toString('utf8')],
    )
    const isNew = stored.rowCount === 1
    if (isNew && event.event_type.startsWith('invoice.')) await updateOrder(client, event)
    await client.query('commit')
    return isNew ? 'stored' : 'repeated'
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Judges the order by all that is known of the invoice now: events arrive in any order. */
async function updateOrder(client, event) {
  const reference = event.data.order_reference ?? event.data.external_reference
  // The lock comes before the reading: of two events at once, the second sees what the first stored.
  const order = (
    await client.query(
      `select reference, status, livemode, checkout_session_id, invoice_id, usd_amount::text as usd_amount
       from shop_order where reference = $1 for update`,
      [reference],
    )
  ).rows[0]
  if (order === undefined) return console.error(`no order ${reference} for event ${event.id}`)
  const newest = (
    await client.query(
      'select body from paylink_event where resource_id = $1 order by sequence desc limit 1',
      [event.resource_id],
    )
  ).rows[0]
  const invoice = JSON.parse(newest.body).data
  const paid = await client.query(
    `select 1 from paylink_event where resource_id = $1 and event_type = 'invoice.paid' limit 1`,
    [event.resource_id],
  )
  if (order.status === 'fulfilled') {
    // More money after the goods have left, or value that left the chain: people decide.
    const problem = invoice.review_reason ?? (invoice.status === 'paid' ? null : invoice.status)
    if (problem !== null) await setOrder(client, order, 'fulfilled', `after fulfilment: ${problem}`)
  } else if (invoice.status === 'paid' && paid.rowCount === 1) {
    const differences = await compare(client, order, invoice)
    if (differences.length === 0) await setOrder(client, order, 'fulfilled', invoice.review_reason)
    else await setOrder(client, order, 'exception', `differs: ${differences.join(', ')}`)
  } else if (EXCEPTIONS.includes(invoice.status)) {
    await setOrder(client, order, 'exception', invoice.status)
  }
}

/** What of a paid invoice is not as the shop's own order has it. Nothing is fulfilled while there is anything. */
async function compare(client, order, invoice) {
  const bySession = order.checkout_session_id !== null
  // Amounts are decimal strings: PostgreSQL compares them exactly.
  const { rows } = await client.query(
    `select $1::text = any(assets) as asset, $2::numeric >= $3::numeric as amount from shop_order where reference = $4`,
    [invoice.asset, invoice.amount_confirmed, invoice.amount, order.reference],
  )
  const agreements = {
    order_reference: invoice.order_reference === (bySession ? order.reference : null),
    external_reference: bySession || invoice.external_reference === order.reference,
    checkout_session_id: invoice.checkout_session_id === order.checkout_session_id,
    invoice_id: bySession || invoice.id === order.invoice_id,
    expected_usd_amount: invoice.expected_usd_amount === order.usd_amount,
    livemode: invoice.livemode === order.livemode,
    asset: rows[0].asset,
    amount_confirmed: rows[0].amount,
  }
  return Object.keys(agreements).filter((name) => !agreements[name])
}

/** The order's row is the shop's word: whatever packs and ships reads it from here. */
async function setOrder(client, order, status, note) {
  await client.query(
    `update shop_order set status = $2, note = $3,
       fulfilled_at = case when $2 = 'fulfilled' then coalesce(fulfilled_at, now()) end
     where reference = $1`,
    [order.reference, status, note],
  )
}

async function readBody(request) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) throw new Refused(413, 'the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function answer(request, response) {
  if (request.method !== 'POST' || request.url !== '/webhooks') throw new Refused(404, 'no such page')
  const body = await readBody(request)
  const event = readEvent(request.headers, body)
  if (event.event_type === 'webhook.endpoint_verification') {
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ challenge: event.data.challenge }))
  }
  // 2xx only now, when the event is committed: Paylink will not send it again.
  const outcome = await handle(event, body)
  console.log(`${outcome} ${event.event_type} ${event.id}`)
  response.writeHead(200).end()
}

createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error instanceof Refused ? error.message : error)
    response.writeHead(error instanceof Refused ? error.status : 500, { connection: 'close' }).end()
  })
}).listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => console.log('listening'))
