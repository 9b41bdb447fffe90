/** Addresses whose derivation only the signer knows, as it hands them out. */
export type AddressBatch = {
  readonly keyspace: string
  /** Index of the first; the others follow without a gap. */
  readonly first: number
  /** Owners one after another, `PROGRAM_BYTES` each. */
  readonly programs: Uint8Array
}

export const PROGRAM_BYTES = 32
const DOMAIN = 'paylink address batch 1'

/**
 * What the signer signs (Ed25519): a name that no other message begins with, the keyspace, the first index, and all
 * owners, so that neither may another keyspace's or index's addresses be put in their place.
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
