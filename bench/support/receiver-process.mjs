// A receiver of webhooks in a process of its own, as light as can be, so that a figure is the sender's: it answers
// 200 to all, keeps what came, and looks at it when asked. Driven by messages of its parent.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:net'

const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = Buffer.from('content-length: ')
const TOLERANCE_SECONDS = 300

/** What came since the last reset: raw requests, and when the first byte of each was read. */
let requests = []
let wanted = Number.POSITIVE_INFINITY

const server = createServer({ noDelay: true }, (socket) => {
  let rest = null
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    const at = process.hrtime.bigint()
    let bytes = rest === null ? chunk : Buffer.concat([rest, chunk])
    rest = null
    while (bytes.length > 0) {
      const end = endOfRequest(bytes)
      if (end < 0 || end > bytes.length) {
        rest = bytes
        return
      }
      requests.push({ bytes: bytes.subarray(0, end), at })
      socket.write(ANSWER)
      bytes = bytes.subarray(end)
      if (requests.length === wanted) process.send({ kind: 'reached' })
    }
  })
})

function endOfRequest(bytes) {
  const head = bytes.indexOf(HEAD_END)
  if (head < 0) return -1
  const length = bytes.indexOf(LENGTH)
  return head + HEAD_END.length + Number.parseInt(bytes.latin1Slice(length + LENGTH.length, head), 10)
}

/** What a receiver does with node:crypto alone (spec §6.4). The path names the endpoint. */
function look({ bytes, at }, secrets) {
  const headEnd = bytes.indexOf(HEAD_END)
  const head = bytes.latin1Slice(0, headEnd)
  const body = bytes.subarray(headEnd + HEAD_END.length)
  const path = head.slice('POST '.length, head.indexOf(' HTTP/1.1'))
  const header = (name) => head.match(new RegExp(`\r\n${name}: ([^\r]*)`, 'i'))?.[1] ?? ''
  const [, time, given] = header('paylink-signature').match(/^t=(\d+),v1=([0-9a-f]{64})$/) ?? []
  const secret = secrets[path.slice(path.lastIndexOf('/') + 1)] ?? ''
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  const fresh = Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS
  const verified =
    given !== undefined && fresh && secret !== '' && timingSafeEqual(expected, Buffer.from(given, 'hex'))
  return { id: header('paylink-event-id'), verified, atNs: String(at) }
}

process.on('message', (message) => {
  if (message.kind === 'reset') {
    requests = []
    wanted = message.wanted
    process.send({ kind: 'ready' })
    return
  }
  const events = requests.map((request) => look(request, message.secrets))
  process.send({ kind: 'report', events })
})
server.listen(0, '127.0.0.1', () => process.send({ kind: 'listening', port: server.address().port }))
process.once('disconnect', () => process.exit(0))
