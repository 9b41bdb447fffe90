import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { XPublisher } from 'zeromq'
import { ProviderCalls } from '../../src/reader/provider-calls.ts'
import { readCalls } from '../../src/reader/read-calls.ts'
import { createAskedCache, SharedAnswers } from '../../src/reader/shared-answers.ts'
import { momentMsOf } from '../../src/reader/shared-methods.ts'
import { freePort } from '../support/free-port.ts'
import { startReader, type TestReader } from '../support/reader.ts'
import { type ScriptedCall, type ScriptedNode, startScriptedNode } from '../support/scripted-node.ts'
import { until } from '../support/until.ts'

const HASH = `0x${'ab'.repeat(32)}`
const BIG = 8 * 1024 * 1024
const call = (method: string, params: readonly unknown[] = [], id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const blockByHash = (hash = HASH) => call('eth_getBlockByHash', [hash, true])

let node: ScriptedNode
let reader: TestReader
beforeEach(async () => {
  // How old an answer is, tests say: each question and each answer takes a millisecond.
  vi.useFakeTimers({ toFake: ['performance'] })
  node = await startScriptedNode()
  node.answer(counting)
  reader = await startReader('ethereum-live', [node.url])
})
afterEach(async () => {
  await reader.stop()
  await node.close()
  vi.useRealTimers()
})
const pass = (ms: number) => vi.advanceTimersByTime(ms)

let answers = 0
/** Each answer of the node has a number of its own. */
function counting(calls: readonly ScriptedCall[], response: { end(text: string): unknown }): void {
  pass(1)
  const texts = calls.map(({ id }) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"${++answers}"}`)
  response.end(texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`)
}

async function ask(cell: string, body: unknown, signal?: AbortSignal) {
  pass(1)
  const { origin, pathname, username, password } = new URL(reader.url(cell))
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const response = await fetch(`${origin}${pathname}`, {
    method: 'POST',
    headers: { authorization },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
  return { status: response.status, text: await response.text() }
}
const resultOf = async (cell: string, body: unknown): Promise<unknown> =>
  JSON.parse((await ask(cell, body)).text).result

test('an answer is passed on byte for byte but for the id of who asks, kept or not', async () => {
  const result =
    '{ "lamports" : 18446744073709551615, "amount":0.10000000, "e":1E+2,"id":7,"\\u00e9":"\\"}," }'
  node.answer(([asked], response) =>
    response.end(`{"result" :${result} , "error":null,"id": ${JSON.stringify(asked?.id)} }\n`),
  )
  for (const id of [7, 'seven', 'a "quoted" \\ id', null])
    for (const method of ['eth_getBlockByHash', 'eth_getTransactionByHash']) {
      const { status, text } = await ask(
        `cell-${JSON.stringify(id)}`.replace(/\W/g, ''),
        call(method, [HASH, false], id),
      )
      expect([status, text]).toEqual([
        200,
        `{"result" :${result} , "error":null,"id": ${JSON.stringify(id)} }\n`,
      ])
    }
  expect(node.requests).toHaveLength(1 + 4)
})

test('what is named by a block’s hash is asked for once by many cells, and again by a cell that asks again', async () => {
  const cells = Array.from({ length: 9 }, (_, index) => `cell-${index}`)
  const first = await Promise.all(cells.map((cell) => resultOf(cell, blockByHash())))
  expect(new Set(first).size).toBe(1)
  expect(node.requests).toHaveLength(1)
  pass(10_000)
  expect(await resultOf('late', blockByHash())).toBe(first[0])
  const again = await resultOf('late', blockByHash())
  expect(again).not.toBe(first[0])
  // Who did not believe the first answer had a reason.
  expect(await resultOf('later', blockByHash())).toBe(again)
  expect(await resultOf('later', blockByHash(`0x${'cd'.repeat(32)}`))).not.toBe(again)
  expect(node.requests).toHaveLength(3)
})

test('nothing is kept of a null, an error, an empty list or a trace that lacks a part', async () => {
  const traces = call('debug_traceBlockByHash', [HASH, {}])
  const cases = [
    [blockByHash(), '"result":null'],
    [blockByHash(), '"error":{"code":-32000,"message":"unknown block"}'],
    [call('eth_blockNumber'), '"result":null'],
    [call('eth_getLogs', [{ blockHash: HASH }]), '"result":[]'],
    [traces, '"result":[{"txHash":"0x1","error":"execution timeout"}]'],
  ] as const
  for (const [asked, answer] of cases) {
    node.answer(([{ id } = call('')], response) => response.end(`{"jsonrpc":"2.0","id":${id},${answer}}`))
    const before = node.requests.length
    for (const cell of ['a', 'b', 'c']) expect((await ask(cell, asked)).text).toContain(answer)
    expect(node.requests).toHaveLength(before + 3)
  }
})

test('what is true for a moment is shared for a part of the pause between two looks, and no longer', async () => {
  const first = await resultOf('a', call('eth_blockNumber'))
  expect(await resultOf('b', call('eth_blockNumber'))).toBe(first)
  expect(await resultOf('a', call('eth_blockNumber'))).not.toBe(first)
  // Ethereum is looked at every two seconds.
  pass(1_300)
  const before = node.requests.length
  expect(await resultOf('c', call('eth_blockNumber'))).not.toBe(first)
  expect(node.requests).toHaveLength(before + 1)
})

test('a cell that has seen more of the chain never gets an older answer', async () => {
  const old = await resultOf('a', call('eth_blockNumber'))
  await resultOf('b', call('eth_getBalance', [HASH, 'latest']))
  const newer = await resultOf('b', call('eth_blockNumber'))
  expect(newer).not.toBe(old)
  // Who has seen nothing since follows from where the others were.
  expect(await resultOf('c', call('eth_blockNumber'))).toBe(old)
  expect(await resultOf('c', call('eth_blockNumber'))).toBe(newer)
  expect(node.requests).toHaveLength(3)
})

test('calls that a cell makes side by side are shared together', async () => {
  const calls = new ProviderCalls(node.url, {
    setting: 'LIVE_ETHEREUM_RPC_URL',
    connections: 2,
    onFailure: () => {},
  })
  const cache = createAskedCache(BIG)
  const shared = new SharedAnswers({ calls, cache, prefix: '', momentMs: momentMsOf('ethereum-live') })
  const stays = new AbortController().signal
  const pair = (cell: string) =>
    Promise.all(
      ['eth_blockNumber', 'eth_syncing'].map(async (method) => {
        const read = readCalls(Buffer.from(JSON.stringify(call(method))), 'ethereum-live')
        const [answer] = await shared.ask(cell, read.calls ?? [], stays)
        return answer?.bytes.toString()
      }),
    )
  try {
    const first = await pair('a')
    pass(1)
    expect(await pair('b')).toEqual(first)
    expect(node.requests).toHaveLength(2)
  } finally {
    await calls.close()
  }
})

test('what is sent, asked by one, or unknown goes to the node each time, as it was written', async () => {
  const bodies = [
    '{"id":9007199254740993, "method":"eth_sendRawTransaction","params":["0x01"],"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":["0x1","pending"]}',
    '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest"]}',
    '{"jsonrpc":"2.0","id":1,"method":"anything","params":{"x":1e0}}',
    '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByHash","params":["latest",false]}',
    '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[]}',
    '[{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"},{"jsonrpc":"2.0","id":2,"method":"eth_gasPrice"}]',
  ]
  for (const body of bodies) for (const cell of ['a', 'b']) await ask(cell, body)
  expect(node.requests).toEqual(bodies.flatMap((body) => [body, body]))
})

test('of a batch only what is not there is asked for, in one request', async () => {
  const hashes = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}`)
  const known = await resultOf('a', blockByHash(hashes[1]))
  const batch = hashes.map((hash, index) => ({ ...blockByHash(hash), id: `id-${index}` }))
  const { status, text } = await ask('b', batch)
  const answered = JSON.parse(text) as { id: string; result: string }[]
  expect([status, answered.map(({ id }) => id)]).toEqual([200, ['id-0', 'id-1', 'id-2']])
  expect(answered[1]?.result).toBe(known)
  expect(new Set(answered.map(({ result }) => result)).size).toBe(3)
  expect(node.requests.map((body) => [JSON.parse(body)].flat().length)).toEqual([1, 2])
  expect(JSON.parse((await ask('c', batch)).text)).toEqual(answered)
  expect(node.requests).toHaveLength(2)
})

test('a batch that the node answers with less, or with none, fails as a whole', async () => {
  const batch = [1, 2].map((digit) => blockByHash(`0x${String(digit).repeat(64)}`))
  node.answer(([first], response) => response.end(`[{"id":${first?.id},"result":{}}]`))
  expect(await ask('a', batch)).toEqual({ status: 502, text: 'the node left out an answer of several\n' })
  node.answer((_calls, response) => response.writeHead(400).end('one call at a time'))
  expect(await ask('a', batch)).toEqual({ status: 400, text: 'one call at a time' })
})

test('what a node says that is no answer is passed on, and nobody else gets it', async () => {
  for (const garbage of [
    '',
    'no json',
    '<html>',
    '{"id":1',
    '{"result":{}}',
    '{"id":"other","result":{}}',
    '[]',
  ]) {
    node.answer((_calls, response) => response.writeHead(200).end(garbage))
    const before = node.requests.length
    for (const cell of ['a', 'b'])
      expect(await ask(cell, blockByHash())).toEqual({ status: 200, text: garbage })
    expect(node.requests).toHaveLength(before + 2)
  }
  node.answer((_calls, response) => response.writeHead(429).end('slower'))
  expect(await ask('a', blockByHash())).toEqual({ status: 429, text: 'slower' })
})

test('a node that hangs up, in the middle too, or is gone, is a 502 that says so', async () => {
  node.answer((_calls, response) => response.destroy())
  expect((await ask('a', blockByHash())).status).toBe(502)
  node.answer((_calls, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{"id":1,"result":', () => response.destroy())
  })
  expect((await ask('a', blockByHash())).status).toBe(502)
  await node.close()
  const { status, text } = await ask('a', call('eth_sendRawTransaction', ['0x01']))
  expect([status, text]).toEqual([
    502,
    expect.stringMatching(/refuses the connection.*LIVE_ETHEREUM_RPC_URL/),
  ])
})

test('a call that hangs holds up nothing else, and is given up with the last cell that waits for it', async () => {
  node.answer((calls, response) => {
    if (calls[0]?.method === 'eth_blockNumber') counting(calls, response)
  })
  const stop = new AbortController()
  const waiting = ['a', 'b'].map((cell) => ask(cell, blockByHash(), stop.signal).catch(() => 'given up'))
  await until(() => node.requests.length === 1, { what: 'the node was asked' })
  expect(await resultOf('a', call('eth_blockNumber'))).toBe(String(answers))
  expect(node.given()).toBe(0)
  stop.abort()
  expect(await Promise.all(waiting)).toEqual(['given up', 'given up'])
  await until(() => node.given() === 1, { what: 'the call was given up' })
  // Not the same call again: it may never be answered.
  node.answer(counting)
  expect(await resultOf('a', blockByHash())).toBe(String(answers))
})

test('a request that no node can answer gets one error that says what is wrong', async () => {
  const { origin, pathname } = new URL(reader.url('a'))
  const errorOf = ({ status, text }: { status: number; text: string }) => [status, text.trimEnd()]
  expect(errorOf(await ask('a', '{"method"'))).toEqual([400, 'the reader: the request is no JSON'])
  for (const body of ['7', 'null', '{}', '[7]', '{"method":7}', '[[]]'])
    expect(errorOf(await ask('a', body))).toEqual([400, expect.stringMatching(/a call is an object/)])
  for (const body of [[], Array(1_001).fill(blockByHash())])
    expect(errorOf(await ask('a', body))).toEqual([400, expect.stringMatching(/a batch has 1 to 1000 calls/)])
  expect(errorOf(await ask('a', `"${'x'.repeat(2 * 1024 * 1024)}"`))).toEqual([
    413,
    expect.stringMatching(/at most 2097152 bytes/),
  ])
  const raw = async (path: string, method: string, authorization: string) => {
    const response = await fetch(`${origin}${path}`, { method, headers: { authorization } })
    return { status: response.status, text: await response.text() }
  }
  const right = `Basic ${Buffer.from(`a:${new URL(reader.url('a')).password}`).toString('base64')}`
  expect(errorOf(await raw('/ethereum-live/1', 'POST', right))).toEqual([
    404,
    expect.stringContaining('use one of /ethereum-live/0'),
  ])
  expect(errorOf(await raw(pathname, 'GET', right))).toEqual([405, expect.stringContaining('POST')])
  for (const wrong of ['', 'Basic', 'Basic !', `Basic ${Buffer.from('a:wrong').toString('base64')}`])
    expect(errorOf(await raw(pathname, 'POST', wrong))).toEqual([
      401,
      expect.stringContaining('READER_TOKEN'),
    ])
  expect(node.requests).toEqual([])
  expect((await fetch(`${origin}/healthz`)).status).toBe(200)
})

test('a flood of one cell leaves the others their answers', async () => {
  node.answer((calls, response) => {
    if (calls[0]?.method === 'eth_blockNumber') counting(calls, response)
  })
  const stop = new AbortController()
  const hash = (index: number) => `0x${index.toString(16).padStart(64, '0')}`
  const statuses: number[] = []
  for (let index = 0; index < 80; index++)
    ask('a', blockByHash(hash(index)), stop.signal).then(
      ({ status }) => statuses.push(status),
      () => {},
    )
  await until(() => statuses.length === 80 - 64, { what: 'some are refused' })
  expect(new Set(statuses)).toEqual(new Set([429]))
  stop.abort()
  expect(await resultOf('b', call('eth_blockNumber'))).toBe(String(answers))
  // Who hung up has nothing open any more.
  node.answer(counting)
  await until(async () => (await ask('a', blockByHash())).status === 200, { what: 'it is answered again' })
})

test('after a notification of the node no cell gets an answer from before it', async () => {
  const publisher = new XPublisher({ linger: 0 })
  const zmqUrl = `tcp://127.0.0.1:${await freePort()}`
  await publisher.bind(zmqUrl)
  await reader.stop()
  reader = await startReader('bitcoin-live', [node.url], { LIVE_BITCOIN_ZMQ_URL: zmqUrl })
  try {
    await publisher.receive()
    const before = await resultOf('a', call('getbestblockhash'))
    expect(await resultOf('b', call('getbestblockhash'))).toBe(before)
    for (const topic of ['hashblock', 'rawtx', 'hashtx', 'sequence']) await publisher.send([topic, 'x'])
    let cells = 0
    const isForgotten = async () => (await resultOf(`c-${++cells}`, call('getbestblockhash'))) !== before
    await until(isForgotten, { what: 'the notification is heard' })
    // By age it would have been good for longer.
    expect(cells).toBeLessThan(50)
  } finally {
    publisher.close()
  }
})

test('cells that read slowly hold no answer twice, and what is more than the cache is not kept', async () => {
  await reader.stop()
  reader = await startReader('ethereum-live', [node.url], { READER_CACHE_MB: '9' })
  const block = 'x'.repeat(BIG)
  node.answer(([asked], response) => response.end(`{"id":${asked?.id},"result":"${block}"}`))
  const { pathname, username, password } = new URL(reader.url('a'))
  const body = JSON.stringify(blockByHash())
  await ask('first', body)
  const before = process.memoryUsage().arrayBuffers
  const sockets = Array.from({ length: 40 }, (_, index) => {
    const authorization = Buffer.from(`slow-${index}${username}:${password}`).toString('base64')
    const socket = connect(reader.port, '127.0.0.1').on('error', () => {})
    socket
      .pause()
      .write(
        `POST ${pathname} HTTP/1.1\r\nhost: x\r\nauthorization: Basic ${authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
    return socket
  })
  await until(async () => (await reader.metric('paylink_reader_shared_answers')) === 40, {
    what: 'all are answered',
  })
  expect(node.requests).toHaveLength(1)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * BIG)
  for (const socket of sockets) socket.destroy()
  for (let other = 0; other < 3; other++) await ask('first', blockByHash(`0x${String(other).repeat(64)}`))
  expect(await reader.metric('paylink_reader_cache_bytes')).toBeLessThan(9 * 1024 * 1024)
})

test('without a token it listens for this machine alone, and with no node not at all', async () => {
  const port = String(await freePort())
  const open = (settings: { readonly [name: string]: string }) =>
    startReader('ethereum-live', [node.url], { READER_PORT: port, ...settings })
  await expect(open({ READER_HOST: '0.0.0.0', READER_TOKEN: '' })).rejects.toThrow(
    /set READER_TOKEN, or READER_HOST/,
  )
  await expect(startReader('ethereum-live', [], {})).rejects.toThrow(/the reader has no node/)
  await expect(open({ READER_PORT: String(reader.port) })).rejects.toThrow(/cannot listen on port/)
})
