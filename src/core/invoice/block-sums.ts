import { COINS } from '../assets.ts'
import { isAskedFor, sumsOf } from './status.ts'
import type { Invoice, Payment, PaymentPart, TransferFact } from './types.ts'
import { measureOf } from './value.ts'

/**
 * Payments of an invoice that are kept one by one. What comes beyond them, and all dust, is kept as one sum for each
 * block: whoever sends thousands of small payments makes one row in each block, and no more.
 */
export const PAYMENTS_MAX = 50

/**
 * Beyond them, payments that by themselves bring what is due are kept one by one as well, so that nobody can keep a
 * buyer's payment from counting by sending small ones first. In a block each has cost its sender the amount; in the mempool
 * it may still be replaced, over and over, so these take half of the room at most.
 */
export const WHOLE_PAYMENTS_MAX = 20
const WHOLE_IN_MEMPOOL_MAX = 10

/** Below the places of all other sums of a block. */
const DUST_FROM = -1_000

/** Identifies a transfer within its invoice. */
export const keyOfTransfer = ({
  network,
  txid,
  outputIndex,
}: Pick<Payment, 'network' | 'txid' | 'outputIndex'>): string => `${network}:${txid}:${outputIndex}`

export const isDust = ({ asset, amount }: Pick<TransferFact, 'asset' | 'amount'>): boolean =>
  amount < COINS[asset].dustBelow

/** Whether it is a sum of a block: a credit of the block's own also has its hash in place of a transaction's. */
export const isOfSum = ({ outputIndex }: Pick<TransferFact, 'outputIndex'>): boolean => outputIndex < 0

/** Whether a sum is of what is dust by itself: that does not become money by coming often. */
export const isDustSum = ({ outputIndex }: Pick<TransferFact, 'outputIndex'>): boolean =>
  outputIndex < DUST_FROM

/** A fact about one payment, with an id for it in case it is new. */
export type PaymentFact = TransferFact & { readonly newId: string; readonly isBlockSum: boolean }

/**
 * Facts about transfers as facts about payments. A transfer without a payment of its own is part of its block's sum; in
 * the mempool it is nothing yet. Where there is room for some only, the largest get payments of their own, and beyond
 * that room those that bring what is due.
 */
export function aboutPayments(
  invoice: Invoice,
  facts: readonly TransferFact[],
  newIds: readonly string[],
): PaymentFact[] {
  const known = new Map(invoice.payments.map((payment) => [keyOfTransfer(payment), payment]))
  const isNew = (fact: TransferFact) =>
    (fact.state === 'mempool' || fact.state === 'block') && !isDust(fact) && !known.has(keyOfTransfer(fact))
  const chosen = chooseOwn(invoice, facts, facts.filter(isNew))
  const sums = new BlockSums(known)
  const about = facts.flatMap((fact, index): PaymentFact[] => {
    const newId = newIds[index]
    if (newId === undefined) throw new Error('a fact came without an id for the payment that it may be about')
    const payment = known.get(keyOfTransfer(fact))
    if (payment === undefined && !chosen.has(fact)) {
      sums.add(fact, newId)
      return []
    }
    return [{ ...fact, newId, isBlockSum: payment?.isBlockSum === true }]
  })
  return [...about, ...sums.facts()]
}

/** Which new transfers, of all that are reported, get payments of their own. */
function chooseOwn(
  invoice: Invoice,
  facts: readonly TransferFact[],
  added: readonly TransferFact[],
): ReadonlySet<TransferFact> {
  const taken = invoice.payments.filter(({ isBlockSum }) => !isBlockSum).length
  const chosen = new Set(largest(invoice, added, Math.max(0, PAYMENTS_MAX - taken)))
  if (chosen.size === added.length) return chosen
  const isWhole = wholePaymentOf(invoice, facts)
  const wholes = added.filter((fact) => !chosen.has(fact) && isWhole(fact))
  for (const fact of largest(invoice, wholes, WHOLE_PAYMENTS_MAX)) {
    const room = fact.state === 'block' ? WHOLE_PAYMENTS_MAX : WHOLE_IN_MEMPOOL_MAX
    if (taken + chosen.size < PAYMENTS_MAX + room) chosen.add(fact)
  }
  return chosen
}

/**
 * Whether a transfer by itself brings what the invoice asks for, or what blocks have left of that, and is in no sum yet.
 * What waits in the mempool leaves all of it due: it can be replaced once small payments have taken the room.
 */
function wholePaymentOf(invoice: Invoice, facts: readonly TransferFact[]): (fact: TransferFact) => boolean {
  const included = new Set(facts.flatMap((fact) => (fact.state === 'block' ? [keyOfTransfer(fact)] : [])))
  const payments = invoice.payments.filter(
    (payment) => payment.block !== null || included.has(keyOfTransfer(payment)),
  )
  const { least: requested, worthOf } = measureOf(invoice)
  const due = requested - sumsOf({ ...invoice, payments }).detected
  const least = due > 0n && due < requested ? due : requested
  const summed = new Set(invoice.payments.flatMap(keysInSum))
  return (fact) => {
    if (!isAskedFor(invoice, fact.asset) || worthOf(fact) < least) return false
    const block = fact.state === 'block' ? fact.block.hash : fact.knownIn
    // What was summed when it was first read stays so, or another reading of its block would book it twice.
    return !(fact.parts ?? [fact]).some((part) => summed.has(keyInSum(block, part)))
  }
}

const keysInSum = ({ isBlockSum, block, parts }: Payment): string[] =>
  isBlockSum && block !== null ? (parts ?? []).map((part) => keyInSum(block.hash, part)) : []

const keyInSum = (block: string | null, { txid, outputIndex }: Pick<PaymentPart, 'txid' | 'outputIndex'>) =>
  `${block}:${txid}:${outputIndex}`

/** Those in the invoice's own coin come before those in another. */
function largest(invoice: Invoice, facts: readonly TransferFact[], count: number): readonly TransferFact[] {
  if (facts.length <= count) return facts
  const isOwn = ({ asset }: TransferFact) => Number(isAskedFor(invoice, asset))
  const bySize = (a: TransferFact, b: TransferFact) =>
    isOwn(b) - isOwn(a) || (a.amount === b.amount ? 0 : a.amount < b.amount ? 1 : -1)
  return facts.toSorted(bySize).slice(0, count)
}

type Draft = {
  /** The sum as a payment of its block, but for what it sums. */
  readonly fact: Omit<PaymentFact & { state: 'block' }, 'amount' | 'parts'>
  readonly parts: Map<string, PaymentPart>
}

/** What facts change in the sums of their blocks. */
class BlockSums {
  readonly #known: ReadonlyMap<string, Payment>
  readonly #drafts = new Map<string, Draft>()

  constructor(known: ReadonlyMap<string, Payment>) {
    this.#known = known
  }

  /** What left a block leaves its sum; what is in no block and was in none is nothing yet. */
  add(fact: TransferFact, newId: string): void {
    const { network, asset } = fact
    const txid = fact.state === 'block' ? fact.block.hash : fact.knownIn
    if (txid === null) return
    const outputIndex = COINS[asset].sumIndex + (isDust(fact) ? DUST_FROM : 0)
    const key = keyOfTransfer({ network, txid, outputIndex })
    const draft = this.#drafts.get(key) ?? this.#draft(fact, { key, txid, outputIndex, newId })
    if (draft === null) return
    // All of it waits for what waits longest, a coinbase's output for instance: it becomes money as a whole.
    const minimumConfirmations = Math.max(draft.fact.minimumConfirmations, fact.minimumConfirmations)
    this.#drafts.set(key, { ...draft, fact: { ...draft.fact, minimumConfirmations } })
    for (const part of fact.parts ?? [fact]) {
      const name = keyOfTransfer({ ...part, network })
      if (fact.state !== 'block') draft.parts.delete(name)
      else draft.parts.set(name, { txid: part.txid, outputIndex: part.outputIndex, amount: part.amount })
    }
  }

  #draft(
    fact: TransferFact,
    sum: {
      readonly key: string
      readonly txid: string
      readonly outputIndex: number
      readonly newId: string
    },
  ): Draft | null {
    const { key, ...identity } = sum
    const known = this.#known.get(key)
    const { parts: _parts, ...rest } = fact
    const wasThere = known !== undefined && known.block !== null
    if (wasThere && known.parts === null) throw new Error(`block sum ${known.id} came without its parts`)
    // A block that comes back is reported whole.
    const held = wasThere ? known.parts : null
    const parts = new Map(held?.map((part) => [keyOfTransfer({ ...part, network: fact.network }), part]))
    const knownIn = known?.block?.hash ?? null
    if (rest.state === 'block') return { fact: { ...rest, ...identity, knownIn, isBlockSum: true }, parts }
    if (known?.block == null) return null
    const place = { state: 'block', block: known.block, confirmations: 0 } as const
    return { fact: { ...rest, ...identity, ...place, knownIn, isBlockSum: true }, parts }
  }

  facts(): PaymentFact[] {
    return [...this.#drafts.values()].map(({ fact, parts }): PaymentFact => {
      const amount = [...parts.values()].reduce((sum, part) => sum + part.amount, 0n)
      if (parts.size > 0) return { ...fact, amount, parts: [...parts.values()] }
      const { block: _block, confirmations: _confirmations, tag: _tag, ...identity } = fact
      return { ...identity, amount, state: 'reorged' }
    })
  }
}
