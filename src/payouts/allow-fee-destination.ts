import { ASSETS, type AssetId } from '../core/assets.ts'
import { COMPARED_MAX, judgeDestination } from '../core/payout/judge-destination.ts'
import type { Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import {
  type FeeDestination,
  insertFeeDestination,
  listFeeDestinations,
  lockFeeDestinations,
} from './store/fee-destinations.ts'

/** Puts an address on the operator's list, as a merchant's is put on theirs, in the caller's transaction. */
export async function allowFeeDestination(
  tx: Tx,
  input: {
    readonly livemode: boolean
    readonly asset: AssetId
    /** Canonical. */
    readonly address: string
    readonly name: string
    /** An operator. */
    readonly by: string
    readonly now: Date
  },
): Promise<
  | { readonly kind: 'added'; readonly destination: FeeDestination }
  | { readonly kind: 'lookalike'; readonly of: string }
  | { readonly kind: 'listed' }
  | { readonly kind: 'too_many' }
> {
  const { livemode, asset, address, name, by, now } = input
  await lockFeeDestinations(tx)
  const known = await listFeeDestinations(tx, livemode, COMPARED_MAX)
  const used = known.flatMap((one) =>
    ASSETS[one.asset].keyFamily === ASSETS[asset].keyFamily ? one.address : [],
  )
  const listed = known.filter(({ removedAt }) => removedAt === null).length
  const judged = judgeDestination(address, { used, listed, livemode }, now)
  if (judged.kind !== 'good') return judged
  const added = { id: newId('payoutDestination', now), asset, address, name, createdBy: by, createdAt: now }
  const destination = { ...added, usableAt: judged.usableAt }
  if (!(await insertFeeDestination(tx, livemode, destination))) return { kind: 'listed' }
  return { kind: 'added', destination: { ...destination, livemode, removedAt: null } }
}
