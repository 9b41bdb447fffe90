import { expect, test } from 'vitest'
import type { OwnedTransfer } from '../../src/core/chain/owned-transfer.ts'
import {
  disconnectedBy,
  keyOfTracked,
  reconcileBlocks,
  type TrackedTransfer,
} from '../../src/core/chain/reconcile.ts'
import { advanceInvoice } from '../../src/core/invoice/advance.ts'
import { PAYMENTS_MAX, WHOLE_PAYMENTS_MAX } from '../../src/core/invoice/block-sums.ts'
import { bucketOf, deriveStatus } from '../../src/core/invoice/status.ts'
import type { BlockRef, Invoice, LedgerBucket } from '../../src/core/invoice/types.ts'
import { inBlock, makeInvoice } from '../support/invoice.ts'
import { type Random, seededRandom } from '../support/random.ts'

const HISTORIES = 1_000
const ROUNDS = 12
const DUST = 294n
const ASKED = 10n ** 12n

type WorldBlock = BlockRef & { readonly transfers: readonly OwnedTransfer[] }

/** A chain whose blocks go on paying one invoice that has all the payments it can have, and the invoice as recorded. */
class FloodedWorld {
  readonly random: Random
  /** How many transfers pay the invoice by themselves: a few, or more than get payments of their own. */
  readonly wholeChance: number
  invoice: Invoice
  chain: WorldBlock[] = [{ height: 0, hash: 'b0', timeMs: 0, transfers: [] }]
  /** What the watcher has read. */
  read: WorldBlock[] = [...this.chain]
  readonly buckets: { [bucket in LedgerBucket]: bigint } = {
    none: 0n,
    pending: 0n,
    suspense: 0n,
    available: 0n,
  }
  #names = 0

  constructor(random: Random) {
    this.random = random
    this.wholeChance = random.pick([0, 0.1, 0.9])
    const invoice = makeInvoice({ amount: ASKED })
    const first = Array.from({ length: PAYMENTS_MAX }, (_, index) => inBlock(`own${index}`, 1_000n, 2))
    const nowMs = invoice.createdAtMs
    const input = {
      kind: 'transfers',
      facts: first,
      newPaymentIds: first.map(({ txid }) => txid),
      nowMs,
    } as const
    const advance = advanceInvoice(invoice, input)
    if (advance.kind === 'refused') throw new Error(advance.code)
    this.invoice = advance.next
  }

  mine(): void {
    const height = this.chain.length
    const lost = this.chain.flatMap(({ transfers }) => transfers)
    const transfers = Array.from({ length: this.random.below(5) }, () => this.#transfer())
    // A transaction of a block that left the chain, in another.
    if (this.random.chance(0.3) && this.dropped.length > 0) {
      const back = this.random.pick(this.dropped)
      if (!lost.some(({ txid }) => txid === back.txid)) transfers.push(back)
    }
    this.chain.push({ height, hash: `b${this.#names++}`, timeMs: height, transfers })
  }

  dropped: OwnedTransfer[] = []

  #transfer(): OwnedTransfer {
    return {
      tenant: { merchantId: this.invoice.merchantId, livemode: false },
      invoiceId: this.invoice.id,
      txid: `t${this.#names++}`,
      outputIndex: this.random.below(3),
      asset: 'LTC',
      amount: this.#amount(),
      minimumConfirmations: 1,
    }
  }

  #amount(): bigint {
    if (this.random.chance(this.wholeChance)) return ASKED + BigInt(this.random.below(3))
    return this.random.chance(0.3) ? 100n : BigInt(300 + this.random.below(5_000))
  }

  reorganise(): void {
    const removed = this.chain.splice(Math.max(1, this.chain.length - 1 - this.random.below(3)))
    this.dropped = removed.flatMap(({ transfers }) => transfers)
    for (let count = this.random.below(4); count > 0; count--) this.mine()
  }

  /** One step of the watcher; the commit may be repeated, as after a crash before the checkpoint moved. */
  follow(): void {
    const ancestor = this.read.findLast((block) => this.chain[block.height]?.hash === block.hash)
    if (ancestor === undefined) throw new Error('no common ancestor')
    const above = this.chain.slice(ancestor.height + 1)
    const blocks = above.slice(0, this.random.chance(0.5) ? above.length : 1 + this.random.below(2))
    const { createdAtMs: readAtMs, merchantId, id: invoiceId } = this.invoice
    const owner = { tenant: { merchantId, livemode: false }, invoiceId }
    const tracked: TrackedTransfer[] = this.invoice.payments
      .filter(({ txid, block }) => !txid.startsWith('own') && block !== null)
      .map((payment) => ({ ...owner, payment: { ...payment, parts: null } }))
    const reading = {
      network: 'litecoin-test' as const,
      ancestor,
      blocks: blocks.map((block) => ({ block, transfers: block.transfers })),
      reachesTip: blocks.length === above.length,
      tracked,
      isFinalityDeferred: false,
      readAtMs,
    }
    for (const gone of disconnectedBy(reading)) expect(keyOfTracked(gone)).toContain(gone.payment.txid)
    const facts = reconcileBlocks(reading, reading.reachesTip ? new Set() : null).flatMap(
      (each) => each.facts,
    )
    this.#tell(facts)
    if (this.random.chance(0.3)) {
      // The checkpoint did not move: the next step reads the same blocks, and those above them, again.
      this.read = this.chain.slice(0, ancestor.height + 1)
      return
    }
    this.read = this.chain.slice(0, (blocks.at(-1) ?? ancestor).height + 1)
  }

  #tell(facts: ReturnType<typeof reconcileBlocks>[number]['facts']): void {
    const newPaymentIds = facts.map(() => `pay_${this.#names++}`)
    const nowMs = this.invoice.createdAtMs
    const advance = advanceInvoice(this.invoice, { kind: 'transfers', facts, newPaymentIds, nowMs })
    if (advance.kind === 'refused') throw new Error(advance.code)
    this.invoice = advance.next
    const events = advance.effects.filter(({ kind }) => kind === 'event')
    if (this.wholeChance === 0) expect(events.length).toBeLessThanOrEqual(1)
    for (const effect of advance.effects) {
      if (effect.kind !== 'posting') continue
      this.buckets[effect.from] -= effect.payment.amount
      this.buckets[effect.to] += effect.payment.amount
    }
  }
}

test('of a flooded invoice every unit above dust is booked once, whatever the chain takes back', () => {
  const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  for (let history = 0; history < HISTORIES; history++) {
    const seed = (first + history) % 2 ** 31
    try {
      playHistory(new FloodedWorld(seededRandom(seed)))
    } catch (error) {
      throw new Error(`history with SEED=${seed} failed`, { cause: error })
    }
  }
})

function playHistory(world: FloodedWorld): void {
  for (let round = 0; round < ROUNDS; round++) {
    if (world.random.chance(0.3)) world.reorganise()
    else world.mine()
    if (world.random.chance(0.7)) world.follow()
  }
  // Read to the tip, whichever commits are repeated.
  while (world.read.at(-1)?.hash !== world.chain.at(-1)?.hash) world.follow()
  world.follow()
  const { invoice, chain, buckets } = world
  const sumOf = (isWanted: (amount: bigint) => boolean) =>
    chain
      .flatMap(({ transfers }) => transfers)
      .reduce((sum, { amount }) => sum + (isWanted(amount) ? amount : 0n), 0n)
  const live = invoice.payments.filter(({ txid, block }) => !txid.startsWith('own') && block !== null)
  const standing = (dust: boolean) =>
    live.reduce((sum, payment) => sum + (payment.dust === dust ? payment.amount : 0n), 0n)
  expect(standing(false)).toBe(sumOf((amount) => amount >= DUST))
  expect(standing(true)).toBe(sumOf((amount) => amount < DUST))
  expect(buckets.pending + buckets.suspense + buckets.available).toBe(standing(false))
  for (const payment of invoice.payments) expect(payment.bucket).toBe(bucketOf(payment))
  const own = invoice.payments.filter(({ isBlockSum }) => !isBlockSum).length
  expect(own).toBeLessThanOrEqual(PAYMENTS_MAX + WHOLE_PAYMENTS_MAX)
  // Whoever paid in full has paid, where the room for such payments was not used up.
  const wholes = live.filter(({ amount, isBlockSum }) => amount >= ASKED && !isBlockSum)
  if (sumOf((amount) => amount >= ASKED) > 0n && own < PAYMENTS_MAX + WHOLE_PAYMENTS_MAX)
    expect(wholes.length).toBeGreaterThan(0)
  if (wholes.some(({ reviewReason, status }) => reviewReason === null && status === 'confirmed'))
    expect(['paid', 'overpaid']).toContain(deriveStatus(invoice))
}
