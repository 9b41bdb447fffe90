import { getAddressDecoder } from '@solana/kit'

/** A mint with extensions has as many bytes as a token account, one that says which of both it is, and then its extensions. */
const EXTENSIONS_AT = 166
const HEADER_BYTES = 4
const KEY_BYTES = 32
/** Of the Token Extensions program (spl-token-2022, `ExtensionType`). */
const TYPES = {
  transferFee: 1,
  defaultState: 6,
  nonTransferable: 9,
  permanentDelegate: 12,
  transferHook: 14,
  pausable: 26,
} as const
/** `AccountState`. */
const FROZEN = 2
/** Of `TransferFeeConfig`: two keys and what was kept, then for an older and a newer epoch: which, the most, and the share. */
const FEES_AT = 2 * KEY_BYTES + 8
const FEE_BYTES = 18
const SHARE_AT = 16

/** What a mint's issuer may do beyond making tokens and freezing accounts. */
export type MintExtensions = {
  /** What is kept of each transfer, in parts of 10,000: the more of now and of an epoch to come. */
  readonly feeParts: number
  /** The program that decides of each transfer; null where none is set. */
  readonly hook: string | null
  /** Who may move tokens out of every account. */
  readonly delegate: string | null
  /** New accounts are frozen until the issuer thaws them. */
  readonly isFrozenAtFirst: boolean
  readonly isPaused: boolean
  readonly isNonTransferable: boolean
}

/** The extensions of a token account or a mint by type, each a type, a length and so many bytes; none where it has none. */
export function extensionsOf(data: Buffer): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>()
  for (let at = EXTENSIONS_AT; at + HEADER_BYTES <= data.length; ) {
    const [type, length] = [data.readUInt16LE(at), data.readUInt16LE(at + 2)]
    // What is left is filled up with zeros.
    if (type === 0) break
    found.set(type, data.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length))
    at += HEADER_BYTES + length
  }
  return found
}

/** Those of a mint, of whose account `data` is all that it holds. */
export function readMintExtensions(data: Buffer): MintExtensions {
  const found = extensionsOf(data)
  const fee = found.get(TYPES.transferFee)
  return {
    feeParts: fee === undefined ? 0 : Math.max(shareIn(fee, 0), shareIn(fee, 1)),
    hook: keyAt(found.get(TYPES.transferHook), KEY_BYTES),
    delegate: keyAt(found.get(TYPES.permanentDelegate), 0),
    isFrozenAtFirst: found.get(TYPES.defaultState)?.[0] === FROZEN,
    isPaused: found.get(TYPES.pausable)?.[KEY_BYTES] === 1,
    isNonTransferable: found.has(TYPES.nonTransferable),
  }
}

/** Bytes that are missing say nothing good. */
function shareIn(config: Buffer, which: 0 | 1): number {
  const at = FEES_AT + which * FEE_BYTES + SHARE_AT
  return config.length < at + 2 ? 10_000 : config.readUInt16LE(at)
}

/** A key of zeros is none. */
function keyAt(bytes: Buffer | undefined, at: number): string | null {
  const key = bytes?.subarray(at, at + KEY_BYTES)
  if (key === undefined || key.length < KEY_BYTES || key.every((byte) => byte === 0)) return null
  return getAddressDecoder().decode(key)
}
