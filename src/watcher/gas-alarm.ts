import { encodeEvmAddress } from '../chain/evm/address.ts'
import { readGasStanding } from '../db/read-gas-standing.ts'
import type { EvmCarriageParts } from './evm-carriage.ts'

/** A sandbox chain's ether takes a block to arrive. */
const TOP_UP_EVERY_MS = 30_000

/**
 * Raises an alarm when a hot wallet has little ether left for the gas that it pays for others, and says when it has some
 * again. On a sandbox chain it has some sent instead, before anything needs it: payments by x402 are taken only then.
 */
export class GasAlarm {
  readonly #parts: EvmCarriageParts
  #isRaised = false
  #toppedUpAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvmCarriageParts) {
    this.#parts = parts
  }

  /** Looks at what was last kept of the wallet. True while ether that was sent to it is yet to come. */
  async look(): Promise<boolean> {
    const { pool, network, log, topUp, clock } = this.#parts
    const standing = await readGasStanding(pool, network)
    if (standing === null || (topUp === null && !standing.isNeeded)) return false
    if (!standing.isLow) {
      if (this.#isRaised) log.info({ network }, 'the hot wallet has ether for gas again')
      this.#isRaised = false
      return false
    }
    if (topUp !== null) {
      const nowMs = clock().getTime()
      if (nowMs - this.#toppedUpAtMs < TOP_UP_EVERY_MS) return true
      this.#toppedUpAtMs = nowMs
      await topUp(standing.address)
      return true
    }
    if (this.#isRaised) return false
    this.#isRaised = true
    log.error(
      { network, address: encodeEvmAddress(standing.address), wei: standing.own.toString() },
      'the hot wallet is low on gas: USDC payouts wait until somebody sends it ether',
    )
    return false
  }
}
