import { LRUCache } from 'lru-cache'
import { isAddressOf } from '../chain/address-text.ts'
import {
  addressAt,
  addressesOf,
  type IssuedAddressCheck,
  type PooledAddress,
  type SignedBatch,
} from '../core/address-batch.ts'
import { AddressShares } from '../core/address-shares.ts'
import type { Keyspace } from '../core/assets.ts'
import { entriesUpTo } from '../runtime/cache-size.ts'
import type { Log } from '../runtime/log.ts'
import { type AddressKeys, readAddressKeys } from './address-keys.ts'
import { isBatchSigned } from './batch-signature.ts'

/** A refusal is an alarm, and is counted. */
export type IssuedAddresses = IssuedAddressCheck & {
  /** How often an address was refused since the start, and why it was the last time. */
  readonly refusals: { readonly count: number; readonly reason: string | null }
}

/** Addresses of checked batches that are remembered: some hundred bytes each. */
const CHECKED_MAX = 20_000

/** What the signer signed for an index, and how it was written when it was checked. */
type Checked = { readonly addressBytes: Uint8Array; address: string | null }

/**
 * Checks against the keys in a file that the signer wrote, and never against a key of the database. Without the
 * file nothing passes.
 */
export function createIssuedAddresses(options: {
  readonly keysPath: string
  readonly log: Log
}): IssuedAddresses {
  const { keysPath, log } = options
  const checked = new LRUCache<string, Checked>(entriesUpTo(CHECKED_MAX))
  const refusals: { count: number; reason: string | null } = { count: 0, reason: null }
  let keys: AddressKeys | null = null

  const reasonAgainst = async (
    keyspace: Keyspace,
    pooled: PooledAddress,
    loadBatch: () => Promise<SignedBatch | null>,
  ): Promise<string | null> => {
    if (isChecked(checked.get(`${keyspace}/${pooled.idx}`), keyspace, pooled)) return null
    if (keys?.get(keyspace) === undefined) keys = await readKeys(keysPath)
    const key = keys?.get(keyspace)
    if (key === undefined) return `${keysPath} names no key of the signer: copy the file of its machine there`
    const batch = await loadBatch()
    if (batch === null || !holds(batch, keyspace, pooled)) return 'it is in no batch of the signer'
    if (!isBatchSigned(batch, key)) return 'its batch is not signed by the signer'
    for (const [place, addressBytes] of addressesOf(batch).entries())
      checked.set(`${keyspace}/${batch.first + place}`, { addressBytes, address: null })
    return null
  }

  return {
    refusals,
    shares: new AddressShares(),
    isIssued: async (keyspace, pooled, loadBatch, invoiceId) => {
      const reason = await reasonAgainst(keyspace, pooled, loadBatch)
      if (reason === null) return true
      refusals.count += 1
      refusals.reason = reason
      log.error(
        { keyspace, index: pooled.idx, address: pooled.address, reason, invoiceId },
        invoiceId === undefined
          ? 'an address of the pool was not given out, for the signer did not sign it: no invoice is made in this coin until that is fixed'
          : 'the address of an invoice was not shown, for the signer did not sign it for this invoice: run paylink audit, and find out who writes to the database',
      )
      return false
    },
  }
}

/** The text is written anew once, and compared from then on. */
function isChecked(known: Checked | undefined, keyspace: Keyspace, pooled: PooledAddress): boolean {
  if (known === undefined || !Buffer.from(known.addressBytes).equals(pooled.addressBytes)) return false
  if (known.address === pooled.address) return true
  if (!isAddressOf(keyspace, known.addressBytes, pooled.address)) return false
  known.address = pooled.address
  return true
}

/** A file that cannot be read counts as none: the reason names it. */
async function readKeys(path: string): Promise<AddressKeys | null> {
  try {
    return await readAddressKeys(path)
  } catch {
    return null
  }
}

/** Whether the batch names exactly this address, in its bytes and in its text, at its index. */
export function holds(
  batch: SignedBatch,
  keyspace: Keyspace,
  { idx, addressBytes, address }: PooledAddress,
): boolean {
  if (batch.keyspace !== keyspace || idx < batch.first) return false
  const signed = addressAt(batch, idx - batch.first)
  return (
    signed.length > 0 && Buffer.from(signed).equals(addressBytes) && isAddressOf(keyspace, signed, address)
  )
}
