import { getAddressDecoder } from '@solana/kit'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import type { AccountBytes } from './solana-answers.ts'

/** Bytes of a token account (SPL Token, `Account`): mint, owner, amount, and whether it is frozen. */
const ACCOUNT_BYTES = 165
const OWNER_AT = 32
const AMOUNT_AT = 64
const STATE_AT = 108
const FROZEN = 2
/** Of a mint (SPL Token, `Mint`). */
const DECIMALS_AT = 44
const IS_INITIALIZED_AT = 45
/** Extensions come after the bytes of a token account, a mint's too, and after a byte that says which of both it is. */
const EXTENSIONS_AT = ACCOUNT_BYTES + 1
const HEADER_BYTES = 4
const KEY_BYTES = 32
/** Token-2022, `ExtensionType`. */
const TYPES = { transferFee: 1, memoTransfer: 8, nonTransferable: 9, transferHook: 14, pausable: 26 }
/** `TransferFeeConfig`: two keys and what was kept, then twice an epoch, the most that is kept, and parts of 10,000. */
const FEES_AT = 2 * KEY_BYTES + 8
const FEE_BYTES = 18
const FEE_PARTS_AT = 16

/** What a token account says. */
export type TokenHolding = {
  readonly owner: string
  /** Base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
  /** It takes no transfer without a note beside. */
  readonly wantsMemo: boolean
}

/** Null for any account but one of this mint. */
export function tokenHoldingOf(
  account: AccountBytes | null,
  { mint, program }: Pick<SolanaMint, 'mint' | 'program'>,
): TokenHolding | null {
  if (account === null || account.owner !== program || account.data.length < ACCOUNT_BYTES) return null
  const { data } = account
  const state = data[STATE_AT]
  if (keyAt(data, 0) !== mint || state === undefined || state === 0) return null
  return {
    owner: keyAt(data, OWNER_AT),
    amount: data.readBigUInt64LE(AMOUNT_AT),
    isFrozen: state === FROZEN,
    wantsMemo: extensionsOf(data).some(({ type, bytes }) => type === TYPES.memoTransfer && bytes[0] === 1),
  }
}

/**
 * Why no tokens of a mint can be moved whole, in words; null where nothing stands in the way. What its issuer's own program
 * decides of each transfer nobody knows beforehand, and it may ask for accounts that are not ours to name.
 */
export function mintRefusal(
  account: AccountBytes | null,
  of: Pick<SolanaMint, 'program'> & { readonly decimals: number },
): string | null {
  if (account === null || account.owner !== of.program || account.data.length <= IS_INITIALIZED_AT)
    return 'there is no such mint'
  const { data } = account
  if (data[IS_INITIALIZED_AT] !== 1 || data[DECIMALS_AT] !== of.decimals) return 'it is another mint'
  for (const { type, bytes } of extensionsOf(data)) {
    if (type === TYPES.transferFee && takesFee(bytes)) return 'its issuer takes a fee of each transfer'
    if (type === TYPES.transferHook && bytes.subarray(KEY_BYTES, 2 * KEY_BYTES).some((byte) => byte !== 0))
      return 'its issuer runs a program of its own with each transfer'
    if (type === TYPES.pausable && bytes[KEY_BYTES] === 1) return 'its issuer has paused it'
    if (type === TYPES.nonTransferable) return 'it cannot be transferred'
  }
  return null
}

/** Now or from some epoch on: which one it is no reading says for the block that a transfer gets into. */
const takesFee = (config: Buffer): boolean =>
  [0, 1].some((which) => {
    const at = FEES_AT + which * FEE_BYTES + FEE_PARTS_AT
    return config.length < at + 2 || config.readUInt16LE(at) > 0
  })

type Extension = { readonly type: number; readonly bytes: Buffer }

/** The extensions of an account, each a type, a length, and so many bytes; none where it has none. */
function extensionsOf(data: Buffer): readonly Extension[] {
  const found: Extension[] = []
  for (let at = EXTENSIONS_AT; at + HEADER_BYTES <= data.length; ) {
    const [type, length] = [data.readUInt16LE(at), data.readUInt16LE(at + 2)]
    const start = at + HEADER_BYTES
    // What is left of the bytes is filled up with zeros.
    if (type === 0) break
    found.push({ type, bytes: data.subarray(start, start + length) })
    at = start + length
  }
  return found
}

const keyAt = (data: Buffer, at: number): string =>
  getAddressDecoder().decode(data.subarray(at, at + KEY_BYTES))
