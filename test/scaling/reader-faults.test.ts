import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { EvmNode } from '../../src/chain/evm/evm-node.ts'
import { EvmRpc } from '../../src/chain/evm/evm-rpc.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import type { Network } from '../../src/core/assets.ts'
import { isRefused } from '../../src/payouts/broadcast/unless-refused.ts'
import { startReader, type TestReader } from '../support/reader.ts'
import { type ScriptedNode, startScriptedNode } from '../support/scripted-node.ts'
import { until } from '../support/until.ts'

const SETTING = 'LIVE_ETHEREUM_RPC_URL'
const hashOf = (index: number) => `0x${index.toString(16).padStart(64, '0')}`
const text = z.string()

let node: ScriptedNode
let reader: TestReader
let closes: (() => Promise<unknown>)[]
beforeEach(async () => {
  node = await startScriptedNode()
  closes = [node.close]
})
afterEach(async () => {
  for (const close of closes.reverse()) await close()
  vi.useRealTimers()
})

async function startFor(network: Network): Promise<void> {
  reader = await startReader(network, [node.url])
  closes.push(reader.stop)
}

function cell(name: string): EvmRpc {
  const rpc = new EvmRpc(reader.url(name), SETTING)
  closes.push(() => rpc.close())
  return rpc
}

for (const network of ['ethereum-live', 'litecoin-live', 'solana-live'] as const)
  test(`what the reader itself refuses on ${network} is no refusal of a node`, async () => {
    await startFor(network)
    const send = senderOf(network, reader.url('cell', 1))
    const error = await send().catch((thrown: unknown) => thrown)
    // Else a payout would be refused, a block too much to trace, and no other provider asked.
    expect(error).toBeInstanceOf(ChainUnavailable)
    expect(isRefused(error as Error)).toBe(false)
    expect(node.requests).toEqual([])
  })

function senderOf(network: Network, url: string): () => Promise<unknown> {
  if (network === 'solana-live') {
    const rpc = new SolanaRpc(url, SETTING)
    closes.push(() => rpc.close())
    return () => rpc.sendTransaction(new Uint8Array([1]))
  }
  const [rpc, method] =
    network === 'ethereum-live'
      ? ([new EvmRpc(url, SETTING), 'eth_sendRawTransaction'] as const)
      : ([new RpcClient(url, SETTING), 'sendrawtransaction'] as const)
  closes.push(() => rpc.close())
  return () => rpc.call(method, ['0x01'], text)
}

function requestOf(name: string, body: string): string {
  const { pathname, username, password } = new URL(reader.url(name))
  const authorization = Buffer.from(`${username}:${password}`).toString('base64')
  return `POST ${pathname} HTTP/1.1\r\nhost: x\r\nauthorization: Basic ${authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

test('a node that has lost a block is not said to know it, whoever was shown it before', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  await startFor('ethereum-live')
  const hash = hashOf(1)
  const header = { hash, parentHash: hashOf(0), number: '0x1', timestamp: '0x1', transactions: [] }
  const result = {
    ...header,
    receiptsRoot: hashOf(2),
    miner: `0x${'0'.repeat(40)}`,
    logsBloom: `0x${'0'.repeat(512)}`,
  }
  node.answer(([call], response) => response.end(JSON.stringify({ id: call?.id, result })))
  const nodes = ['a', 'b'].map((name) => new EvmNode(reader.url(name), SETTING))
  closes.push(...nodes.map((each) => () => each.rpc.close()))
  expect((await nodes[0]?.headerOf(hash))?.hash).toBe(hash)
  // As after a crash: a cell that comes back to it would follow it to an older chain.
  node.answer(([call], response) => response.end(JSON.stringify({ id: call?.id, result: null })))
  vi.advanceTimersByTime(2_000)
  expect(await nodes[1]?.headerOf(hash)).toBeNull()
})

test('a flood of one cell that the node never answers leaves the others their answers', async () => {
  await startFor('ethereum-live')
  node.answer(([call], response) => {
    if (call?.method === 'eth_blockNumber') response.end(JSON.stringify({ id: call.id, result: '0x1' }))
  })
  const floods = Array.from({ length: 8 }, () => cell('a'))
  const calls = floods.flatMap((rpc, flood) =>
    Array.from({ length: 8 }, (_, index) =>
      rpc.call('eth_getBlockByHash', [hashOf(8 * flood + index), true], text).catch(() => 'given up'),
    ),
  )
  await until(() => node.requests.length >= 16, { what: 'the node is flooded' })
  const hasty = new EvmRpc(reader.url('b'), SETTING, 10_000)
  closes.push(() => hasty.close())
  expect(await hasty.call('eth_blockNumber', [], text)).toBe('0x1')
  for (const rpc of floods) await rpc.close()
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['given up']))
})

test('one large answer on its way to many cells keeps no other cell from its own', async () => {
  await startFor('ethereum-live')
  const block = 'x'.repeat(32 * 1024 * 1024)
  node.answer(([call], response) => {
    const result = call?.method === 'eth_blockNumber' ? '0x1' : block
    response.end(JSON.stringify({ id: call?.id, result }))
  })
  const body = JSON.stringify({ id: 1, method: 'eth_getBlockByHash', params: [hashOf(1), true] })
  const sockets = Array.from({ length: 40 }, (_, index) => {
    const socket = connect(reader.port, '127.0.0.1').on('error', () => {})
    socket.pause().write(requestOf(`slow-${index}`, body))
    return socket
  })
  const isSent = async () => (await reader.metric('paylink_reader_shared_answers')) === 39
  await until(isSent, { what: 'all are answered' })
  expect(await cell('b').call('eth_blockNumber', [], text)).toBe('0x1')
  for (const socket of sockets) socket.destroy()
})

test('a page in a browser of this machine reaches no node, though no token is set', async () => {
  reader = await startReader('bitcoin-live', [node.url], { READER_TOKEN: '' })
  closes.push(reader.stop)
  const { origin, pathname } = new URL(reader.url('a'))
  const body = JSON.stringify({ id: 1, method: 'sendtoaddress', params: ['bc1q', 1] })
  // A browser asks nobody before it sends this, and names the page.
  const headers = { 'content-type': 'text/plain', origin: 'https://shop.example' }
  const answer = await fetch(`${origin}${pathname}`, { method: 'POST', headers, body })
  expect([answer.status, await answer.text()]).toEqual([403, expect.stringMatching(/a web page/)])
  expect(node.requests).toEqual([])
})

test('requests in one connection that hangs up keep no place of their cell', async () => {
  await startFor('ethereum-live')
  node.answer(() => {})
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_gasPrice', params: [] })
  const socket = connect(reader.port, '127.0.0.1').on('error', () => {})
  socket.write(requestOf('a', body).repeat(64))
  await until(() => node.requests.length === 64, { what: 'the node is asked' })
  socket.destroy()
  await until(() => node.given() === 64, { what: 'the calls are given up' })
  const waiting: (() => void)[] = []
  node.answer(([call], response) => {
    waiting.push(() => response.end(JSON.stringify({ id: call?.id, result: '0x1' })))
    if (waiting.length === 8) for (const answer of waiting) answer()
  })
  const rpc = cell('a')
  const together = Array.from({ length: 8 }, () => rpc.call('eth_gasPrice', [], text))
  expect(new Set(await Promise.all(together))).toEqual(new Set(['0x1']))
})
