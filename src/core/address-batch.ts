import type { AddressShares } from './address-shares.ts'
import type { Keyspace } from './assets.ts'

/** A run of addresses as the signer issues them. */
export type AddressBatch = {
  readonly keyspace: Keyspace
  /** Index of the first; the others follow without a gap. */
  readonly first: number
  /** Witness programs, EVM addresses or Solana owners one after another, `programBytesOf` each. */
  readonly programs: Uint8Array
}

export type SignedBatch = AddressBatch & { readonly signature: Uint8Array }

/** An address as the pool has it. */
export type PooledAddress = { readonly idx: number; readonly program: Uint8Array; readonly address: string }

/** Tells the signer's addresses from those that somebody else wrote into the database. */
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
export const programBytesOf = (keyspace: Keyspace): number => (keyspace.startsWith('solana-') ? 32 : 20)

/**
 * The message the signer signs (Ed25519): a prefix that no other message has, the keyspace, the first index and all
 * programs, so that a signature is good for no other keyspace, index or address.
 */
export function addressBatchMessage({ keyspace, first, programs }: AddressBatch): Uint8Array {
  const count = programs.length / programBytesOf(keyspace)
  const head = new TextEncoder().encode(`${DOMAIN}\n${keyspace}\n${first}\n${count}\n`)
  const message = new Uint8Array(head.length + programs.length)
  message.set(head)
  message.set(programs, head.length)
  return message
}

export function programsOf(batch: Pick<AddressBatch, 'keyspace' | 'programs'>): Uint8Array[] {
  const count = batch.programs.length / programBytesOf(batch.keyspace)
  return Array.from({ length: count }, (_, place) => programAt(batch, place))
}

/** One program of a batch, by its place; empty where the batch is shorter. */
export function programAt(
  { keyspace, programs }: Pick<AddressBatch, 'keyspace' | 'programs'>,
  place: number,
): Uint8Array {
  const bytes = programBytesOf(keyspace)
  return programs.slice(place * bytes, (place + 1) * bytes)
}
