import { type Address, getAddressDecoder } from '@solana/kit'
import { TOKEN_PROGRAMS } from '../../core/chain/solana-mints.ts'

type Account = { readonly programAddress: Address; readonly data: Uint8Array }

const MINT_BYTES = 82
const ACCOUNT_BYTES = 165
/** Of an account of the Token Extensions program with extensions: whether it is a mint (1) or holds tokens (2). */
const KIND_AT = ACCOUNT_BYTES
const AMOUNT_AT = 64
const STATE_AT = 108
const DECIMALS_AT = 44
const SUPPLY_AT = 36
const STATES = ['uninitialized', 'initialized', 'frozen'] as const

type TokenAccount = {
  readonly mint: Address
  readonly owner: Address
  readonly amount: bigint
  readonly state: (typeof STATES)[number]
}

/** What a token account says; null for any other account. */
export function readTokenAccount(account: Account | null): TokenAccount | null {
  if (account === null || !TOKEN_PROGRAMS.has(account.programAddress)) return null
  const { data } = account
  const isHolder = data.length === ACCOUNT_BYTES || (data.length > ACCOUNT_BYTES && data[KIND_AT] === 2)
  const state = STATES[data[STATE_AT] ?? 0]
  if (!isHolder || state === undefined || state === 'uninitialized') return null
  const decoder = getAddressDecoder()
  return {
    mint: decoder.decode(data.slice(0, 32)),
    owner: decoder.decode(data.slice(32, 64)),
    amount: numberAt(data, AMOUNT_AT),
    state,
  }
}

/** What a mint says; null for any other account. */
export function readMint(
  account: Account | null,
): { readonly decimals: number; readonly supply: bigint } | null {
  if (account === null || !TOKEN_PROGRAMS.has(account.programAddress)) return null
  const { data } = account
  const isMint = data.length === MINT_BYTES || (data.length > ACCOUNT_BYTES && data[KIND_AT] === 1)
  return isMint ? { decimals: data[DECIMALS_AT] ?? 0, supply: numberAt(data, SUPPLY_AT) } : null
}

const numberAt = (data: Uint8Array, offset: number): bigint =>
  new DataView(data.buffer, data.byteOffset).getBigUint64(offset, true)

/** An amount as nodes write it beside the whole number. */
export function uiAmount(amount: bigint, decimals: number) {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const uiAmountString = rest === '' ? whole : `${whole}.${rest}`
  return { amount: amount.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString }
}
