import { createHash } from 'node:crypto'

/** Bytes that do not parse: too short, too long, or a length in a longer form than it needs. */
export class EncodingError extends Error {
  override name = 'EncodingError'
}

/** Bitcoin's hash of blocks and transactions: SHA-256 twice. */
export function sha256d(...parts: readonly Uint8Array[]): Buffer {
  const first = createHash('sha256')
  for (const part of parts) first.update(part)
  return createHash('sha256').update(first.digest()).digest()
}

/** Hashes are shown in the reverse of the order in which they are hashed and sent. */
export function toDisplayHex(hash: Uint8Array): string {
  return Buffer.from(hash).reverse().toString('hex')
}

/** The inverse of `toDisplayHex`, of 64 hex digits. */
export function fromDisplayHex(text: string): Buffer {
  return Buffer.from(text, 'hex').reverse()
}

/** A length in Bitcoin's variable-length form. */
export function compactSize(value: number): Buffer {
  if (value < 0xfd) return Buffer.of(value)
  if (value <= 0xffff) {
    const bytes = Buffer.alloc(3, 0xfd)
    bytes.writeUInt16LE(value, 1)
    return bytes
  }
  const bytes = Buffer.alloc(5, 0xfe)
  bytes.writeUInt32LE(value, 1)
  return bytes
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

/** Bytes behind their length. */
export function withLength(bytes: Uint8Array): Buffer {
  return Buffer.concat([compactSize(bytes.length), bytes])
}

/** Reads Bitcoin's little-endian encoding from front to back; every step past the end is an `EncodingError`. */
export class ByteReader {
  readonly bytes: Buffer
  position: number

  constructor(bytes: Uint8Array, position = 0) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.position = position
  }

  get remaining(): number {
    return this.bytes.length - this.position
  }

  take(length: number): Buffer {
    if (length > this.remaining) throw new EncodingError('the bytes end too early')
    const taken = this.bytes.subarray(this.position, this.position + length)
    this.position += length
    return taken
  }

  uint8(): number {
    return this.take(1).readUInt8()
  }

  uint32(): number {
    return this.take(4).readUInt32LE()
  }

  int32(): number {
    return this.take(4).readInt32LE()
  }

  uint64(): bigint {
    return this.take(8).readBigUInt64LE()
  }

  compactSize(): number {
    const first = this.uint8()
    if (first < 0xfd) return first
    const value =
      first === 0xfd ? this.take(2).readUInt16LE() : first === 0xfe ? this.uint32() : Number(this.uint64())
    const least = first === 0xfd ? 0xfd : first === 0xfe ? 0x10000 : 0x100000000
    if (value < least) throw new EncodingError('a length is in a longer form than it needs')
    return value
  }

  withLength(): Buffer {
    return this.take(this.compactSize())
  }
}
