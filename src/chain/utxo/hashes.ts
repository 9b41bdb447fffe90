import { hash, scryptSync } from 'node:crypto'
import type { UtxoChain } from '../../core/chain/utxo-parameters.ts'
import type { TransactionSpan } from './transaction-reader.ts'

export const HASH_BYTES = 32

/** SHA-256 twice, as Bitcoin hashes everything. */
export function sha256d(bytes: Uint8Array): Buffer {
  return hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer')
}

/**
 * The hash of a header that its chain mines with, as a number: a block's own hash on Bitcoin; on Litecoin scrypt with
 * N = 1024, r = p = 1 and the header as password and salt (about 2 ms).
 */
export function miningHash(chain: UtxoChain, header: Uint8Array): bigint {
  const bytes =
    chain === 'bitcoin' ? sha256d(header) : scryptSync(header, header, HASH_BYTES, { N: 1_024, r: 1, p: 1 })
  return BigInt(`0x${toDisplayHex(bytes)}`)
}

/** Hashes are shown with their bytes reversed. */
export function toDisplayHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString('hex')
}

/** The hash that is a transaction's id: without witness and extension data (BIP141). */
export function transactionHash(bytes: Uint8Array, span: TransactionSpan): Buffer {
  const { versionAt, bodyStart, bodyEnd, lockTimeAt } = span
  // Most inputs of the hash are few; one piece of memory is quicker than three updates.
  const plain = new Uint8Array(4 + (bodyEnd - bodyStart) + 4)
  plain.set(bytes.subarray(versionAt, versionAt + 4), 0)
  plain.set(bytes.subarray(bodyStart, bodyEnd), 4)
  plain.set(bytes.subarray(lockTimeAt, lockTimeAt + 4), plain.length - 4)
  return sha256d(plain)
}

/**
 * The root of the tree over transaction hashes, or null where two neighbours are equal: such a list has the
 * root of another, shorter one (CVE-2012-2459).
 */
export function merkleRoot(leaves: readonly Uint8Array[]): Uint8Array | null {
  let level: readonly Uint8Array[] = leaves
  const pair = new Uint8Array(HASH_BYTES * 2)
  while (level.length > 1) {
    const above: Uint8Array[] = []
    for (let index = 0; index < level.length; index += 2) {
      const left = level[index]
      if (left === undefined) throw new Error('a level of the tree has a gap')
      const right = level[index + 1]
      if (right !== undefined && Buffer.compare(left, right) === 0) return null
      pair.set(left, 0)
      pair.set(right ?? left, HASH_BYTES)
      above.push(sha256d(pair))
    }
    level = above
  }
  return level[0] ?? null
}
