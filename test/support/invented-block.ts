import { randomBytes } from 'node:crypto'
import { miningHash, sha256d, toDisplayHex } from '../../src/chain/utxo/hashes.ts'
import { targetOf } from '../../src/core/chain/header-work.ts'
import type { UtxoChain } from '../../src/core/chain/utxo-parameters.ts'
import type { EsploraServer } from './esplora-server.ts'

/** A block that no miner made, with a payment that nobody sent. */
export type InventedBlock = {
  readonly hash: string
  readonly txid: string
  readonly height: number
  readonly raw: Buffer
  /** As an Esplora server reports it. */
  readonly told: object
}

/** A transaction of one input and one output, without a witness. */
function transaction(input: Buffer, addressBytes: Uint8Array, sats: bigint): Buffer {
  const value = Buffer.alloc(8)
  value.writeBigUInt64LE(sats)
  const script = Buffer.from([0x00, addressBytes.length, ...addressBytes])
  const parts = [
    '01000000',
    '01',
    input,
    'ffffffff',
    '01',
    value,
    Buffer.from([script.length]),
    script,
    '00000000',
  ]
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)))
}

/** One that stands on `parent` and pays 1 coin to `addressBytes`; `hasWork`: its hash is below the target that it names. */
export function inventBlock(options: {
  readonly chain: UtxoChain
  readonly parent: { readonly height: number; readonly hash: string }
  readonly addressBytes: Uint8Array
  readonly bits: number
  readonly hasWork: boolean
}): InventedBlock {
  const { chain, parent, addressBytes, bits, hasWork } = options
  const height = parent.height + 1
  const coinbase = transaction(
    Buffer.from(`${'00'.repeat(32)}ffffffff04${randomBytes(4).toString('hex')}`, 'hex'),
    randomBytes(20),
    5_000_000_000n,
  )
  const payment = transaction(Buffer.concat([randomBytes(32), Buffer.alloc(5)]), addressBytes, 100_000_000n)
  const root = sha256d(Buffer.concat([sha256d(coinbase), sha256d(payment)]))
  const timestamp = Math.floor(Date.now() / 1000)
  const header = Buffer.alloc(80)
  header.writeUInt32LE(0x2000_0000, 0)
  Buffer.from(parent.hash, 'hex').reverse().copy(header, 4)
  root.copy(header, 36)
  header.writeUInt32LE(timestamp, 68)
  header.writeUInt32LE(bits, 72)
  let nonce = 0
  const target = targetOf(bits) ?? 0n
  while (miningHash(chain, header) <= target !== hasWork) header.writeUInt32LE(++nonce, 76)
  const hash = toDisplayHex(sha256d(header))
  const shown = { id: hash, height, version: 0x2000_0000, timestamp, bits, nonce }
  return {
    hash,
    txid: toDisplayHex(sha256d(payment)),
    height,
    raw: Buffer.concat([header, Buffer.from([2]), coinbase, payment]),
    told: { ...shown, merkle_root: toDisplayHex(root), previousblockhash: parent.hash, tx_count: 2 },
  }
}

/** From now on the server has this block as its tip. */
export function serveInvented(server: EsploraServer, block: InventedBlock): void {
  const say = (path: string, body: string | Buffer) =>
    server.lie(new RegExp(`^${path}$`), () => ({ status: 200, body }))
  say('/blocks/tip/hash', block.hash)
  say(`/block-height/${block.height}`, block.hash)
  say(`/block/${block.hash}`, JSON.stringify(block.told))
  say(`/block/${block.hash}/status`, JSON.stringify({ in_best_chain: true, height: block.height }))
  say(`/block/${block.hash}/raw`, block.raw)
}
