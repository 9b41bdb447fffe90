import { encodeEvmAddress } from '../chain/evm/address.ts'
import { readGasStanding } from '../db/read-gas-standing.ts'
import type { EvmCarriageParts } from './evm-carriage.ts'

/** A sandbox chain's ether takes a block to arrive. */
const TOP_UP_EVERY_MS = 30_000

/** Raises an alarm when a hot wallet has little ether left for the gas that it pays for others, and says when it has some again. */
export class GasAlarm {
  readonly #parts: EvmCarriageParts
  #isRaised = false
  #toppedUpAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvmCarriageParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { pool, network, log, topUp, clock } = this.#parts
    const standing = await readGasStanding(pool, network)
    if (standing === null || !standing.isNeeded) return
    if (!standing.isLow) {
      if (this.#isRaised) log.info({ network }, 'the hot wallet has ether for gas again')
      this.#isRaised = false
      return
    }
    const nowMs = clock().getTime()
    if (topUp !== null) {
      if (nowMs - this.#toppedUpAtMs < TOP_UP_EVERY_MS) return
      this.#toppedUpAtMs = nowMs
      return topUp(standing.address)
    }
    if (this.#isRaised) return
    this.#isRaised = true
    log.error(
      { network, address: encodeEvmAddress(standing.address), wei: standing.own.toString() },
      'the hot wallet is low on gas: USDC payouts wait until somebody sends it ether',
    )
  }
}
