import type { Keyspace } from './assets.ts'

/** Keyspaces whose addresses only the signer derives. */
export type IssuedKeyspace = Extract<Keyspace, `solana-${string}`>

export const isIssuedKeyspace = (keyspace: Keyspace): keyspace is IssuedKeyspace =>
  keyspace.startsWith('solana-')

/** A run of addresses that only the signer can derive, as it issues them. */
export type AddressBatch = {
  readonly keyspace: string
  /** Index of the first; the others follow without a gap. */
  readonly first: number
  /** Owners one after another, `PROGRAM_BYTES` each. */
  readonly programs: Uint8Array
}

export type SignedBatch = AddressBatch & { readonly signature: Uint8Array }

/** An address as the pool has it. */
export type PooledAddress = { readonly idx: number; readonly program: Uint8Array; readonly address: string }

/** Tells the signer's addresses from those that somebody else wrote into the database. */
export type IssuedAddressCheck = {
  /**
   * Whether the signer signed that this is the address of this index. `loadBatch` reads the batch that holds the
   * index; it is not asked for one that was checked before.
   */
  isIssued(
    keyspace: string,
    pooled: PooledAddress,
    loadBatch: () => Promise<SignedBatch | null>,
  ): Promise<boolean>
}

const PROGRAM_BYTES = 32
const DOMAIN = 'paylink address batch 1'

/**
 * The message the signer signs (Ed25519): a prefix that no other message has, the keyspace, the first index and all
 * owners, so that a signature is good for no other keyspace, index or address.
 */
export function addressBatchMessage({ keyspace, first, programs }: AddressBatch): Uint8Array {
  const head = new TextEncoder().encode(
    `${DOMAIN}\n${keyspace}\n${first}\n${programs.length / PROGRAM_BYTES}\n`,
  )
  const message = new Uint8Array(head.length + programs.length)
  message.set(head)
  message.set(programs, head.length)
  return message
}

export function programsOf({ programs }: Pick<AddressBatch, 'programs'>): Uint8Array[] {
  return Array.from({ length: programs.length / PROGRAM_BYTES }, (_, index) =>
    programs.slice(index * PROGRAM_BYTES, (index + 1) * PROGRAM_BYTES),
  )
}
