import type { Outpoint } from '../../core/chain/outpoint.ts'
import { AddressSet } from '../address-set.ts'
import { HASH_BYTES, toDisplayHex, transactionHash } from './hashes.ts'
import { TransactionReader } from './transaction-reader.ts'

export type ReadTransaction = {
  readonly txid: string
  /** One of its block alone, a coinbase or a HogEx (LIP-0002): no other block can take it. */
  readonly isOfItsBlock: boolean
  readonly spends: readonly Outpoint[]
}

const NOTHING_WATCHED = new AddressSet()
/** What a coinbase names as the transaction that it spends. */
const NO_TRANSACTION = '0'.repeat(64)
const INDEX_BYTES = 4
const SEQUENCE_BYTES = 4

/** The id of a transaction, and the outputs that it spends. Throws `MalformedBytes`. */
export function readTransaction(bytes: Uint8Array): ReadTransaction {
  const span = new TransactionReader(bytes, 0).readTransaction(NOTHING_WATCHED, [])
  const reader = new TransactionReader(bytes, span.bodyStart)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const spends: Outpoint[] = []
  for (let left = reader.readCount(); left > 0; left--) {
    const indexAt = reader.at + HASH_BYTES
    spends.push({
      txid: toDisplayHex(bytes.subarray(reader.at, indexAt)),
      outputIndex: view.getUint32(indexAt, true),
    })
    reader.at = indexAt + INDEX_BYTES
    const scriptBytes = reader.readCount()
    reader.at += scriptBytes + SEQUENCE_BYTES
  }
  const isOfItsBlock = span.isHogEx || spends[0]?.txid === NO_TRANSACTION
  return { txid: toDisplayHex(transactionHash(bytes, span)), isOfItsBlock, spends }
}
