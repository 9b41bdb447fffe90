import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

export type DnsServer = {
  /** `address:port`, as a resolver takes it. */
  readonly address: string
  /** Names and record types that were asked for, in order. */
  readonly queries: { readonly name: string; readonly type: 'A' | 'AAAA' }[]
  /** All addresses of a name; null leaves the query unanswered. May change between queries. */
  answer: (name: string) => readonly string[] | null
  close(): Promise<void>
}

const HEADER_BYTES = 12
const TYPE_A = 1
const TYPE_AAAA = 28
const FLAGS_ANSWER = 0x8180

/** A DNS server on the loopback (RFC 1035) that says what the test wants of A and AAAA records, with a TTL of 0. */
export async function startDnsServer(answer: DnsServer['answer']): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const state = { answer, queries: [] as DnsServer['queries'][number][] }
  socket.on('message', (query, from) => {
    const { name, end } = readName(query)
    const type = query.readUInt16BE(end)
    state.queries.push({ name, type: type === TYPE_AAAA ? 'AAAA' : 'A' })
    const addresses = state.answer(name)
    if (addresses === null) return
    const matching = addresses.filter((address) => isIPv6(address) === (type === TYPE_AAAA))
    const asked = type === TYPE_A || type === TYPE_AAAA ? matching : []
    const header = Buffer.alloc(HEADER_BYTES)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(FLAGS_ANSWER, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(asked.length, 6)
    socket.send(
      Buffer.concat([header, query.subarray(HEADER_BYTES, end + 4), ...asked.map(record)]),
      from.port,
    )
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const { port } = socket.address() as AddressInfo
  return Object.assign(state, {
    address: `127.0.0.1:${port}`,
    close: () => new Promise<void>((resolve) => socket.close(resolve)),
  })
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** One answer: a pointer to the question's name, type, class IN, TTL 0, the address. */
function record(address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray())
  const head = Buffer.alloc(HEADER_BYTES)
  head.writeUInt16BE(0xc000 + HEADER_BYTES, 0)
  head.writeUInt16BE(data.length === 4 ? TYPE_A : TYPE_AAAA, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
