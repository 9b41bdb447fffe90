import {
  chmodSync,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'

/** Kinds of records, as they stand in the file. */
const RECORD_KINDS = { wallet: 1, block: 2, disconnect: 3, transaction: 4, plan: 5, done: 6 } as const
type RecordKind = keyof typeof RECORD_KINDS

export type JournalRecord = { readonly kind: RecordKind; readonly payload: Uint8Array }
/** A record that was read or written, with the offset of its payload in the file. */
export type PlacedRecord = { readonly kind: RecordKind; readonly payload: Buffer; readonly offset: number }

/** Length of the payload (4), CRC-32 of kind and payload (4), kind (1). */
const FRAME_BYTES = 9
const MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
/** One write is at most this long, and so is what a crash may leave torn; more damage is not of our making. */
const MAX_WRITE_BYTES = 16 * 1024 * 1024
const READ_CHUNK_BYTES = 4 * 1024 * 1024

const KIND_OF_CODE = new Map(
  (Object.keys(RECORD_KINDS) as RecordKind[]).map((kind) => [RECORD_KINDS[kind] as number, kind]),
)

/** The journal is damaged before its end: a human must look. */
export class JournalDamaged extends Error {
  override name = 'JournalDamaged'
}

/**
 * An append-only file of checksummed records. What was appended survives the death of the process at any
 * moment; a tail that a crash tore is cut when the file is next opened. Only one process may have it open.
 */
export class Journal {
  private readonly fd: number
  private size: number
  private syncing: 'no' | 'running' | 'again' = 'no'
  private closed = false

  private readonly onSyncError: (error: Error) => void

  private constructor(fd: number, size: number, onSyncError: (error: Error) => void) {
    this.fd = fd
    this.size = size
    this.onSyncError = onSyncError
  }

  /** Opens or makes the file, hands every whole record to `replay` in order, and cuts what is torn off. */
  static open(
    path: string,
    options: { replay: (record: PlacedRecord) => void; onSyncError: (error: Error) => void },
  ): Journal {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // Not in append mode: the next record must go over what a failed write left.
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      chmodSync(path, 0o600)
      const fileSize = fstatSync(fd).size
      const whole = replayRecords(fd, fileSize, options.replay)
      if (fileSize - whole > MAX_WRITE_BYTES) {
        throw new JournalDamaged(
          `${path} is damaged at byte ${whole} of ${fileSize}: move the file away, and the sandbox chain starts anew`,
        )
      }
      if (whole < fileSize) ftruncateSync(fd, whole)
      return new Journal(fd, whole, options.onSyncError)
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  /** Appends records in one write. When it returns, they outlive this process. Returns where they stand. */
  append(records: readonly JournalRecord[]): PlacedRecord[] {
    const parts: Uint8Array[] = []
    const placed: PlacedRecord[] = []
    let at = this.size
    for (const { kind, payload } of records) {
      if (payload.length > MAX_PAYLOAD_BYTES)
        throw new Error(`a record of ${payload.length} bytes is too long`)
      parts.push(frameOf(kind, payload), payload)
      const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
      placed.push({ kind, payload: bytes, offset: at + FRAME_BYTES })
      at += FRAME_BYTES + payload.length
    }
    if (at - this.size > MAX_WRITE_BYTES) throw new Error(`a write of ${at - this.size} bytes is too long`)
    this.write(Buffer.concat(parts))
    this.size = at
    this.syncSoon()
    return placed
  }

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length)
    if (readFully(this.fd, bytes, offset) !== length) throw new JournalDamaged('the journal became shorter')
    return bytes
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    fsyncSync(this.fd)
    // A flush in flight still needs the descriptor and closes it when it is done.
    if (this.syncing === 'no') closeSync(this.fd)
  }

  private write(bytes: Buffer): void {
    let written = 0
    try {
      while (written < bytes.length) {
        written += writeSync(this.fd, bytes, written, bytes.length - written, this.size + written)
      }
    } catch (error) {
      // A full disk must not leave half a record in the middle of what is written later.
      ftruncateSync(this.fd, this.size)
      throw error
    }
  }

  /** Flushes to the disk without waiting: only a power cut can lose what was appended since. */
  private syncSoon(): void {
    if (this.syncing !== 'no') {
      this.syncing = 'again'
      return
    }
    this.syncing = 'running'
    fdatasync(this.fd, (error) => {
      const again = this.syncing === 'again'
      this.syncing = 'no'
      if (this.closed) return closeSync(this.fd)
      if (error !== null) this.onSyncError(error)
      if (again) this.syncSoon()
    })
  }
}

function frameOf(kind: RecordKind, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES)
  frame.writeUInt32LE(payload.length, 0)
  frame.writeUInt8(RECORD_KINDS[kind], 8)
  frame.writeUInt32LE(checksum(frame, payload), 4)
  return frame
}

const checksum = (frame: Uint8Array, payload: Uint8Array): number =>
  crc32(payload, crc32(frame.subarray(8, FRAME_BYTES)))

/** Reads records until the first that is not whole; returns the offset where it stands. */
function replayRecords(fd: number, fileSize: number, replay: (record: PlacedRecord) => void): number {
  let buffer = Buffer.alloc(READ_CHUNK_BYTES)
  let bufferStart = 0
  let filled = 0
  let at = 0
  /** The bytes at `at`, or null where the file ends before. */
  const bytesAt = (offset: number, length: number): Buffer | null => {
    if (offset + length > fileSize) return null
    if (offset + length > bufferStart + filled) {
      if (length > buffer.length) buffer = Buffer.alloc(length)
      bufferStart = offset
      filled = readFully(fd, buffer, offset)
    }
    return buffer.subarray(offset - bufferStart, offset - bufferStart + length)
  }
  for (;;) {
    const frame = bytesAt(at, FRAME_BYTES)
    if (frame === null) return at
    const length = frame.readUInt32LE(0)
    const kind = KIND_OF_CODE.get(frame.readUInt8(8))
    if (length > MAX_PAYLOAD_BYTES || kind === undefined) return at
    // The frame is copied: reading the payload may refill the buffer under it.
    const frameCopy = Buffer.from(frame)
    const payload = bytesAt(at + FRAME_BYTES, length)
    if (payload === null || checksum(frameCopy, payload) !== frameCopy.readUInt32LE(4)) return at
    replay({ kind, payload: Buffer.from(payload), offset: at + FRAME_BYTES })
    at += FRAME_BYTES + length
  }
}

function readFully(fd: number, into: Buffer, offset: number): number {
  let filled = 0
  while (filled < into.length) {
    const count = readSync(fd, into, filled, into.length - filled, offset + filled)
    if (count === 0) break
    filled += count
  }
  return filled
}
