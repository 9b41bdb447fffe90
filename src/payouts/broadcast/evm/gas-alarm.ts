import { encodeEvmAddress } from '../../../chain/evm/address.ts'
import { type GasBalance, readGasBalance } from '../../store/read-gas-balance.ts'
import type { EvmBroadcasterParts } from './evm-broadcaster-parts.ts'

/** A sandbox chain's ether takes a block to arrive. */
const TOP_UP_EVERY_MS = 30_000

/**
 * Raises an alarm when a hot wallet has little ether left for the gas that it pays for others, or less than merchants have
 * in it, and says when it has enough again. On a sandbox chain it has some sent instead, before anything needs it: payments
 * by x402 are taken only then.
 */
export class GasAlarm {
  readonly #parts: EvmBroadcasterParts
  /** What the log was last told that it lacks. */
  #raised: 'owed' | 'gas' | null = null
  #wasShort = false
  #toppedUpAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvmBroadcasterParts) {
    this.#parts = parts
  }

  /** Looks at what was last kept of the wallet. True while ether that was sent to it is yet to come. */
  async look(): Promise<boolean> {
    const { pool, network, topUp, clock } = this.#parts
    const standing = await readGasBalance(pool, network)
    if (standing === null) return false
    if (topUp === null) {
      this.#tell(standing)
      return false
    }
    if (!standing.isLow) return false
    const nowMs = clock().getTime()
    if (nowMs - this.#toppedUpAtMs < TOP_UP_EVERY_MS) return true
    this.#toppedUpAtMs = nowMs
    await topUp(standing.address)
    return true
  }

  #tell({ address, own, isLow, isNeeded }: GasBalance): void {
    const { network, log } = this.#parts
    const isShort = own < 0n
    // What leaves between two questions to a node looks like a lack for one look.
    const isDoubtful = isShort && !this.#wasShort
    this.#wasShort = isShort
    const lack = isShort ? 'owed' : isLow && isNeeded ? 'gas' : null
    if (lack === this.#raised || isDoubtful) return
    this.#raised = lack
    const about = { network, address: encodeEvmAddress(address), wei: own.toString() }
    if (lack === null) log.info(about, 'the hot wallet has enough ether again')
    else
      log.error(
        about,
        lack === 'gas'
          ? 'the hot wallet is low on gas: USDC payouts wait until somebody sends it ether'
          : 'the hot wallet lacks ether that merchants have in it: payouts wait until somebody sends it so much',
      )
  }
}
