import type { Network } from '../../../core/assets.ts'
import type { Outcome } from '../../../secrets/outcome-key.ts'
import { listSignedFunds } from '../../store/solana-funding.ts'
import { sealedOf } from '../outcomes.ts'
import type { SigningContext } from '../signing-context.ts'

/**
 * What of the fee payer's lies on a deposit address, lamports: what it put there, as far as the watcher's process has sealed
 * that it arrived, less all that was signed to take it back and is not sealed as failed. By rows alone a buyer's payment would go
 * to the fee payer. Under the name of two one transaction happens once.
 */
export async function reclaimableAt(
  signer: SigningContext,
  network: Network,
  index: number,
): Promise<bigint> {
  const moves = await listSignedFunds(signer.pool, network, index)
  const outcomeOf = ({ id, kind, txid }: (typeof moves)[number]): Outcome =>
    kind === 'fund'
      ? { kind: 'landed', network, txid }
      : { kind: 'failed', network, payoutId: id, txids: [txid] }
  const isSealed = await sealedOf(signer, network, moves.map(outcomeOf))
  const arrived = new Map<string, bigint>()
  const taken = new Map<string, bigint>()
  for (const move of moves) {
    if (move.kind === 'reclaim') taken.set(move.txid, move.lamports)
    else if (isSealed(outcomeOf(move))) arrived.set(move.txid, move.lamports)
  }
  for (const move of moves) if (move.kind === 'reclaim' && isSealed(outcomeOf(move))) taken.delete(move.txid)
  return sumOf(arrived) - sumOf(taken)
}

const sumOf = (lamports: ReadonlyMap<string, bigint>): bigint =>
  [...lamports.values()].reduce((sum, each) => sum + each, 0n)
