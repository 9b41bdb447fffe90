import { getAddressDecoder } from '@solana/kit'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import { extensionsOf, readMintExtensions } from './mint-extensions.ts'
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
const KEY_BYTES = 32
/** Of the Token Extensions program (`ExtensionType`): whether transfers need a note beside. */
const MEMO_TRANSFER = 8

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
    wantsMemo: extensionsOf(data).get(MEMO_TRANSFER)?.[0] === 1,
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
  const { feeParts, hook, isPaused, isNonTransferable } = readMintExtensions(data)
  // Now or from some epoch on: which one it is no reading says for the block that a transfer gets into.
  if (feeParts > 0) return 'its issuer takes a fee of each transfer'
  if (hook !== null) return 'its issuer runs a program of its own with each transfer'
  if (isPaused) return 'its issuer has paused it'
  return isNonTransferable ? 'it cannot be transferred' : null
}

const keyAt = (data: Buffer, at: number): string =>
  getAddressDecoder().decode(data.subarray(at, at + KEY_BYTES))
