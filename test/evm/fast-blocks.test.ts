import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { evmDriver } from '../support/evm-driver.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** A block of Base since its Denim upgrade, and how far away a provider's node is. */
const BLOCK_MS = 200
const AWAY_MS = 150
/** Until what was read last is this old, the head is looked at in time. */
const READ_MS_MAX = 10_000

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
      for (let payment = 0; payment < 5; payment++) {
        const invoice = await watched.openInvoice([watcher])
        await watched.chain.pay(invoice.address, watched.driver.amount)
        await watched.untilStatus(invoice.id, 'paid')
        const { status, readAt } = await watched.state()
        expect(status).toBe('ok')
        expect(Date.now() - (readAt?.getTime() ?? 0)).toBeLessThan(READ_MS_MAX)
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
