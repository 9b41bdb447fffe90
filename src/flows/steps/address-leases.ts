import type { IssuedAddressCheck } from '../../core/address-batch.ts'
import type { DepositPlan, InvoicePlan } from '../../core/invoice/plan.ts'
import { findBatchOf } from '../../db/addresses/address-batches.ts'
import { endLeases, leaseAddresses } from '../../db/addresses/address-leases.ts'
import type { ClaimedAddress } from '../../db/invoices/invoices.ts'
import type { Pool } from '../../postgres/pool.ts'

/** For so long an address is kept for this process. A process that ends loses none: nobody has to give them back. */
const LEASE_SECONDS = 30
/** Used no later than this after it was asked for. One used too late is refused if somebody else has it. */
const USE_MS_MAX = 20_000
/** Leased at a time, at most. */
const AHEAD_MAX = 128
/** Invoices in a second below which each takes its own address: a lease would only keep them from others. */
const DEMAND_MIN = 8
/** Addresses left for others. A pool that runs low is claimed from one by one, by everybody's share. */
const LEFT_TO_OTHERS = 100
const SECOND_MS = 1_000

/** Addresses of one pool that this process may give out without asking the database first. */
export type AddressLeases = {
  /** One of them, checked against the signer's batch; null where none is at hand. */
  take(deposit: DepositPlan, merchantId: string, now: Date): LeasedAddress | null
  /** Back, if it was not used and nobody else has it. */
  giveBack(deposit: DepositPlan, leased: LeasedAddress): void
}

type LeasedAddress = ClaimedAddress & { readonly untilMs: number }

/** All that one invoice takes: that of its asset, and one of each other key family. */
export type LeasedAddresses = {
  readonly own: LeasedAddress
  readonly beside: readonly (LeasedAddress & { readonly deposit: DepositPlan })[]
}

/** Every address of a plan, or none. */
export function takeAddresses(
  leases: AddressLeases,
  { deposit, depositsBeside }: Pick<Extract<InvoicePlan, { kind: 'planned' }>, 'deposit' | 'depositsBeside'>,
  merchantId: string,
  now: Date,
): { readonly leased: LeasedAddresses; giveBack(): void } | null {
  const taken = [deposit, ...depositsBeside].flatMap((each) => {
    const one = leases.take(each, merchantId, now)
    return one === null ? [] : [{ ...one, deposit: each }]
  })
  const giveBack = () => {
    for (const { deposit: from, ...one } of taken) leases.giveBack(from, one)
  }
  const [own, ...beside] = taken
  if (own !== undefined && taken.length === 1 + depositsBeside.length)
    return { leased: { own, beside }, giveBack }
  giveBack()
  return null
}

type Stock = {
  leased: LeasedAddress[]
  /** Takes in the running second, and in the one before. */
  second: { startMs: number; takes: number; before: number }
  refill: Promise<void> | null
  /** Nothing is leased before. */
  restUntilMs: number
}

/** Leases as many as were asked for in the last second, beside the requests. */
export function createAddressLeases(options: {
  readonly pool: Pool
  readonly issued: IssuedAddressCheck
  readonly elapsedMs: () => number
  readonly onError: (error: unknown) => void
}): AddressLeases {
  const { pool, issued, elapsedMs, onError } = options
  // At most one for each network and form of address.
  const stocks = new Map<string, Stock>()
  const stockOf = ({ network, keyspace, form }: DepositPlan): Stock => {
    const key = `${keyspace}/${network}/${form}`
    const known = stocks.get(key)
    if (known !== undefined) return known
    const stock: Stock = {
      leased: [],
      second: { startMs: Number.NEGATIVE_INFINITY, takes: 0, before: 0 },
      refill: null,
      restUntilMs: Number.NEGATIVE_INFINITY,
    }
    stocks.set(key, stock)
    return stock
  }
  const lease = async (deposit: DepositPlan, stock: Stock, count: number): Promise<void> => {
    const untilMs = elapsedMs() + USE_MS_MAX
    const { keyspace } = deposit
    const terms = { count, toLeave: LEFT_TO_OTHERS, seconds: LEASE_SECONDS }
    const rows = await leaseAddresses(pool, deposit, terms)
    for (const [place, one] of rows.entries()) {
      if (!(await issued.isIssued(keyspace, one, () => findBatchOf(pool, keyspace, one.idx)))) {
        // It stays the next one of the pool, where `claimIssuedAddress` refuses it until somebody has looked.
        stock.restUntilMs = untilMs
        const rest = rows.slice(place).map(({ idx }) => idx)
        return endLeases(pool, keyspace, rest)
      }
      stock.leased.push({ ...one, untilMs })
    }
  }
  return {
    take: (deposit, merchantId, now) => {
      const stock = stockOf(deposit)
      const nowMs = elapsedMs()
      const demand = countTake(stock, nowMs)
      while (stock.leased[0] !== undefined && stock.leased[0].untilMs < nowMs) stock.leased.shift()
      const taken = stock.leased.shift() ?? null
      if (taken !== null) issued.shares.took(deposit.keyspace, merchantId, now.getTime())
      const count = Math.min(demand, AHEAD_MAX)
      const isLow = count >= DEMAND_MIN && stock.leased.length < count / 2
      if (isLow && nowMs >= stock.restUntilMs)
        stock.refill ??= lease(deposit, stock, count)
          // Without a lease each request asks for itself, and says what is wrong.
          .catch((error: unknown) => {
            stock.restUntilMs = nowMs + SECOND_MS
            onError(error)
          })
          .finally(() => {
            stock.refill = null
          })
      return taken
    },
    giveBack: (deposit, leased) => {
      stockOf(deposit).leased.push(leased)
    },
  }
}

function countTake({ second }: Stock, nowMs: number): number {
  const ageMs = nowMs - second.startMs
  if (ageMs >= SECOND_MS)
    Object.assign(second, { startMs: nowMs, takes: 0, before: ageMs < 2 * SECOND_MS ? second.takes : 0 })
  second.takes += 1
  return Math.max(second.takes, second.before)
}
