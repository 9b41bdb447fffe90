import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { LeadershipLost, type RecordingParts } from '../../src/watcher/record-facts.ts'
import { recordMempool, recordUpdate } from '../../src/watcher/record-reading.ts'
import { sandboxDriver } from '../support/sandbox-driver.ts'
import { until } from '../support/until.ts'
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

test('a watcher whose leader connection is cut becomes leader again and goes on', async () => {
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  await watched.database.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = $1`,
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
  leadership: Partial<RecordingParts['leadership']>,
  adapter: ChainAdapter,
): Promise<RecordingParts> {
  const { rows } = await watched.database.owner.query<{ turn: string }>('select turn from network_watch')
  const term = rows[0]?.turn ?? ''
  return {
    adapter,
    pool: watched.database.pools.watcher,
    clock: systemClock,
    agreement: null,
    notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
    leadership: { term, lost: new AbortController().signal, ...leadership },
  }
}

test.each([
  ['and knows it', { lost: AbortSignal.abort() }],
  ['and does not know it yet', { term: randomUUID() }],
])(
  'whoever lost the leadership %s commits nothing, neither from blocks nor from the mempool',
  async (_, leadership) => {
    const watcher = await watched.watchAtTip()
    const adapter = watched.chain.adapter()
    const invoice = await watched.openInvoice([{ ...watcher, adapter }])
    await watched.stopWatchers()
    const state = await watched.state()
    const checkpoint = { height: state.height ?? 0, hash: state.hash ?? '', timeMs: 0 }
    await adapter.connect()
    const parts = await recordingAs(leadership, adapter)
    await watched.chain.pay(invoice.address, amount)
    const mempool = await adapter.readMempool()
    if (mempool === null) throw new Error('the mempool could not be read')
    expect(mempool.transfers).toHaveLength(1)
    await expect(recordMempool(parts, mempool)).rejects.toThrow(LeadershipLost)
    await watched.chain.mine(1)
    const update = await adapter.nextUpdate(checkpoint, 10)
    if (update === null) throw new Error('the block was not read')
    await expect(recordUpdate(parts, checkpoint, update)).rejects.toThrow(LeadershipLost)
    const empty = { ...update, blocks: update.blocks.map((block) => ({ ...block, transfers: [] })) }
    await expect(recordUpdate(parts, checkpoint, empty)).rejects.toThrow(LeadershipLost)
    expect(await watched.paymentsOf(invoice.id)).toEqual([])
    expect((await watched.state()).hash).toBe(state.hash)
    await adapter.close()
  },
)

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

const SPOILED = { orderReference: 'spoiled' }

/** Lets every change of a spoiled invoice fail, as one does that contradicts a rule of the database. */
async function refuseSpoiled(): Promise<() => Promise<void>> {
  await watched.database.owner.query(`create function refuse_spoiled() returns trigger language plpgsql as $$
    begin raise exception 'this row is spoiled'; end $$`)
  await watched.database.owner.query(`create trigger refuse_spoiled before update on invoice
    for each row when (old.order_reference = 'spoiled') execute function refuse_spoiled()`)
  return async () => {
    await watched.database.owner.query('drop trigger refuse_spoiled on invoice')
    await watched.database.owner.query('drop function refuse_spoiled()')
  }
}

const past = () => ({ createdAtMs: Date.now() - 2_000, expiresAtMs: Date.now() - 1_000 })

test('an invoice that cannot be expired keeps no other one open, and the network says which it is', async () => {
  const watcher = await watched.watchAtTip()
  const repair = await refuseSpoiled()
  const bad = await watched.openInvoice([watcher], { ...past(), ...SPOILED })
  const good = await watched.openInvoice([watcher], past())
  await watched.untilStatus(good.id, 'expired')
  const paid = await watched.openInvoice([watcher])
  await watched.chain.pay(paid.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(paid.id, 'paid')
  await watched.untilRead()
  const { status, reason } = await watched.state()
  expect(status).toBe('ok')
  expect(reason).toContain(`invoice ${bad.id} cannot be expired: this row is spoiled`)
  await repair()
  await watched.untilStatus(bad.id, 'expired')
  await until(async () => (await watched.state()).reason === null, { what: 'it is not told any more' })
})

test('more invoices that cannot be expired than one look takes keep no other one open', async () => {
  const { id } = await watched.openInvoice([], { ...past(), ...SPOILED })
  await watched.database.owner.query(
    // No id that was drawn has a `u`.
    `insert into invoice select (jsonb_populate_record(one, jsonb_build_object('id', left(id, -4) || 'u' || number))).*
     from invoice one, generate_series(100, 299) number where id = $1`,
    [id],
  )
  const good = await watched.openInvoice([])
  await watched.endNow([good.id])
  const failed: string[] = []
  const expire = (onFailed: (invoiceId: string) => void) =>
    expireInvoices(
      { pool: watched.database.pools.watcher, clock: systemClock, onFailed },
      { network, readAtMs: Date.now() + 1_000, tipHeight: 1, tipHash: 'a'.repeat(64), providers: [] },
    )
  const repair = await refuseSpoiled()
  expect(await expire((invoiceId) => failed.push(invoiceId))).toEqual([good.id])
  expect(new Set(failed).size).toBe(201)
  await repair()
  expect((await expire(() => {})).length + (await expire(() => {})).length).toBe(201)
})

test('a payment that cannot be recorded halts its network by name, and is recorded once it can be', async () => {
  const watcher = await watched.watchAtTip()
  const repair = await refuseSpoiled()
  const bad = await watched.openInvoice([watcher], SPOILED)
  const good = await watched.openInvoice([watcher])
  const later = await watched.openInvoice([watcher])
  await watched.chain.pay(bad.address, amount)
  await watched.chain.pay(good.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(good.id, 'paid')
  await watched.chain.pay(later.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(later.id, 'paid')
  const { status, reason } = await watched.state()
  expect([status, reason]).toEqual(['halted', expect.stringContaining(`for invoice ${bad.id} cannot be`)])
  expect(await watched.paymentsOf(bad.id)).toEqual([])
  await repair()
  await watched.untilStatus(bad.id, 'paid')
  await watched.untilRead()
  expect((await watched.state()).status).toBe('ok')
})
