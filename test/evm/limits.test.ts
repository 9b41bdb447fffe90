import { createServer, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { HttpConnection } from '../../src/chain/http-connection.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { bytecodeOf, callData, deployTestToken, type TestToken } from '../support/evm-contracts.ts'
import { type Lie, type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const BLOCKS = 60
const ATTEMPTS_MAX = 200

let anvil: Anvil
let token: TestToken
beforeAll(async () => {
  anvil = await startAnvil()
  token = await deployTestToken(anvil)
})
afterAll(() => anvil.remove())

const tooLarge: Lie = (logs, { params }) => {
  const { fromBlock, toBlock } = params[0] as { fromBlock?: string; toBlock?: string }
  if (Number(toBlock ?? 0) - Number(fromBlock ?? 0) >= 7) throw new Error('block range is too large')
  return logs
}

/** Fails at each n-th call. */
function everyFew(few: number): Lie {
  let calls = 0
  return (told) => {
    calls += 1
    if (calls % few === 0) throw new Error('rate limit exceeded')
    return told
  }
}

const adapterAt = (url: string, changes: Partial<EvmAdapterOptions> = {}): EvmAdapter =>
  new EvmAdapter({
    chain: 'base',
    livemode: false,
    url,
    setting: 'TEST_BASE_RPC_URL',
    clock: systemClock,
    tokenContracts: { USDC: token.contract },
    ...changes,
  })

/** A block for each payment, in tokens and in coin by turns. */
async function payInBlocks(address: string, payments: number): Promise<string[]> {
  const sent: string[] = []
  for (let block = 0; block < payments; block++) {
    sent.push(await anvil.send(block % 2 === 0 ? token.mint(address, 5n) : { to: address, value: 5n }))
    await anvil.mine(1)
  }
  return sent
}

/** A node that gives a call so little gas, or refuses the gas that is asked for (EIP-7825). */
const ADDRESS_DIGITS = 40
const gasFor =
  (addresses: number): Lie =>
  (told, { params }) => {
    const { data = '0x' } = params[0] as { data?: string }
    if ((data.length - 2) / ADDRESS_DIGITS > addresses) throw new Error('EVM error OutOfGas')
    return told
  }
const refusesGas: Lie = (told, { params }) => {
  if ((params[0] as { gas?: string }).gas !== undefined)
    throw new Error('transaction gas limit (50000000) is greater than the cap (16777216)')
  return told
}

test.each<[string, Lie]>([
  ['gives a call gas for seven balances', gasFor(7)],
  ['refuses as much gas as is asked for', refusesGas],
])('a node without traces that %s is asked for fewer at a time', async (_what, lie) => {
  const proxy = await startRpcProxy(anvil.url)
  const open = Array.from({ length: 50 }, newEvmAddress)
  const openAddresses = async () => open.map(({ addressBytes }) => addressBytes)
  const adapter = adapterAt(proxy.url, { nativeMode: 'balances', openAddresses })
  try {
    adapter.watched.add(open.map(({ addressBytes }) => addressBytes))
    await adapter.connect()
    // By a contract, which only balances show.
    const payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
    const to = [open[0]?.address ?? '', open.at(-1)?.address ?? '']
    const data = callData('pay(address[],uint256[])', to, [5n, 5n])
    const checkpoint = await adapter.tip()
    await anvil.send({ to: payer, data, value: 10n, gas: 200_000 })
    await anvil.mine(1)
    proxy.lie('eth_call', lie)
    const update = await adapter.nextUpdate(checkpoint, 10)
    expect(update?.blocks[0]?.transfers.map(({ amount }) => amount)).toEqual([5n, 5n])
    const before = proxy.calls.length
    await anvil.mine(1)
    await adapter.nextUpdate(update?.blocks[0]?.block ?? checkpoint, 10)
    // What was learned is kept.
    expect(proxy.calls.slice(before).filter((method) => method === 'eth_call').length).toBeLessThan(10)
  } finally {
    await adapter.close()
    await proxy.close()
  }
})

test.each<[string, boolean, (proxy: RpcProxy) => void]>([
  ['ranges of more than seven blocks', false, (proxy) => proxy.lie('eth_getLogs', tooLarge)],
  ['every seventh trace', true, (proxy) => proxy.lie('debug_traceBlockByHash', everyFew(7))],
  ['every eleventh header', true, (proxy) => proxy.lie('eth_getBlockByNumber', everyFew(11))],
  ['every ninth request with 429', true, (proxy) => proxy.refuseEvery(9)],
])(
  'a provider that refuses %s is caught up with all the same, each payment once',
  async (_what, fails, refuse) => {
    const proxy = await startRpcProxy(anvil.url)
    const adapter = adapterAt(proxy.url)
    try {
      const { address, addressBytes } = newEvmAddress()
      adapter.watched.add([addressBytes])
      await adapter.connect()
      let checkpoint: BlockRef = await adapter.tip()
      const sent = await payInBlocks(address, BLOCKS)
      refuse(proxy)
      const found: string[] = []
      let refusals = 0
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        try {
          const update = await adapter.nextUpdate(checkpoint, 100)
          if (update === null) break
          found.push(...update.blocks.flatMap(({ transfers }) => transfers.map(({ txid }) => txid)))
          checkpoint = update.blocks.at(-1)?.block ?? checkpoint
        } catch (error) {
          if (!(error instanceof ChainUnavailable)) throw error
          refusals += 1
        }
      }
      expect(found).toEqual(sent)
      // A range that is halved is no failure, and takes no step back.
      expect(refusals > 0).toBe(fails)
    } finally {
      await adapter.close()
      await proxy.close()
    }
  },
)

test('the second reading halves its ranges too, until the provider takes them', async () => {
  const proxy = await startRpcProxy(anvil.url)
  const adapter = adapterAt(proxy.url)
  try {
    const { address, addressBytes } = newEvmAddress()
    adapter.watched.add([addressBytes])
    await adapter.connect()
    const from = await adapter.tip()
    const sent = await payInBlocks(address, BLOCKS)
    proxy.lie('eth_getLogs', tooLarge)
    const told = await adapter.tokens.read(from, from.height + BLOCKS)
    const found = told?.blocks.flatMap(({ transfers }) => transfers.map(({ txid }) => txid))
    expect(found).toEqual(sent.filter((_, index) => index % 2 === 0))
    // 60 are asked for in quarters and eighths: 7 blocks is what this provider gives.
    expect(proxy.calls.filter((method) => method === 'eth_getLogs').length).toBeGreaterThanOrEqual(9)
  } finally {
    await adapter.close()
    await proxy.close()
  }
})

/** Serves until the test is over. */
async function serving(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  try {
    await use(`http://127.0.0.1:${address.port}`)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

test('a plan without traces, which some providers refuse with 403, is one without traces and no wrong key', async () => {
  const message = 'Archive, Debug and Trace requests are not available on your current plan.'
  const listener: RequestListener = async (request, response) => {
    const body = await text(request)
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    if (method.startsWith('debug_')) {
      const error = { code: -32_002, message }
      response.writeHead(403).end(JSON.stringify({ jsonrpc: '2.0', id, error }))
      return
    }
    const headers = { 'content-type': 'application/json' }
    response.end(await (await fetch(anvil.url, { method: 'POST', headers, body })).text())
  }
  await serving(listener, async (url) => {
    const adapter = adapterAt(url)
    try {
      expect((await adapter.connect()).health).toEqual({ status: 'ok' })
      expect(adapter.nativeMode).toBe('balances')
    } finally {
      await adapter.close()
    }
  })
  await serving(
    (_request, response) => response.writeHead(403).end('{"error":{"code":-32000,"message":"not allowed"}}'),
    async (url) => {
      const adapter = adapterAt(url)
      await expect(adapter.connect()).rejects.toThrow(/refuses the key or password/)
      await adapter.close()
    },
  )
})

test('an answer that trickles in for ever is given up, so that another provider can be followed', async () => {
  const listener: RequestListener = (_request, response) => {
    const drip = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(drip))
  }
  await serving(listener, async (url) => {
    const limits = { connections: 1, answerMsMax: 1_000, wholeAnswerMsMax: 200, answerBytesMax: 1_000_000 }
    const connection = new HttpConnection(new URL(url), { kind: 'the node', setting: 'URL', ...limits })
    await expect(connection.postJson('{}')).rejects.toThrow(/does not answer in time/)
    await connection.close()
  })
})
