import type { AddressSet } from '../address-set.ts'

/** The bytes end before the structure does, or are no such structure. */
export class MalformedBytes extends Error {
  override name = 'MalformedBytes'
}

const FLAG_WITNESS = 0x01
/** Litecoin (LIP-0002): data of the extension block, or the mark of the block's last transaction, the HogEx. */
const FLAG_MWEB = 0x08
const OUTPOINT_BYTES = 36
const SEQUENCE_BYTES = 4
const P2WPKH_SCRIPT_BYTES = 22
const P2WSH_SCRIPT_BYTES = 34

/** Outputs that are looked up at once. */
const TOGETHER = 256
/** Those that wait for it. Nothing is awaited within a scan, so one set of lists serves all. */
const hashes = new Uint32Array(TOGETHER)
const starts = new Uint32Array(TOGETHER)
const places = new Uint32Array(TOGETHER + 1)

/** An output that pays a watched address. `addressStart` is where the bytes of its witness program begin. */
export type OutputHit = {
  readonly outputIndex: number
  readonly amount: bigint
  readonly addressStart: number
  readonly addressLength: 20 | 32
}

/** Where the parts of a transaction lie that its id is the hash of: version, inputs and outputs, lock time. */
export type TransactionSpan = {
  readonly versionAt: number
  readonly bodyStart: number
  readonly bodyEnd: number
  readonly lockTimeAt: number
  readonly isHogEx: boolean
}

/**
 * Walks transactions in wire form (BIP144, LIP-0002) byte by byte, once, and copies nothing. Outputs are
 * matched as they pass.
 */
export class TransactionReader {
  at: number
  #waiting = 0
  readonly bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.at = at
  }

  get atEnd(): boolean {
    return this.at === this.bytes.length
  }

  /** Reads one transaction by itself, which may have more than one of a block has; hits are added to `hits`. */
  readTransaction(watched: AddressSet, hits: OutputHit[]): TransactionSpan {
    return this.#readTransaction(watched, hits, null)
  }

  /**
   * Reads one transaction of a block. Where watched addresses are paid is added to `paid`, at the latest by `endSkim`: outputs
   * are looked up many at a time, because the memory of a large set answers many as soon as one.
   */
  skimTransaction(watched: AddressSet, paid: number[]): TransactionSpan {
    return this.#readTransaction(watched, null, paid)
  }

  endSkim(watched: AddressSet, paid: number[]): void {
    const count = watched.sieveShort(hashes, this.#waiting, places)
    this.#waiting = 0
    for (let each = 0; each < count; each++) {
      const start = starts[places[each] ?? 0] ?? 0
      if (watched.hasShort(this.bytes, start)) paid.push(start)
    }
  }

  /** What a transaction that was read pays to watched addresses. */
  outputsOf(span: TransactionSpan, watched: AddressSet): OutputHit[] {
    const hits: OutputHit[] = []
    this.at = span.bodyStart
    this.#skipInputs(this.readCount())
    this.#readOutputs(watched, hits)
    return hits
  }

  #readTransaction(watched: AddressSet, hits: OutputHit[] | null, paid: number[] | null): TransactionSpan {
    const versionAt = this.at
    this.#skip(4)
    let bodyStart = this.at
    let flags = 0
    let inputs = this.readCount()
    if (inputs === 0) {
      flags = this.#readByte()
      // Without flags this was an empty list of outputs: nothing that pays anybody.
      if (flags === 0) return this.#withoutInputs(versionAt, bodyStart)
      if ((flags & ~(FLAG_WITNESS | FLAG_MWEB)) !== 0) throw new MalformedBytes('unknown transaction flags')
      bodyStart = this.at
      inputs = this.readCount()
    }
    this.#skipInputs(inputs)
    if (hits !== null) this.#readOutputs(watched, hits)
    if (paid !== null) this.#skimOutputs(watched, paid)
    const bodyEnd = this.at
    if ((flags & FLAG_WITNESS) !== 0) this.#skipWitnesses(inputs)
    let isHogEx = false
    if ((flags & FLAG_MWEB) !== 0) {
      isHogEx = this.#readByte() === 0
      // Only transactions on their own carry extension data; in a block it stands after the transactions.
      if (!isHogEx && hits === null) throw new MalformedBytes('extension data inside a block transaction')
      if (!isHogEx) this.at = this.bytes.length - 4
    }
    const lockTimeAt = this.at
    this.#skip(4)
    return { versionAt, bodyStart, bodyEnd, lockTimeAt, isHogEx }
  }

  /** A compact size (Bitcoin's variable-length integer) that counts things which follow. */
  readCount(): number {
    const first = this.#readByte()
    if (first < 0xfd) return first
    const at = this.at
    if (first === 0xfd) {
      this.#skip(2)
      return this.#view.getUint16(at, true)
    }
    if (first === 0xfe) {
      this.#skip(4)
      return this.#view.getUint32(at, true)
    }
    // Whatever has 64 bits of length does not fit into any message.
    throw new MalformedBytes('a length that no message can have')
  }

  #withoutInputs(versionAt: number, bodyStart: number): TransactionSpan {
    const bodyEnd = this.at
    const lockTimeAt = this.at
    this.#skip(4)
    return { versionAt, bodyStart, bodyEnd, lockTimeAt, isHogEx: false }
  }

  #skipInputs(inputs: number): void {
    for (let index = 0; index < inputs; index++) {
      this.#skip(OUTPOINT_BYTES)
      this.#skip(this.readCount())
      this.#skip(SEQUENCE_BYTES)
    }
  }

  #readOutputs(watched: AddressSet, hits: OutputHit[]): void {
    const bytes = this.bytes
    const outputs = this.readCount()
    for (let outputIndex = 0; outputIndex < outputs; outputIndex++) {
      const amountAt = this.at
      this.#skip(8)
      const length = this.readCount()
      const scriptAt = this.at
      this.#skip(length)
      if (bytes[scriptAt] !== 0) continue
      const addressStart = scriptAt + 2
      if (length === P2WPKH_SCRIPT_BYTES && bytes[scriptAt + 1] === 20) {
        if (!watched.hasShort(bytes, addressStart)) continue
      } else if (length === P2WSH_SCRIPT_BYTES && bytes[scriptAt + 1] === 32) {
        if (!watched.hasLong(bytes, addressStart)) continue
      } else continue
      const amount = this.#view.getBigUint64(amountAt, true)
      const addressLength = length === P2WPKH_SCRIPT_BYTES ? 20 : 32
      hits.push({ outputIndex, amount, addressStart, addressLength })
    }
  }

  #skimOutputs(watched: AddressSet, paid: number[]): void {
    const bytes = this.bytes
    const outputs = this.readCount()
    for (let outputIndex = 0; outputIndex < outputs; outputIndex++) {
      this.#skip(8)
      const length = this.readCount()
      const scriptAt = this.at
      this.#skip(length)
      if (bytes[scriptAt] !== 0) continue
      const addressStart = scriptAt + 2
      if (length === P2WPKH_SCRIPT_BYTES && bytes[scriptAt + 1] === 20) {
        hashes[this.#waiting] = watched.hashShort(bytes, addressStart)
        starts[this.#waiting] = addressStart
        this.#waiting += 1
        if (this.#waiting === TOGETHER) this.endSkim(watched, paid)
      } else if (length === P2WSH_SCRIPT_BYTES && bytes[scriptAt + 1] === 32) {
        if (watched.hasLong(bytes, addressStart)) paid.push(addressStart)
      }
    }
  }

  #skipWitnesses(inputs: number): void {
    for (let index = 0; index < inputs; index++) {
      const items = this.readCount()
      for (let item = 0; item < items; item++) this.#skip(this.readCount())
    }
  }

  #readByte(): number {
    const byte = this.bytes[this.at]
    if (byte === undefined) throw new MalformedBytes('cut off')
    this.at += 1
    return byte
  }

  #skip(length: number): void {
    this.at += length
    if (this.at > this.bytes.length) throw new MalformedBytes('cut off')
  }
}
