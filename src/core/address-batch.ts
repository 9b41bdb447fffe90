import type { AddressShares } from './address-shares.ts'
import type { Keyspace } from './assets.ts'

/** A run of addresses as the signer issues them. */
export type AddressBatch = {
  readonly keyspace: Keyspace
  /** Index of the first; the others follow without a gap. */
  readonly first: number
  /** Witness programs, EVM addresses or Solana owners one after another, `addressLengthOf` each. */
  readonly addresses: Uint8Array
}

export type SignedBatch = AddressBatch & { readonly signature: Uint8Array }

/** An address as the pool has it. */
export type PooledAddress = {
  readonly idx: number
  readonly addressBytes: Uint8Array
  readonly address: string
}

/** Separates the signer's addresses from those that somebody else wrote into the database. */
export type IssuedAddressCheck = {
  /**
   * Whether the signer signed that this is the address of this index. `loadBatch` reads the batch that holds the
   * index; it is not asked for one that was checked before. `invoiceId` is of whom it is shown for, where it was
   * given out before.
   */
  isIssued(
    keyspace: Keyspace,
    pooled: PooledAddress,
    loadBatch: () => Promise<SignedBatch | null>,
    invoiceId?: string,
  ): Promise<boolean>
  /** Who takes how many of them. */
  readonly shares: AddressShares
}

const DOMAIN = 'paylink address batch 1'

/** Solana's owners are Ed25519 keys; witness programs (BIP141) and EVM addresses are hashes of 20 bytes. */
export const addressLengthOf = (keyspace: Keyspace): number => (keyspace.startsWith('solana-') ? 32 : 20)

/**
 * The message the signer signs (Ed25519): a prefix that no other message has, the keyspace, the first index and all
 * addresses, so that a signature is good for no other keyspace, index or address.
 */
export function addressBatchMessage({ keyspace, first, addresses }: AddressBatch): Uint8Array {
  const count = addresses.length / addressLengthOf(keyspace)
  const head = new TextEncoder().encode(`${DOMAIN}\n${keyspace}\n${first}\n${count}\n`)
  const message = new Uint8Array(head.length + addresses.length)
  message.set(head)
  message.set(addresses, head.length)
  return message
}

export function addressesOf(batch: Pick<AddressBatch, 'keyspace' | 'addresses'>): Uint8Array[] {
  const count = batch.addresses.length / addressLengthOf(batch.keyspace)
  return Array.from({ length: count }, (_, place) => addressAt(batch, place))
}

/** One address of a batch, by its place; empty where the batch is shorter. */
export function addressAt(
  { keyspace, addresses }: Pick<AddressBatch, 'keyspace' | 'addresses'>,
  place: number,
): Uint8Array {
  const bytes = addressLengthOf(keyspace)
  return addresses.slice(place * bytes, (place + 1) * bytes)
}
