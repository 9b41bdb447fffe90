import { bech32 } from '@scure/base'
import { ASSET_IDS, ASSETS, type AssetId } from '../core/assets.ts'
import { COMPARED_MAX, judgeDestination } from '../core/payout/judge-destination.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import {
  type FeeDestination,
  insertFeeDestination,
  listFeeDestinations,
  lockFeeDestinations,
} from './store/fee-destinations.ts'
import {
  countPayoutDestinations,
  insertPayoutDestination,
  isSignersAccount,
  listUsedAddresses,
  loadPayoutDestination,
  lockPayoutDestinations,
  type PayoutDestination,
} from './store/payout-destinations.ts'

type DestinationAdded<Destination> =
  | { readonly kind: 'added'; readonly destination: Destination }
  | { readonly kind: 'own' }
  | { readonly kind: 'lookalike'; readonly of: string }
  | { readonly kind: 'listed' }
  | { readonly kind: 'too_many' }

/**
 * Puts an address on the merchant's list, in the caller's transaction. An address that only looks like one of the list's is
 * refused: it was created to be taken for it. So is a wallet of the signer's own: a payout to it would leave the merchant's
 * balance and stay where it is.
 */
export async function addPayoutDestination(
  tx: Tx,
  input: {
    readonly tenant: Tenant
    readonly asset: AssetId
    /** Canonical. */
    readonly address: string
    readonly name: string
    readonly by: string
    readonly now: Date
  },
): Promise<DestinationAdded<PayoutDestination>> {
  const { tenant, asset, address, name, by, now } = input
  if (await isSignersAccount(tx, address, witnessProgramOf(address))) return { kind: 'own' }
  await lockPayoutDestinations(tx, tenant)
  const { keyFamily } = ASSETS[asset]
  const alike = ASSET_IDS.filter((other) => ASSETS[other].keyFamily === keyFamily)
  const used = await listUsedAddresses(tx, tenant, alike, COMPARED_MAX)
  const list = { used, listed: await countPayoutDestinations(tx, tenant), livemode: tenant.livemode }
  const judged = judgeDestination(address, list, now)
  if (judged.kind !== 'good') return judged
  const { usableAt } = judged
  const id = newId('payoutDestination', now)
  const added = { id, asset, address, name, createdAt: now, usableAt }
  if (!(await insertPayoutDestination(tx, tenant, { ...added, createdBy: by }))) return { kind: 'listed' }
  const destination = await loadPayoutDestination(tx, tenant, id)
  if (destination === null) throw new Error(`destination ${id} was written and is not there`)
  return { kind: 'added', destination }
}

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
): Promise<DestinationAdded<FeeDestination>> {
  const { livemode, asset, address, name, by, now } = input
  if (await isSignersAccount(tx, address, witnessProgramOf(address))) return { kind: 'own' }
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

/** What a segwit address stands for, whatever its chain (BIP173); null for any other address. */
function witnessProgramOf(address: string): Uint8Array | null {
  const decoded = bech32.decodeUnsafe(address)
  return decoded === undefined ? null : (bech32.fromWordsUnsafe(decoded.words.slice(1)) ?? null)
}
