// A webhook receiver with nothing but Node's own modules: node examples/receiver.mjs whsec_…
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const secret = process.argv[2] ?? ''
const port = Number(process.argv[3] ?? 4000)

function verify(header, body) {
  const pairs = header.split(',').map((part) => part.split('='))
  const times = pairs.filter(([name]) => name === 't').map(([, value]) => value)
  if (times.length !== 1 || Math.abs(Date.now() / 1000 - Number(times[0])) > 300) return false
  const expected = createHmac('sha256', secret).update(`${times[0]}.`).update(body).digest()
  return pairs
    .filter(([name]) => name === 'v1')
    .map(([, value]) => Buffer.from(value, 'hex'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
}

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  // The raw bytes are what is signed: verify before parsing.
  const body = Buffer.concat(chunks)
  if (!verify(request.headers['paylink-signature'] ?? '', body)) {
    console.log('refused: the signature does not verify')
    response.writeHead(401).end()
    return
  }
  const event = JSON.parse(body.toString('utf8'))
  if (event.event_type === 'webhook.endpoint_verification') {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ challenge: event.data.challenge }))
    return
  }
  // A shop writes the event's id into a unique column, in the transaction that changes the order.
  console.log(`verified ${event.event_type.padEnd(24)} #${event.sequence} ${event.data.status}`)
  response.writeHead(200).end()
}).listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`))
