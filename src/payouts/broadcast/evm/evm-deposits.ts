import { isToken } from '../../../core/assets.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import { deleteFrozenDeposit, saveFrozenDeposit, takeFrozenToCheck } from '../../store/frozen-deposits.ts'
import type { SweepableAddress } from '../../store/sweep-sources.ts'
import { unlessRefused } from '../unless-refused.ts'
import type { EvmBroadcasterParts, EvmPayoutChain } from './evm-broadcaster-parts.ts'
import { refusalOf } from './token-refusal.ts'

/** Frozen deposits are asked about this often, so many of them. */
const FROZEN_EVERY_MS = 10 * 60_000
const FROZEN_MAX = 20

export const addressText = ({ address }: { readonly address: Buffer }): string =>
  `0x${address.toString('hex')}`

/** `unclear`: what the node says of it contradicts itself. */
type DepositState = 'usable' | 'frozen' | 'short' | 'unclear'

/** Of the addresses looked at; `short`: worth of those that hold less, `unanswered`: of those that the node said nothing of. */
type Chosen = {
  readonly usable: readonly SweepableAddress[]
  readonly frozen: bigint
  readonly short: bigint
  readonly unanswered: bigint
}

/** The first of these that together are worth so much, or all. */
export function firstWorth(
  addresses: readonly SweepableAddress[],
  worth: bigint,
): readonly SweepableAddress[] {
  let left = worth
  return addresses.filter(({ amount }) => {
    const isNeeded = left > 0n
    left -= amount
    return isNeeded
  })
}

/** What the chain has at deposit addresses, as far as sweeps can move it. */
export class EvmDeposits {
  readonly #parts: EvmBroadcasterParts
  readonly #alerts = new DeduplicatedLog()
  #recheckedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvmBroadcasterParts) {
    this.#parts = parts
  }

  /** The largest addresses that together hold what is missing and can be moved from, and what was found otherwise on the way. */
  async choose(
    payout: Payout,
    addresses: readonly SweepableAddress[],
    { missing, hot }: { readonly missing: bigint; readonly hot: Uint8Array },
  ): Promise<Chosen> {
    const chosen = { usable: [] as SweepableAddress[], frozen: 0n, short: 0n, unanswered: 0n }
    let left = missing
    for (const found of addresses) {
      if (left <= 0n) break
      const { amount } = found
      const state = await this.#alone(addressText(found), () => this.#stateOf(payout, found, hot))
      if (state === undefined || state === 'unclear') chosen.unanswered += amount
      else if (state === 'usable') {
        chosen.usable.push(found)
        left -= amount
      } else chosen[state] += amount
    }
    return chosen
  }

  async #stateOf(payout: Payout, found: SweepableAddress, hot: Uint8Array): Promise<DepositState> {
    const chain = this.#parts.providers.current
    const { address, amount } = found
    const isOfToken = isToken(payout.asset)
    const held = isOfToken
      ? await chain.tokenBalanceOf(payout.asset, address)
      : await chain.balanceOf(address)
    if (held < amount) {
      this.#alert(payout.id, `${addressText(found)} holds less than its deposits`)
      return 'short'
    }
    return isOfToken ? this.#tokenState(payout, found, hot) : 'usable'
  }

  /**
   * Whether the token's contract lets this sweep happen: signed all the same it would cost gas, again and again. From a
   * frozen address it moves nothing at all. What moves nothing but not the amount comes from servers behind one URL that
   * are at different blocks: the next look asks again.
   */
  async #tokenState(payout: Payout, found: SweepableAddress, hot: Uint8Array): Promise<DepositState> {
    const { pool, providers, network, clock, log } = this.#parts
    const { address, amount, transferIds } = found
    const { asset, merchantId } = payout
    const move = { asset, from: address, to: hot }
    const reason = await refusalOf(providers.current, { ...move, amount })
    const where = addressText(found)
    if (reason === null) {
      providers.isNotRefused(where)
      await deleteFrozenDeposit(pool, { merchantId, network, asset, address })
      return 'usable'
    }
    if ((await refusalOf(providers.current, { ...move, amount: 0n })) === null) {
      providers.isNotRefused(where)
      this.#alert(payout.id, `the node contradicts itself about what ${where} holds`)
      return 'unclear'
    }
    const isFrozenBy = async (chain: EvmPayoutChain) =>
      (await refusalOf(chain, { ...move, amount: 0n })) !== null
    if (!(await providers.isRefusedForGood(where, isFrozenBy))) return 'unclear'
    const kept = { network, asset, address, amount, reason, transferId: transferIds[0] ?? '' }
    await saveFrozenDeposit(pool, tenantOf(payout), kept, clock())
    if (this.#alerts.isNew(where, 'frozen'))
      log.error({ network, address: where, reason }, 'a deposit cannot be swept: its issuer has frozen it')
    return 'frozen'
  }

  /** Asks again about frozen deposits, a few at a time: an issuer may let go of them, and what is not there any more is not frozen. */
  async recheckFrozen(hot: Uint8Array): Promise<void> {
    const { pool, network, tokens, clock } = this.#parts
    const now = clock()
    if (!isDue(this.#recheckedAtMs, FROZEN_EVERY_MS, now.getTime())) return
    this.#recheckedAtMs = now.getTime()
    const before = new Date(now.getTime() - FROZEN_EVERY_MS)
    const assets = tokens.map(({ asset }) => asset)
    for (const one of await takeFrozenToCheck(pool, network, { assets, before, now, limit: FROZEN_MAX }))
      await this.#alone(addressText(one), () => this.#recheckOne(one, hot))
  }

  async #recheckOne(
    one: Awaited<ReturnType<typeof takeFrozenToCheck>>[number],
    hot: Uint8Array,
  ): Promise<void> {
    const { pool, providers } = this.#parts
    const { asset, address: from, amount } = one
    const isGone = (await providers.current.tokenBalanceOf(asset, from)) < amount
    if (!isGone && (await refusalOf(providers.current, { asset, from, to: hot, amount: 0n })) !== null) return
    providers.isNotRefused(addressText(one))
    await deleteFrozenDeposit(pool, one)
  }

  /** Undefined where the node refuses a question about this one: the others do not wait for it. */
  #alone<Result>(about: string, work: () => Promise<Result>): Promise<Result | undefined> {
    return unlessRefused(this.#parts, { about, alerts: this.#alerts }, work)
  }

  #alert(about: string, reason: string): void {
    if (this.#alerts.isNew(about, reason)) this.#parts.log.warn({ about, reason }, 'a sweep cannot be made')
  }
}
