import { expect, test } from 'vitest'
import type { InvoiceStatus } from '../../src/core/invoice/types.ts'
import { cancelInvoice } from '../../src/flows/invoices.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { anyAddress } from '../support/any-address.ts'
import { until } from '../support/until.ts'
import { coinsOf, type DrivenNode } from '../support/utxo-driver.ts'
import type { OpenInvoice, WatchedChain } from '../support/watched-chain.ts'
import type { Watching } from '../support/watched-network.ts'

const DEPTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const MINUTE_MS = 60_000

type Watched = WatchedChain<DrivenNode>

/** An invoice that is paid in some way, and what it is with its payment in the chain, out of it, and back. */
type Case = {
  readonly invoice: OpenInvoice
  readonly pays: bigint
  readonly inChain: InvoiceStatus
  readonly outOfChain: InvoiceStatus
}

/** Reorganisations of every depth, with an invoice in every state at once. */
export function describeUtxoReorganisations(watchedChain: () => Watched): void {
  describeForgottenPayment(watchedChain)
  describeInterrupted(watchedChain)
  test.each(DEPTHS)(
    'a reorganisation of %i blocks takes back what it held, in every state, and no more',
    async (depth) => {
      const watched = watchedChain()
      const { node } = watched.chain
      const watcher = await watched.watchAtTip()
      const cases = await openCases(watched, watcher, depth)
      const untouched = await watched.openInvoice([watcher])
      const before = await watched.balances()
      for (const { invoice, pays } of cases) await watched.chain.pay(invoice.address, pays)
      // Whoever has seen a payment waiting has its bytes, and can offer it to a node that forgets it.
      for (const { invoice } of cases) {
        await until(async () => (await watched.paymentsOf(invoice.id)).includes('detected'), {
          what: 'the payment is detected',
        })
      }
      await node.mine(depth)
      for (const { invoice, inChain } of cases) await watched.untilStatus(invoice.id, inChain)
      const waiting = await watched.openInvoice([watcher])
      const txid = await watched.chain.pay(waiting.address, watched.driver.amount)
      await watched.untilStatus(waiting.id, 'payment_detected')
      const credited = await watched.balances()
      expect(credited).not.toEqual(before)

      await node.reorganise(depth, 'waiting')
      for (const { invoice, outOfChain } of cases) await watched.untilStatus(invoice.id, outOfChain)
      await watched.untilRead()
      expect(await watched.balances()).toEqual(before)
      for (const { invoice } of cases) expect(await watched.paymentsOf(invoice.id)).toEqual(['detected'])
      expect(await watched.statusOf(waiting.id)).toBe('payment_detected')

      await untilAllWait(watched, [...cases.map(({ invoice }) => invoice), waiting])
      await node.mineOnly(await waitingOf(watched, txid))
      if (depth > 1) await node.rpc('generateblock', [await node.newAddress(), []])
      for (let mined = 2; mined < depth; mined++) await node.mineOnly([])
      for (const { invoice, inChain } of cases) await watched.untilStatus(invoice.id, inChain)
      await watched.untilRead()
      expect(await watched.balances()).toEqual(credited)
      expect(await watched.statusOf(untouched.id)).toBe('awaiting_payment')
      await node.mine(1)
      await watched.untilStatus(waiting.id, 'paid')
    },
  )
}

const FORGOTTEN_DEPTH = 12

/** Nobody has the bytes: the node forgot them, and the watcher was not there when they were sent. */
function describeForgottenPayment(watchedChain: () => Watched): void {
  test('a payment that node and watcher both forgot is given up, and counts again when a block holds it', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const first = await watched.watchAtTip()
    const invoice = await watched.openInvoice([first])
    await first.stop()
    const before = await watched.balances()
    const { hex } = await node.payMany([{ [invoice.address]: coinsOf(watched.driver.amount) }])
    await node.mine(FORGOTTEN_DEPTH)
    await watched.watchAtTip()
    await watched.untilStatus(invoice.id, 'paid')
    await node.reorganise(FORGOTTEN_DEPTH, 'waiting')
    await watched.untilStatus(invoice.id, 'manual_review')
    await watched.untilRead()
    expect(await watched.paymentsOf(invoice.id)).toEqual(['reorged'])
    expect(await watched.balances()).toEqual(before)
    await node.mineOnly([hex])
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.eventsOf(invoice.id)).toEqual([
      'payment_detected',
      'confirming',
      'paid',
      'manual_review',
    ])
  })
}

async function openCases(watched: Watched, watcher: Watching, depth: number): Promise<Case[]> {
  const { amount } = watched.driver
  const now = Date.now()
  const open = (changes: Parameters<Watched['openInvoice']>[1] = {}) =>
    watched.openInvoice([watcher], changes)
  const cancelled = await open()
  await cancelInvoice(
    { pool: watched.database.pools.api, clock: systemClock, issuedAddresses: anyAddress },
    {
      tenant: watched.tenant,
      invoiceId: cancelled.id,
      networkFacts: { tipHeightOf: () => null },
      requestId: 'req_test',
    },
  )
  const lost = await open({ createdAtMs: now - 60 * MINUTE_MS, expiresAtMs: now - 30 * MINUTE_MS })
  const late = await open({ createdAtMs: now - 30 * MINUTE_MS, expiresAtMs: now - 1 })
  for (const { id } of [lost, late]) await watched.untilStatus(id, 'expired')
  return [
    { invoice: await open(), pays: amount, inChain: 'paid', outOfChain: 'manual_review' },
    { invoice: await open(), pays: 2n * amount, inChain: 'overpaid', outOfChain: 'manual_review' },
    { invoice: await open(), pays: amount / 2n, inChain: 'partially_paid', outOfChain: 'payment_detected' },
    {
      invoice: await open(watched.needs(depth + 1)),
      pays: amount,
      inChain: 'confirming',
      outOfChain: 'payment_detected',
    },
    { invoice: late, pays: amount, inChain: 'paid', outOfChain: 'manual_review' },
    { invoice: lost, pays: amount, inChain: 'manual_review', outOfChain: 'manual_review' },
    { invoice: cancelled, pays: amount, inChain: 'manual_review', outOfChain: 'payment_detected' },
  ]
}

/** A node that changes its mind while a reorganisation is half in the books. */
function describeInterrupted(watchedChain: () => Watched): void {
  test('a credit on a branch that is left again before its checkpoint was written is taken back', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const before = await watched.balances()
    const [first] = await node.mine(2)
    await watched.untilRead()
    // Nobody looks while the node stands at the fork: the reorganisation is one step.
    await watched.stopWatchers()
    const mend = await watched.breakCheckpoints('higher')
    await node.rpc('invalidateblock', [first])
    const txid = await watched.chain.pay(invoice.address, watched.driver.amount)
    const [branch] = await node.mine(3)
    watched.watch()
    await watched.untilStatus(invoice.id, 'paid')
    await watched.stopWatchers()
    await node.rpc('invalidateblock', [branch])
    await node.rpc('reconsiderblock', [first])
    expect(await node.rpc<string[]>('getrawmempool')).toContain(txid)
    await mend()
    await watched.watchAtTip()
    await watched.untilStatus(invoice.id, 'manual_review')
    expect(await watched.paymentsOf(invoice.id)).toEqual(['detected'])
    expect(await watched.balances()).toEqual(before)
    await node.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
  })
}

/** Transactions of the mempool that a block may hold, but for one. */
async function waitingOf({ chain }: Watched, but: string): Promise<string[]> {
  return (await chain.node.rpc<string[]>('getrawmempool')).filter((txid) => txid !== but)
}

/** A node forgets what blocks deeper than its newest ten held: the watcher offers it again. */
async function untilAllWait(watched: Watched, invoices: readonly OpenInvoice[]): Promise<void> {
  const { rows } = await watched.database.owner.query<{ txid: string }>(
    'select txid from transfer where invoice_id = any($1)',
    [invoices.map(({ id }) => id)],
  )
  await until(
    async () => {
      const mempool = await watched.chain.node.rpc<string[]>('getrawmempool')
      return rows.every(({ txid }) => mempool.includes(txid))
    },
    { what: 'every payment waits in the mempool' },
  )
}
