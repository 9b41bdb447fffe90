// Tells Odoo's BTCPay plugin to look at an order again, with nothing but Node's own modules:
//   WEBHOOK_SECRET=whsec_… node examples/odoo-relay.mjs https://odoo.shop.example [port]
// The plugin checks no signature, so this receiver does, and passes on an invoice's id and order alone. The plugin then
// asks Paylink what became of them. Paylink sends an event again until Odoo took it: nothing is kept here.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const [odoo = '', port = '4000'] = process.argv.slice(2)
const secret = process.env.WEBHOOK_SECRET ?? ''
// Anybody can sign with an empty key.
if (!secret.startsWith('whsec_') || !URL.canParse(odoo))
  throw new Error(
    'usage: WEBHOOK_SECRET=whsec_… node examples/odoo-relay.mjs https://odoo.shop.example [port]',
  )
const NOTIFY_URL = new URL('/payment/btcpay/ipn', odoo)
const BODY_BYTES_MAX = 1024 * 1024
/** Paylink waits ten seconds for an answer. */
const ODOO_MS_MAX = 8_000

function verify(header, body) {
  // Exactly one time, one signature or more, and nothing else: whoever knocks may send anything.
  if (!/^t=\d{1,15}(,v1=[0-9a-f]{64}){1,16}$/.test(header)) return false
  const [time, ...digests] = header.split(',').map((part) => part.slice(part.indexOf('=') + 1))
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return digests.some((digest) => timingSafeEqual(Buffer.from(digest, 'hex'), expected))
}

/** Odoo answers 200 to what failed, too, with an `error` in the body. */
async function tellOdoo({ event_type: name, data: { id, external_reference: orderId } }) {
  const answer = await fetch(NOTIFY_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ event: { name }, data: { id, orderId } }),
    redirect: 'error',
    signal: AbortSignal.timeout(ODOO_MS_MAX),
  })
  const said = await answer.json()
  if (!answer.ok || said?.error !== undefined) throw new Error(`Odoo answered ${answer.status}`)
}

async function answer(request, response) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  // The raw bytes are what is signed: verify before parsing.
  const body = Buffer.concat(chunks)
  if (!verify(request.headers['paylink-signature'] ?? '', body)) return void response.writeHead(401).end()
  const event = JSON.parse(body.toString('utf8'))
  if (event.event_type === 'webhook.endpoint_verification') {
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ challenge: event.data.challenge }))
  }
  const isOrders =
    event.event_type.startsWith('invoice.') && typeof event.data.external_reference === 'string'
  if (isOrders) await tellOdoo(event)
  console.log(`${isOrders ? 'passed on' : 'not for Odoo'}: ${event.event_type} of ${event.data.id}`)
  response.writeHead(200).end()
}

createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.log(`not taken: ${error.message}`)
    response.writeHead(502).end()
  })
}).listen(Number(port), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`))
