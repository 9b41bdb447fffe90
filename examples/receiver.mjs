// A webhook receiver with nothing but Node's own modules: node examples/receiver.mjs whsec_…
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const [secret = '', port = '4000'] = process.argv.slice(2)
// Anybody can sign with an empty key.
if (!secret.startsWith('whsec_')) throw new Error('usage: node examples/receiver.mjs whsec_… [port]')
const BODY_BYTES_MAX = 1024 * 1024

function verify(header, body) {
  // Exactly one time, one signature or more, and nothing else: whoever knocks may send anything.
  if (!/^t=\d{1,15}(,v1=[0-9a-f]{64}){1,16}$/.test(header)) return false
  const [time, ...digests] = header.split(',').map((part) => part.slice(part.indexOf('=') + 1))
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return digests.some((digest) => timingSafeEqual(Buffer.from(digest, 'hex'), expected))
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
}

createServer((request, response) => {
  // A sender that goes away in the middle must not take the receiver with it.
  answer(request, response).catch((error) => {
    console.log(`refused: ${error.message}`)
    response.destroy()
  })
}).listen(Number(port), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`))
