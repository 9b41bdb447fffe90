import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { systemClock } from '../../src/clock.ts'
import {
  LeadLost,
  type RecordingParts,
  recordMempool,
  recordUpdate,
} from '../../src/watcher/record-reading.ts'
import { until } from '../support/litecoind.ts'
import { sandboxDriver } from '../support/sandbox-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const { network, amount } = sandboxDriver
let watched: WatchedChain
beforeAll(async () => {
  watched = await WatchedChain.open(sandboxDriver)
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

test('a network that was never followed starts at the tip of its node', async () => {
  await watched.watchAtTip()
  const state = await watched.state()
  expect(state).toMatchObject({ parameters: 'regtest', status: 'ok', reason: null })
  expect(state.hash).toBe(await watched.chain.tipHash())
  expect(state.tipHeight).toBe(state.height)
})

test('of two watchers one follows, and the other takes over when it stops', async () => {
  const first = await watched.watchAtTip()
  const blocks: number[] = []
  const second = watched.watch({
    changes: { observer: { onBlock: (_network, height) => blocks.push(height) } },
  })
  await watched.chain.mine(1)
  await watched.untilRead()
  expect(blocks).toEqual([])
  const invoice = await watched.openInvoice([first, second])
  await first.stop()
  await watched.chain.pay(invoice.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  await until(() => blocks.length > 0, { what: 'the second has told of its block' })
})

test('a watcher whose lead connection is cut takes the lead again and goes on', async () => {
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  await watched.database.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`,
    [`paylink-watcher-${network}`],
  )
  await watched.chain.pay(invoice.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
})

test('a checkpoint that cannot be written leaves credits that whoever goes on does not repeat', async () => {
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  const before = await watched.availableBalance()
  const mend = await watched.breakCheckpoints()
  await watched.chain.pay(invoice.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  await mend()
  await watched.untilRead()
  expect(await watched.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  expect(await watched.availableBalance()).toBe(before + amount)
})

/** What a watcher holds that led before the one that follows now, or that is the one that follows. */
async function recordingAs(
  lead: Partial<RecordingParts['lead']>,
  adapter: ChainAdapter,
): Promise<RecordingParts> {
  const { rows } = await watched.database.owner.query<{ turn: string }>('select turn from network_watch')
  const turn = rows[0]?.turn ?? ''
  return {
    adapter,
    pool: watched.database.pools.watcher,
    clock: systemClock,
    agreement: null,
    vainChecks: new Map(),
    notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
    lead: { turn, lost: new AbortController().signal, ...lead },
  }
}

test.each([
  ['and knows it', { lost: AbortSignal.abort() }],
  ['and does not know it yet', { turn: randomUUID() }],
])('who has lost the lead %s commits nothing, neither from blocks nor from the mempool', async (_, lead) => {
  const watcher = await watched.watchAtTip()
  const adapter = watched.chain.adapter()
  const invoice = await watched.openInvoice([{ ...watcher, adapter }])
  await watched.stopWatchers()
  const state = await watched.state()
  const checkpoint = { height: state.height ?? 0, hash: state.hash ?? '', timeMs: 0 }
  await adapter.connect()
  const parts = await recordingAs(lead, adapter)
  await watched.chain.pay(invoice.address, amount)
  const mempool = await adapter.readMempool()
  if (mempool === null) throw new Error('the mempool could not be read')
  expect(mempool.transfers).toHaveLength(1)
  await expect(recordMempool(parts, mempool)).rejects.toThrow(LeadLost)
  await watched.chain.mine(1)
  const update = await adapter.nextUpdate(checkpoint, 10)
  if (update === null) throw new Error('the block was not read')
  await expect(recordUpdate(parts, checkpoint, update)).rejects.toThrow(LeadLost)
  const empty = { ...update, blocks: update.blocks.map((block) => ({ ...block, transfers: [] })) }
  await expect(recordUpdate(parts, checkpoint, empty)).rejects.toThrow(LeadLost)
  expect(await watched.paymentsOf(invoice.id)).toEqual([])
  expect((await watched.state()).hash).toBe(state.hash)
  await adapter.close()
})

const FAULTS: readonly [string, (url: URL) => void, RegExp][] = [
  [
    'a wrong password',
    (url) => {
      url.password = 'wrong'
    },
    /refuses the user name or password/,
  ],
  [
    'a port where nothing listens',
    (url) => {
      url.port = '1'
    },
    /refuses the connection: start it, or correct/,
  ],
  [
    'a host name that does not exist',
    (url) => {
      url.hostname = 'nowhere.invalid'
    },
    /does not resolve/,
  ],
]

test.each(FAULTS)('%s leaves the network with a reason that names the fix', async (_what, spoil, reason) => {
  const url = new URL(watched.chain.url)
  const { password } = url
  spoil(url)
  watched.watch({ adapter: watched.chain.adapter(url.toString()) })
  await until(async () => reason.test((await watched.stateOrNull())?.reason ?? ''), {
    what: 'the reason is told',
  })
  const state = await watched.state()
  expect(state.status).toBe('unavailable')
  expect(state.reason).toContain('TEST_LITECOIN_RPC_URL')
  expect(state.reason).not.toContain(password)
})
