import { expect, test } from 'vitest'
import { advanceInvoice } from '../../src/core/invoice/advance.ts'
import { amountsOf, deriveStatus, remainingIn, sumsOf } from '../../src/core/invoice/status.ts'
import type { InvoiceEffect } from '../../src/core/invoice/types.ts'
import { measureOf } from '../../src/core/invoice/value.ts'
import { seededRandom } from '../support/random.ts'
import { InvoiceOracle } from './invoice-oracle.ts'
import { InvoiceWorld } from './invoice-world.ts'

const HISTORIES = process.env.LONG === '1' ? 1_000_000 : 20_000
const STEPS_MAX = 24
const DUST = 294n
/** Seeds that once failed stay in the run. */
const KEPT_SEEDS: readonly number[] = []

/** Plays one history; throws, naming the seed and the steps, where a promise is broken. */
function playHistory(seed: number): { effects: readonly InvoiceEffect[] } {
  const random = seededRandom(seed)
  const world = new InvoiceWorld(random)
  const oracle = new InvoiceOracle(world)
  const steps = 3 + random.below(STEPS_MAX)
  const demand = (holds: boolean, promise: string): void => {
    if (!holds) throw new Error(`seed ${seed}: ${promise}\n${world.log.join(' → ')}`)
  }
  for (let step = 0; step < steps; step++) {
    const status = oracle.follow(world.step())
    const actual = deriveStatus(world.invoice)
    demand(actual === status, `status is ${actual}, the facts say ${status}`)
    demand(world.invoice.expiredAtMs === null || world.wasReadPastDeadline, 'it expired before all was read')
    checkAmounts(world, demand)
    checkPayments(world, oracle, demand)
    checkDust(world, demand)
    checkRepetition(world, demand)
  }
  checkEvents(world.effects, demand)
  return { effects: world.effects }
}

type Demand = (holds: boolean, promise: string) => void

/** Every transfer stands on the invoice once, and its value once in the ledger, in the bucket of its facts. */
function checkPayments(world: InvoiceWorld, oracle: InvoiceOracle, demand: Demand): void {
  const standing = new Map<string, string>()
  const posted = new Set<string>()
  for (const effect of world.effects) {
    if (effect.kind !== 'posting') continue
    const id = `${effect.payment.txid}:${effect.number}`
    demand(!posted.has(id), `posting ${id} was made twice`)
    posted.add(id)
    demand(
      (standing.get(effect.payment.txid) ?? 'none') === effect.from,
      `posting ${id} leaves an empty bucket`,
    )
    standing.set(effect.payment.txid, effect.to)
  }
  const seen = new Set(world.invoice.payments.map((payment) => payment.txid))
  const own = world.invoice.payments.filter(({ isBlockSum }) => !isBlockSum)
  demand(new Set(own.map(({ txid }) => txid)).size === own.length, 'a transfer is on the invoice twice')
  for (const transfer of world.transfers) {
    demand(
      transfer.amount < DUST || seen.has(transfer.txid),
      `transfer ${transfer.txid} is not on the invoice`,
    )
    const bucket = standing.get(transfer.txid) ?? 'none'
    const expected = oracle.bucketOf(transfer)
    demand(bucket === expected, `${transfer.txid} stands in ${bucket}, not in ${expected}`)
  }
}

/** Dust is in the sum of its block, once, and nowhere else. */
function checkDust(world: InvoiceWorld, demand: Demand): void {
  const inBlocks = world.transfers.filter(({ amount, place }) => amount < DUST && typeof place === 'number')
  const summed = world.invoice.payments.flatMap(({ isBlockSum, block, parts }) =>
    isBlockSum && block !== null ? (parts ?? []).map(({ txid }) => `${block.hash}:${txid}`) : [],
  )
  const expected = inBlocks.map(({ txid, blockHash }) => `${blockHash}:${txid}`)
  demand(summed.toSorted().join() === expected.toSorted().join(), `dust is summed as ${summed.join()}`)
}

/**
 * What it says is left pays it, in either token and never a base unit more than needed; and what it says has come agrees
 * with that and with its status.
 */
function checkAmounts({ invoice, rates, isAnyNetwork }: InvoiceWorld, demand: Demand): void {
  const { detected, remaining } = amountsOf(invoice)
  demand(remaining === remainingIn(invoice, invoice.asset), 'what is left is said in two ways')
  demand(detected + remaining >= invoice.amount, 'what came and what is left are less than what is due')
  if (remaining > 0n) demand(detected + remaining === invoice.amount, 'what came and what is left are more')
  if (rates === null || !isAnyNetwork) return
  const { due } = measureOf(invoice)
  const missing = due - sumsOf(invoice).detected
  for (const asset of ['LTC', 'BTC'] as const) {
    const left = remainingIn(invoice, asset)
    const isEnough = left * rates[asset] >= missing
    const isNeeded = left === 0n ? missing <= 0n : (left - 1n) * rates[asset] < missing
    demand(isEnough && isNeeded, `${left} of ${asset} is not what is left`)
  }
}

/** Telling the last facts again has no effect at all. */
function checkRepetition(world: InvoiceWorld, demand: Demand): void {
  if (world.lastInput?.kind !== 'transfers') return
  const again = advanceInvoice(world.invoice, world.lastInput)
  demand(again.kind === 'advanced' && again.effects.length === 0, 'the same facts told twice had an effect')
}

function checkEvents(effects: readonly InvoiceEffect[], demand: Demand): void {
  const count = new Map<string, number>()
  for (const effect of effects) {
    if (effect.kind !== 'event') continue
    count.set(effect.type, (count.get(effect.type) ?? 0) + 1)
    const status = deriveStatus(effect.snapshot)
    if (effect.type === 'invoice.confirming')
      demand(count.has('invoice.payment_detected'), 'confirming was told before detected')
    for (const exact of ['paid', 'overpaid', 'partially_paid', 'expired']) {
      if (effect.type === `invoice.${exact}`) demand(status === exact, `invoice.${exact} says ${status}`)
    }
  }
  for (const once of ['invoice.paid', 'invoice.overpaid', 'invoice.payment_detected', 'invoice.expired']) {
    demand((count.get(once) ?? 0) <= 1, `${once} was told ${count.get(once)} times`)
  }
  const payments = effects.flatMap((effect) => (effect.kind === 'event' ? effect.snapshot.payments : []))
  const followed = new Set(payments.map((payment) => payment.id)).size
  demand((count.get('invoice.confirming') ?? 0) <= followed, 'a payment was told as confirming twice')
}

test(`in ${HISTORIES} random histories every transfer counts once and the status follows from the facts`, {
  timeout: 60 * 60_000,
}, () => {
  const reached = new Set<string>()
  for (const seed of KEPT_SEEDS) playHistory(seed)
  for (let seed = 1; seed <= HISTORIES; seed++) {
    for (const effect of playHistory(seed).effects)
      reached.add(effect.kind === 'event' ? effect.type : effect.to)
  }
  // The histories are worth something only if they reach everything.
  expect([...reached].sort()).toEqual([
    'available',
    'invoice.confirming',
    'invoice.expired',
    'invoice.manual_review',
    'invoice.overpaid',
    'invoice.paid',
    'invoice.partially_paid',
    'invoice.payment_detected',
    'none',
    'pending',
    'suspense',
  ])
})
