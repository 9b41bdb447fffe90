import { sumOwnDeposits } from '../../store/deposit-owners.ts'
import type { Sweep } from '../../store/sweeps.ts'
import { alert } from '../alert.ts'
import { sealedOf } from '../outcomes.ts'
import { isSweepId } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import type { EvmTerms } from './evm-terms.ts'
import { depositAddress } from './sign-evm.ts'

const DAY_MS = 24 * 3_600_000
/**
 * Sweeps of tokens on one network, signed within a day, that were not seen to land: each that moves nothing costs gas all the
 * same, and who writes deposits that never were asks for any number. Twice as many as may wait for a block.
 */
const UNLANDED_PER_DAY_MAX = 64

/** Whether a sweep is of deposits of its own merchant, and of all that it is worth; what was signed was found so before. */
export async function takesOwnDeposits(
  signer: SigningContext,
  sweep: Sweep,
  { account }: EvmTerms,
): Promise<boolean> {
  const address = depositAddress(account, sweep.keyIndex)
  if (isSweepId(sweep.id) && (await sumOwnDeposits(signer.pool, sweep, address)) === sweep.amount) return true
  alert(signer, sweep, 'a sweep is not worth deposits of its own merchant, and is not signed')
  return false
}

/**
 * Whether a sweep takes the address's next nonce, by the signer's own journal or, where something else was sent from it, by the
 * watcher's seal. By another nonce it would wait for ever, and so would its deposits.
 */
export async function leavesNoGap(signer: SigningContext, sweep: Sweep): Promise<boolean> {
  const { network } = sweep
  const nonce = sweep.nonce ?? sweep.delegationNonce
  const address = sweep.address.toString('hex')
  if (nonce === null || nonce <= signer.journal.nextNonceOf(network, address)) return true
  const outcome = { kind: 'next_nonce', network, address, nonce } as const
  if ((await sealedOf(signer, network, [outcome]))(outcome)) return true
  alert(signer, sweep, 'a sweep has a nonce that nothing leads up to, and is not signed')
  return false
}

/** Whether so many sweeps of a day moved nothing, or have not yet, that no new one is signed. */
export async function isOverLost(signer: SigningContext, sweep: Sweep): Promise<boolean> {
  const { network } = sweep
  const fetches = signer.journal.fetchesWithin(DAY_MS, signer.clock().getTime(), network)
  if (fetches.length < UNLANDED_PER_DAY_MAX) return false
  const landed = fetches.map((entries) =>
    entries.map(({ txid }) => ({ kind: 'landed', network, txid }) as const),
  )
  const isSealed = await sealedOf(signer, network, landed.flat())
  const lost = landed.filter((outcomes) => !outcomes.some(isSealed)).length
  if (lost < UNLANDED_PER_DAY_MAX) return false
  alert(
    signer,
    { id: network },
    `${UNLANDED_PER_DAY_MAX} sweeps of tokens within a day moved nothing; others wait`,
  )
  return true
}
