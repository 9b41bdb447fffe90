import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Anvil, hex } from '../support/anvil.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { type RpcCall, type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** A block of Base since its Denim upgrade, and how far away a provider's node is. */
const BLOCK_MS = 200
const AWAY_MS = 150

test.each(['traces', 'balances'] as const)(
  'where blocks come faster than one is read, the tip is reached and payments end: by %s',
  async (nativeMode) => {
    const watched = await WatchedChain.open(evmDriver('USDC_BASE', { nativeMode }))
    const proxy = await startRpcProxy(watched.chain.url)
    const mining = new AbortController()
    const mined = mineUntil(watched, mining.signal)
    try {
      const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
      proxy.delay(AWAY_MS)
      for (let payment = 0; payment < 3; payment++) {
        const invoice = await watched.openInvoice([watcher])
        await watched.chain.pay(invoice.address, watched.driver.amount)
        await watched.untilStatus(invoice.id, 'paid')
        await watched.untilReadSince(new Date())
        expect((await watched.state()).status).toBe('ok')
      }
    } finally {
      mining.abort()
      await mined
      await proxy.close()
      await watched.close()
    }
  },
)

async function mineUntil({ chain }: Pick<WatchedChain, 'chain'>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await chain.mine(1)
    await pause(BLOCK_MS)
  }
}

/** Of the nodes behind one address each second one is so many blocks behind. */
const BEHIND = 2

test.each(['traces', 'balances'] as const)(
  'a provider whose nodes are some blocks apart is followed to its tip all the same: by %s',
  async (nativeMode) => {
    const watched = await WatchedChain.open(evmDriver('USDC_BASE', { nativeMode }))
    const proxy = await startRpcProxy(watched.chain.url)
    const mining = new AbortController()
    const mined = mineUntil(watched, mining.signal)
    const failures: string[] = []
    const onHealth = (_network: string, status: string, reason: string | null) => {
      if (status !== 'ok') failures.push(reason ?? status)
    }
    try {
      const adapter = watched.chain.adapter(proxy.url)
      const watcher = await watched.watchAtTip({ adapter, changes: { observer: { onHealth } } })
      await lagEachSecondCall(proxy, watched.chain.anvil)
      for (let payment = 0; payment < 3; payment++) {
        const invoice = await watched.openInvoice([watcher])
        await watched.chain.pay(invoice.address, watched.driver.amount)
        await watched.untilStatus(invoice.id, 'paid')
        await watched.untilReadSince(new Date())
      }
      expect(failures).toEqual([])
    } finally {
      mining.abort()
      await mined
      await proxy.close()
      await watched.close()
    }
  },
)

type Block = {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly (string | { readonly hash: string })[]
}

async function lagEachSecondCall(proxy: RpcProxy, anvil: Anvil): Promise<void> {
  const blocks: Block[] = []
  for (let at = 0; at <= (await anvil.height()); at++)
    blocks.push(await anvil.rpc<Block>('eth_getBlockByNumber', [hex(BigInt(at)), false]))
  /** Of one question and its repetitions each second one, whatever is asked beside it. */
  const asked = new Map<string, number>()
  const isBehind = ({ method, params }: RpcCall) => {
    const question = JSON.stringify([method, params])
    const times = (asked.get(question) ?? 0) + 1
    asked.set(question, times)
    return times % 2 === 1
  }
  const learn = (block: Block | null) => {
    if (block === null) return
    // Who asks for the latest one asks without its transactions in full.
    const transactions = block.transactions.map((each) => (typeof each === 'string' ? each : each.hash))
    blocks[Number(block.number)] = { ...block, transactions }
  }
  const isNew = (number: number) => number > blocks.length - 1 - BEHIND
  const ofHash = (hash: unknown) => blocks.findIndex((block) => block?.hash === hash)
  proxy.lie('eth_blockNumber', (height, call) =>
    isBehind(call) ? hex(BigInt(Math.max(0, Number(height) - BEHIND))) : height,
  )
  proxy.lie('eth_getBlockByNumber', (told, call) => {
    const block = told as Block | null
    learn(block)
    const [place] = call.params
    if (!isBehind(call) || block === null) return block
    if (place === 'latest') return blocks[blocks.length - 1 - BEHIND] ?? block
    return isNew(Number(block.number)) ? null : block
  })
  for (const method of ['eth_getBlockByHash', 'eth_getBlockReceipts'])
    proxy.lie(method, (told, call) => (isBehind(call) && isNew(ofHash(call.params[0])) ? null : told))
  const unknown = (hash: unknown, call: RpcCall) => {
    if (isBehind(call) && isNew(ofHash(hash))) throw new Error('header not found')
  }
  proxy.lie('debug_traceBlockByHash', (told, call) => {
    unknown(call.params[0], call)
    return told
  })
  proxy.lie('eth_getLogs', (told, call) => {
    unknown((call.params[0] as { blockHash?: string }).blockHash ?? '', call)
    return told
  })
  proxy.lie('eth_call', (told, call) => {
    unknown((call.params[1] as { blockHash?: string }).blockHash ?? '', call)
    return told
  })
}
