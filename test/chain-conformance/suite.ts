import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { ChainAdapter, FoundTransfer } from '../../src/chain/adapter.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import type { ChainDriver } from '../support/chain-driver.ts'
import { holdCheckpoints, KilledWatcher } from '../support/killed-watcher.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { until } from '../support/until.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'

const STEPS_MAX = 200
const BLOCKS_MAX = 50
/** More blocks than a watcher takes in one step. */
const GAP_BLOCKS = 120
const MINUTE_MS = 60_000
const PAID_EVENTS = ['payment_detected', 'confirming', 'paid']
/** Answers to a question that a watcher asks in each of its rounds. */
const LIES_HEARD = 12
const KILLS = 3
const INVOICES_PER_KILL = 9
/** Each kill begins a process of its own, which takes seconds on a machine that is busy with other tests. */
const KILLS_TIMEOUT_MS = 180_000

/**
 * What every adapter owes to the watcher, and what adapter and watcher together owe to a merchant, whatever the
 * chain. An adapter belongs here as soon as there is a driver for its node. `short`: without what another asset of its
 * family shows in full: a node that stops or lies about the chain itself, and kills together with reorganisations.
 */
export function describeChainConformance(driver: ChainDriver, form: 'full' | 'short' = 'full'): void {
  let watched: WatchedChain
  beforeAll(async () => {
    watched = await WatchedChain.open(driver)
  })
  afterAll(() => watched.close())

  describe(`the adapter of ${driver.title}`, () => describeAdapter(driver, () => watched))
  describe(`a watcher of ${driver.title}`, () => {
    afterEach(() => watched.stopWatchers())
    describePayments(driver, () => watched)
    describeFaults(driver, () => watched, form)
    describeKills(driver, () => watched, form)
  })
}

type DefineTest = (name: string, run: () => Promise<void>) => void

/** Defines tests of what waits, where the chain's adapter can see that; elsewhere there is nothing to test. */
function whereSeen(seesWaiting: boolean): DefineTest {
  return (name, run) => {
    if (seesWaiting) test(name, run)
  }
}

/** Follows the chain to its tip and collects what was found; each block must stand on the one before. */
async function follow(adapter: ChainAdapter, from: BlockRef, blocksMax = BLOCKS_MAX, isWhole = true) {
  let checkpoint = from
  const transfers: FoundTransfer[] = []
  const ancestors: BlockRef[] = []
  for (let step = 0; step < STEPS_MAX; step++) {
    const update = await adapter.nextUpdate(checkpoint, blocksMax)
    if (update === null) return { checkpoint, transfers, ancestors }
    ancestors.push(update.ancestor)
    let below = update.ancestor
    for (const { block, parentHash, transfers: found } of update.blocks) {
      if (isWhole) expect([parentHash, block.height]).toEqual([below.hash, below.height + 1])
      else expect(block.height).toBeGreaterThan(below.height)
      transfers.push(...found)
      below = block
    }
    checkpoint = below
  }
  throw new Error(`no tip after ${STEPS_MAX} steps`)
}

function describeAdapter(
  { asset, amount, seesWaiting, readsEveryBlock = true }: ChainDriver,
  watchedChain: () => WatchedChain,
): void {
  const testWaiting = whereSeen(seesWaiting)
  const adapters: ChainAdapter[] = []
  afterEach(async () => {
    await Promise.all(adapters.splice(0).map((adapter) => adapter.close()))
  })

  /** A connected adapter that watches a new address. */
  async function watching() {
    const { chain } = watchedChain()
    const adapter = chain.adapter()
    adapters.push(adapter)
    const { address, addressBytes } = await chain.newAddress()
    adapter.watched.add([addressBytes])
    await adapter.connect()
    return {
      chain,
      adapter,
      address,
      addressBytes: addressBytes.toString('hex'),
      checkpoint: await adapter.tip(),
    }
  }

  async function mempoolOf(adapter: ChainAdapter) {
    const reading = await adapter.readMempool()
    if (reading === null) throw new Error('the tip moved under the test')
    return reading.transfers
  }

  test('a payment is reported once, in its block', async () => {
    const { chain, adapter, address, addressBytes, checkpoint } = await watching()
    const txid = await chain.pay(address, amount)
    await chain.mine(2)
    const { transfers, checkpoint: tip } = await follow(adapter, checkpoint, BLOCKS_MAX, readsEveryBlock)
    expect(transfers).toMatchObject([{ txid, addressBytes, asset, amount, minimumConfirmations: 1 }])
    expect(tip.height).toBe(checkpoint.height + 2)
    expect(await adapter.nextUpdate(tip, BLOCKS_MAX)).toBeNull()
    expect(await mempoolOf(adapter)).toEqual([])
  })

  testWaiting(
    'a payment is seen waiting with the time of the first sighting, then once in its block',
    async () => {
      const { chain, adapter, address, addressBytes, checkpoint } = await watching()
      const before = Date.now()
      const txid = await chain.pay(address, amount)
      const [sighting] = await mempoolOf(adapter)
      const transfer = { txid, addressBytes, asset, amount, minimumConfirmations: 1 }
      expect(sighting).toMatchObject(transfer)
      expect(sighting?.firstSeenMs).toBeGreaterThanOrEqual(before - 1_000)
      expect(sighting?.firstSeenMs).toBeLessThanOrEqual(Date.now())
      await chain.mine(1)
      const { transfers, checkpoint: tip } = await follow(adapter, checkpoint, BLOCKS_MAX, readsEveryBlock)
      expect(transfers).toEqual([{ ...transfer, outputIndex: sighting?.outputIndex }])
      expect(tip.height).toBe(checkpoint.height + 1)
      expect(await mempoolOf(adapter)).toEqual([])
      expect(await adapter.nextUpdate(tip, BLOCKS_MAX)).toBeNull()
    },
  )

  test('catching up in small steps, or again from one checkpoint, reports each block once and in order', async () => {
    const { chain, adapter, address, checkpoint } = await watching()
    const txids: string[] = []
    for (let count = 0; count < 4; count++) {
      txids.push(await chain.pay(address, amount))
      await chain.mine(3)
    }
    for (const blocksMax of [1, 5, BLOCKS_MAX]) {
      const { transfers, checkpoint: tip } = await follow(adapter, checkpoint, blocksMax, readsEveryBlock)
      expect(transfers.map(({ txid }) => txid)).toEqual(txids)
      expect(tip.height).toBe(checkpoint.height + 12)
    }
  })

  test.each([1, 2, 6, 12])(
    'a reorganisation of %i blocks is one step from the common ancestor',
    async (depth) => {
      const { chain, adapter, address, checkpoint } = await watching()
      const txid = await chain.pay(address, amount)
      await chain.mine(depth)
      const { checkpoint: orphaned } = await follow(adapter, checkpoint, BLOCKS_MAX, readsEveryBlock)
      await chain.reorganise(depth)
      const update = await adapter.nextUpdate(orphaned, BLOCKS_MAX)
      expect(update?.ancestor).toEqual(checkpoint)
      if (readsEveryBlock) expect(update?.blocks).toHaveLength(depth + 1)
      expect(update?.blocks.flatMap(({ transfers }) => transfers.map((each) => each.txid))).toEqual([txid])
      expect(update?.tip).toEqual(update?.blocks.at(-1)?.block)
    },
  )

  testWaiting(
    'a replaced transaction is dead, while its replacement waits and after the next block',
    async () => {
      const { chain, adapter, address } = await watching()
      const txid = await chain.pay(address, amount)
      expect(await mempoolOf(adapter)).toHaveLength(1)
      await chain.replace(txid)
      expect(await mempoolOf(adapter)).toEqual([])
      expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'dead']]))
      await chain.mine(1)
      expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'dead']]))
    },
  )
}

function describePayments(
  { amount, seesWaiting, settlesLater, waitsForDropped = false }: ChainDriver,
  watchedChain: () => WatchedChain,
): void {
  const testWaiting = whereSeen(seesWaiting)
  test('an invoice is detected while its payment waits, confirming in a block, and paid at its confirmations', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher], watched.needs(3))
    await watched.chain.pay(invoice.address, amount)
    if (seesWaiting) await watched.untilStatus(invoice.id, 'payment_detected')
    await watched.chain.mine(1)
    await watched.untilStatus(invoice.id, 'confirming')
    await watched.chain.mine(1)
    await watched.untilRead()
    expect(await watched.statusOf(invoice.id)).toBe('confirming')
    await watched.chain.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
  })

  testWaiting('a payment that is replaced by one to elsewhere is taken back', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const txid = await watched.chain.pay(invoice.address, amount)
    await watched.untilStatus(invoice.id, 'payment_detected')
    await watched.chain.replace(txid)
    await watched.untilStatus(invoice.id, 'awaiting_payment')
    await watched.chain.mine(1)
    await watched.untilRead()
    expect(await watched.paymentsOf(invoice.id)).toEqual(['replaced'])
  })

  test('a duplicate: blocks read again from an earlier checkpoint report and credit nothing twice', async () => {
    const watched = watchedChain()
    const first = await watched.watchAtTip()
    const [paid, short] = [await watched.openInvoice([first]), await watched.openInvoice([first])]
    const before = await watched.availableBalance()
    const state = await watched.state()
    await watched.chain.pay(paid.address, amount)
    await watched.chain.pay(short.address, amount / 2n)
    await watched.chain.mine(3)
    await watched.untilStatus(paid.id, 'paid')
    await watched.untilStatus(short.id, 'partially_paid')
    for (let round = 0; round < 2; round++) {
      await watched.stopWatchers()
      await watched.setBackTo(state)
      await watched.watchAtTip()
      await watched.untilRead()
    }
    expect(await watched.eventsOf(paid.id)).toEqual(PAID_EVENTS)
    expect(await watched.eventsOf(short.id)).toEqual(['payment_detected', 'confirming', 'partially_paid'])
    expect(await watched.availableBalance()).toBe(before + amount + amount / 2n)
  })

  test('a gap: all that was paid while nobody watched is found from the checkpoint, across several steps', async () => {
    const watched = watchedChain()
    const first = await watched.watchAtTip()
    const invoices = await Promise.all(
      Array.from({ length: 3 }, () => watched.openInvoice([first], watched.needs(6))),
    )
    await first.stop()
    for (const invoice of invoices) {
      await watched.chain.pay(invoice.address, amount)
      await watched.chain.mine(GAP_BLOCKS / 3)
    }
    await watched.watchAtTip()
    for (const { id } of invoices) {
      await watched.untilStatus(id, 'paid')
      expect(await watched.eventsOf(id)).toEqual(PAID_EVENTS)
    }
  })

  test('late arrivals: money after the deadline counts; after the horizon it waits for the merchant', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const now = Date.now()
    const late = await watched.openInvoice([watcher], {
      createdAtMs: now - 30 * MINUTE_MS,
      expiresAtMs: now - 1,
    })
    const lost = await watched.openInvoice([watcher], {
      createdAtMs: now - 60 * MINUTE_MS,
      expiresAtMs: now - 30 * MINUTE_MS,
    })
    for (const { id } of [late, lost]) await watched.untilStatus(id, 'expired')
    await watched.chain.pay(late.address, amount)
    await watched.chain.pay(lost.address, amount)
    await watched.chain.mine(1)
    await watched.untilStatus(late.id, 'paid')
    await watched.untilStatus(lost.id, 'manual_review')
  })

  test('an invoice past its deadline expires once chain and waiting payments were read, unless they pay it', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const paid = await watched.openInvoice([watcher], watched.needs(2))
    const unpaid = await watched.openInvoice([watcher])
    // Nobody looks until it is paid and the deadline has passed: both are there for the first look.
    await watcher.stop()
    await watched.chain.pay(paid.address, amount)
    if (!seesWaiting) await watched.chain.mine(1)
    await watched.endNow([paid.id, unpaid.id])
    await watched.watchAtTip()
    await watched.untilStatus(unpaid.id, 'expired')
    expect(await watched.statusOf(paid.id)).toBe(seesWaiting ? 'payment_detected' : 'confirming')
    await watched.chain.mine(2)
    await watched.untilStatus(paid.id, 'paid')
  })

  test('a reorganisation takes a paid invoice to review and back, with the ledger as the chain', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const before = await watched.availableBalance()
    const txid = await watched.chain.pay(invoice.address, amount)
    await watched.chain.mine(2)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.availableBalance()).toBe(before + amount)
    await watched.chain.reorganise(2, txid)
    await watched.untilStatus(invoice.id, 'manual_review')
    expect(await watched.paymentsOf(invoice.id)).toEqual([
      seesWaiting || waitsForDropped ? 'detected' : 'reorged',
    ])
    expect(await watched.availableBalance()).toBe(before)
    await watched.chain.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.availableBalance()).toBe(before + amount)
    expect(await watched.eventsOf(invoice.id)).toEqual([...PAID_EVENTS, 'manual_review'])
  })

  test('a payment to a permanent address is a deposit, and one that leaves the chain is reversed', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const account = await watched.openDepositAccount([watcher])
    const before = await watched.availableBalance()
    await watched.chain.pay(account.address, amount)
    await watched.chain.mine(1)
    const [told, toldAgain] = [
      ['detected', 'confirmed'],
      ['detected', 'confirmed', 'reversed', 'confirmed'],
    ]
    await watched.untilDeposits(account.id, [told])
    const txid = await watched.chain.pay(account.address, 2n * amount)
    await watched.chain.mine(2)
    await watched.untilDeposits(account.id, [told, told])
    expect(await watched.availableBalance()).toBe(before + 3n * amount)
    await watched.chain.reorganise(2, txid)
    await watched.untilDeposits(account.id, [told, [...told, 'reversed']])
    expect(await watched.availableBalance()).toBe(before + amount)
    await watched.chain.mine(1)
    await watched.untilDeposits(account.id, [told, toldAgain])
    expect(await watched.availableBalance()).toBe(before + 3n * amount)
    const findings = (await runAudit(watched.database.owner, [])).flatMap((check) => check.findings)
    expect(findings).toEqual([])
  })

  test('a payment that a reorganisation moves to another block never leaves the invoice', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    // Where finality is looked at later, what was final and moved is not final again at once, and says so.
    const [rule, status, events] = settlesLater
      ? ([watched.needs(6), 'confirming', PAID_EVENTS.slice(0, 2)] as const)
      : ([{}, 'paid', PAID_EVENTS] as const)
    const invoice = await watched.openInvoice([watcher], rule)
    const blockOf = async () => {
      const { rows } = await watched.database.owner.query(
        'select block_hash from transfer where invoice_id = $1',
        [invoice.id],
      )
      return rows
    }
    await watched.chain.pay(invoice.address, amount)
    await watched.chain.mine(2)
    await watched.untilStatus(invoice.id, status)
    const block = await blockOf()
    // While it happens nobody looks: a node that is asked in between has nothing to show yet.
    await watcher.stop()
    await watched.chain.reorganise(2)
    await watched.watchAtTip()
    await watched.untilRead()
    expect(await watched.statusOf(invoice.id)).toBe(status)
    expect(await watched.eventsOf(invoice.id)).toEqual(events)
    expect(await blockOf()).not.toEqual(block)
  })
}

function describeFaults(
  { amount }: ChainDriver,
  watchedChain: () => WatchedChain,
  form: 'full' | 'short',
): void {
  test('a node that lies or fails credits nothing wrongly, skips nothing, and the network says what is wrong', async () => {
    const watched = watchedChain()
    for (const lie of watched.chain.lies.filter(({ isOfAsset }) => form === 'full' || isOfAsset === true)) {
      const proxy = await startRpcProxy(watched.chain.url)
      try {
        const watcher = await watched.watchAtTip({ adapter: watched.chain.adapter(proxy.url) })
        const invoice = await watched.openInvoice([watcher])
        // What the watcher began to read before the lie was the truth: it comes to its end first.
        await heardMore(proxy, `the watcher is at rest before the node ${lie.name}`)
        const before = await watched.balances()
        proxy.hold()
        await watched.chain.pay(invoice.address, amount)
        await watched.chain.mine(3)
        await lie.tell(proxy)
        proxy.resume()
        const { outcome } = lie
        if (outcome === 'unseen') {
          await heardMore(proxy, `the watcher asks a node that ${lie.name}`)
        } else if (outcome !== 'harmless') {
          await until(
            async () => {
              const { status, reason } = await watched.state()
              return status !== 'ok' && outcome.told.test(reason ?? '')
            },
            { what: `it is told that the node ${lie.name}` },
          )
        }
        if (outcome !== 'harmless') expect([lie.name, await watched.balances()]).toEqual([lie.name, before])
        if (outcome !== 'harmless') proxy.tellTheTruth()
        await watched.untilStatus(invoice.id, 'paid')
        expect([lie.name, await watched.eventsOf(invoice.id)]).toEqual([lie.name, PAID_EVENTS])
        await watched.stopWatchers()
      } finally {
        await proxy.close()
      }
    }
  })

  if (form === 'short') return
  test('a node that stops makes its network unavailable, expires nothing, and is taken up again', async () => {
    const watched = watchedChain()
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const due = await watched.openInvoice([watcher])
    await watched.chain.stop()
    await until(async () => (await watched.state()).status === 'unavailable', {
      what: 'the network is unavailable',
    })
    await watched.endNow([due.id])
    await watched.untilSaidAgain()
    expect(await watched.statusOf(due.id)).toBe('awaiting_payment')
    await watched.chain.startAgain()
    await watched.untilStatus(due.id, 'expired')
    await watched.chain.pay(invoice.address, amount)
    await watched.chain.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    await until(async () => (await watched.state()).status === 'ok', {
      what: 'the network is followed again',
    })
  })
}

/** Waits until the node was asked some more. */
async function heardMore(proxy: RpcProxy, what: string): Promise<void> {
  const heard = proxy.calls.length + LIES_HEARD
  await until(() => proxy.calls.length > heard, { what })
}

function describeKills(
  { amount, settlesLater, waitsForDropped = false }: ChainDriver,
  watchedChain: () => WatchedChain,
  form: 'full' | 'short',
): void {
  test('a watcher killed between credit and checkpoint has credited once, and so has whoever goes on', async () => {
    const watched = watchedChain()
    const before = await watched.availableBalance()
    const [kept, moved] = [await watched.openInvoice([]), await watched.openInvoice([])]
    const account = await watched.openDepositAccount([])
    const killed = await KilledWatcher.start(watched)
    const held = await holdCheckpoints(watched)
    const from = await watched.state()
    await watched.chain.pay(kept.address, amount)
    await watched.chain.pay(moved.address, amount)
    await watched.chain.pay(account.address, amount)
    await watched.chain.mine(1)
    await held.reached()
    await killed.kill()
    await held.mend()
    expect(await watched.statusOf(kept.id)).toBe(settlesLater ? 'confirming' : 'paid')
    expect((await watched.state()).hash).toBe(from.hash)
    // What goes on looks at blocks that are in the books and not below the checkpoint.
    await watched.watchAtTip()
    await watched.untilRead()
    expect((await watched.state()).hash).not.toBe(from.hash)
    for (const { id } of [kept, moved]) await watched.untilStatus(id, 'paid')
    for (const { id } of [kept, moved]) expect(await watched.eventsOf(id)).toEqual(PAID_EVENTS)
    await watched.untilDeposits(account.id, [['detected', 'confirmed']])
    expect(await watched.availableBalance()).toBe(before + 3n * amount)
  })

  if (form === 'short') return
  test('a credit whose block left the chain after a kill and before the checkpoint is taken back', async () => {
    const watched = watchedChain()
    const before = await watched.availableBalance()
    const invoice = await watched.openInvoice([])
    const killed = await KilledWatcher.start(watched)
    const held = await holdCheckpoints(watched)
    const txid = await watched.chain.pay(invoice.address, amount)
    await watched.chain.mine(1)
    await held.reached()
    await killed.kill()
    await held.mend()
    expect(await watched.statusOf(invoice.id)).toBe(settlesLater ? 'confirming' : 'paid')
    await watched.chain.reorganise(1, txid)
    await watched.watchAtTip()
    const unpaid = waitsForDropped ? 'payment_detected' : 'awaiting_payment'
    await watched.untilStatus(invoice.id, settlesLater ? unpaid : 'manual_review')
    expect(await watched.availableBalance()).toBe(before)
    await watched.chain.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.availableBalance()).toBe(before + amount)
  })

  test(
    'watchers killed amid their credits, with a reorganisation between them, credit everything once',
    async () => {
      const watched = watchedChain()
      const before = await watched.availableBalance()
      const invoices: OpenInvoice[] = []
      for (let kill = 0; kill < KILLS; kill++) {
        const batch: OpenInvoice[] = []
        for (let count = 0; count < INVOICES_PER_KILL; count++) batch.push(await watched.openInvoice([]))
        invoices.push(...batch)
        const killed = await KilledWatcher.start(watched)
        for (const { address } of batch) await watched.chain.pay(address, amount)
        await watched.chain.mine(1)
        // The first credit is in the books, the others are on their way there.
        await until(
          async () => (await Promise.all(batch.map(({ id }) => watched.statusOf(id)))).includes('paid'),
          { what: 'a credit is committed' },
        )
        await killed.kill()
        if (kill % 2 === 0) await watched.chain.reorganise(1)
      }
      await watched.watchAtTip()
      for (const { id } of invoices) {
        await watched.untilStatus(id, 'paid')
        const told = await watched.eventsOf(id)
        expect(settlesLater ? told.filter((type) => type !== 'manual_review') : told).toEqual(PAID_EVENTS)
      }
      expect(await watched.availableBalance()).toBe(before + BigInt(invoices.length) * amount)
    },
    KILLS_TIMEOUT_MS,
  )
}
