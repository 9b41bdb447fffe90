import { isUtf8 } from 'node:buffer'
import { ed25519 } from '@noble/curves/ed25519.js'
import {
  type Address,
  address,
  type CompiledTransactionMessage,
  getAddressEncoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
} from '@solana/kit'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import { X402_PRIORITY_FEE_MAX, X402_UNITS_MAX } from '../../core/payout/solana-fee.ts'
import { associatedTokenAccount } from './token-accounts.ts'

/** What a payer's transaction must do: pay `amount` of the mint to `owner`, at the cost of `feePayer`. Names in base58. */
type PayerTerms = {
  readonly feePayer: string
  readonly mint: SolanaMint
  readonly decimals: number
  readonly owner: string
  readonly amount: bigint
}

/** A transaction that its payer has signed, and the fee payer has not. */
type SignedMessage = {
  /** What both sign. */
  readonly message: Buffer
  /** The payer's, 64 bytes. */
  readonly signature: Buffer
}

type PayerTransaction = { readonly payer: string; readonly blockhash: string }

/** The words of x402's scheme for what a transaction has in place of a payment. */
type NoPayment = { readonly refusal: `invalid_exact_svm_${string}` }

const SIGNATURE_BYTES = 64
const SIGNATURES = 2
/** No node takes more. */
const PACKET_BYTES = 1_232
const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111'
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
/** Of their programs' instructions. */
const [SET_UNIT_LIMIT, SET_UNIT_PRICE, TRANSFER_CHECKED] = [2, 3, 12]
const MICRO = 1_000_000n

const PAYLOAD = 'invalid_exact_svm_payload'
const BUDGET = `${PAYLOAD}_transaction_instructions_compute` as const
const no = (refusal: NoPayment['refusal']): NoPayment => ({ refusal })

/** The message and the payer's signature of a transaction in base64; null where it is none of two signatures. */
export function splitPayerTransaction(base64: string): SignedMessage | null {
  const wire = Buffer.from(base64, 'base64')
  const messageAt = 1 + SIGNATURES * SIGNATURE_BYTES
  if (wire[0] !== SIGNATURES || wire.length <= messageAt || wire.length > PACKET_BYTES) return null
  if (wire.toString('base64') !== base64) return null
  return { message: wire.subarray(messageAt), signature: wire.subarray(1 + SIGNATURE_BYTES, messageAt) }
}

/** Over which block's hash a message is signed; null where it is none that could be accepted. */
export const blockhashOf = (message: Uint8Array): string | null => decoded(message)?.lifetimeToken ?? null

/** The transaction with both signatures, as nodes take it. */
export const joinPayerTransaction = (feePayers: Uint8Array, { message, signature }: SignedMessage): Buffer =>
  Buffer.concat([Uint8Array.of(SIGNATURES), feePayers, signature, message])

/**
 * Reads what a stranger asks the fee payer to sign, and accepts one layout alone (x402, `exact` on Solana): the limit and the
 * price of compute units, TransferChecked from the payer's token account to the owner's, and a memo at most. The fee payer
 * pays the fee, and nothing that it could lose more by is in any instruction.
 */
export function judgePayerTransaction(
  { message: bytes, signature }: SignedMessage,
  terms: PayerTerms,
): PayerTransaction | NoPayment {
  const message = decoded(bytes)
  if (message === null) return no(`${PAYLOAD}_transaction_could_not_be_decoded`)
  const { staticAccounts: accounts, header } = message
  if (header.numSignerAccounts !== SIGNATURES) return no(`${PAYLOAD}_excessive_signers`)
  const [feePayer, payer] = accounts
  if (feePayer !== terms.feePayer || header.numReadonlySignerAccounts > 1)
    return no('invalid_exact_svm_fee_payer_mismatch')
  if (payer === undefined || new Set(accounts).size < accounts.length) return no(`${PAYLOAD}_transaction`)
  const instructions = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
    program: accounts[programAddressIndex],
    accounts: accountIndices.map((index) => accounts[index]),
    data: Buffer.from(Uint8Array.from(data ?? [])),
  }))
  if (instructions.some((each) => each.program === feePayer || each.accounts.includes(feePayer)))
    return no(`${PAYLOAD}_transaction_fee_payer_transferring_funds`)
  const [limit, price, transfer, memo, ...others] = instructions
  if (limit === undefined || price === undefined || transfer === undefined || others.length > 0)
    return no(`${PAYLOAD}_transaction_instructions_length`)
  const refusal =
    budgetRefusal(limit, price) ??
    transferRefusal(transfer, { ...terms, payer }) ??
    (memo === undefined || (memo.program === MEMO_PROGRAM && memo.accounts.length === 0 && isUtf8(memo.data))
      ? null
      : no(`${PAYLOAD}_unknown_fourth_instruction`))
  if (refusal !== null) return refusal
  // It would fail once its token account was paid for.
  if (!isWritable(message, transfer.accounts[0]) || !isWritable(message, transfer.accounts[2]))
    return no(`${PAYLOAD}_transaction`)
  const named = new Set([...instructions.flatMap((each) => [each.program, ...each.accounts]), feePayer])
  if (named.size < accounts.length) return no(`${PAYLOAD}_transaction`)
  if (!isSigned(bytes, signature, payer)) return no(`${PAYLOAD}_signature_invalid`)
  return { payer, blockhash: message.lifetimeToken }
}

type Instruction = {
  readonly program: Address | undefined
  readonly accounts: readonly (Address | undefined)[]
  readonly data: Buffer
}

/** A message of version 0 that names all of its accounts, with nothing in it that was not read. */
function decoded(
  bytes: Uint8Array,
): (CompiledTransactionMessage & { lifetimeToken: string; version: 0 }) | null {
  try {
    const message = getCompiledTransactionMessageDecoder().decode(bytes)
    if (message.version !== 0 || (message.addressTableLookups ?? []).length > 0) return null
    const again = getCompiledTransactionMessageEncoder().encode(message)
    return Buffer.compare(Uint8Array.from(again), bytes) === 0 ? message : null
  } catch {
    // No message at all: the caller says so.
    return null
  }
}

/** Of accounts that do not sign. */
function isWritable(
  { staticAccounts, header }: CompiledTransactionMessage,
  account: Address | undefined,
): boolean {
  if (account === undefined) return false
  const place = staticAccounts.indexOf(account)
  return place >= SIGNATURES && place < staticAccounts.length - header.numReadonlyNonSignerAccounts
}

function budgetRefusal(limit: Instruction, price: Instruction): NoPayment | null {
  const isOf = (each: Instruction, discriminator: number | undefined, length: number) =>
    each.program === COMPUTE_BUDGET_PROGRAM &&
    each.accounts.length === 0 &&
    each.data.length === length &&
    each.data[0] === discriminator
  if (!isOf(limit, SET_UNIT_LIMIT, 5)) return no(`${BUDGET}_limit_instruction`)
  if (!isOf(price, SET_UNIT_PRICE, 9)) return no(`${BUDGET}_price_instruction`)
  const units = limit.data.readUInt32LE(1)
  if (units > X402_UNITS_MAX) return no(`${BUDGET}_limit_instruction_too_high`)
  const isDear = BigInt(units) * price.data.readBigUInt64LE(1) > X402_PRIORITY_FEE_MAX * MICRO
  return isDear ? no(`${BUDGET}_price_instruction_too_high`) : null
}

function transferRefusal(
  { program, accounts, data }: Instruction,
  terms: PayerTerms & { readonly payer: string },
): NoPayment | null {
  const { mint, decimals, amount, payer, owner } = terms
  const [source, minted, destination, authority, ...others] = accounts
  const isTransfer =
    program === mint.program && data.length === 10 && data[0] === TRANSFER_CHECKED && others.length === 0
  if (!isTransfer || authority === undefined) return no(`${PAYLOAD}_no_transfer_instruction`)
  if (minted !== mint.mint || data[9] !== decimals) return no(`${PAYLOAD}_mint_mismatch`)
  if (authority !== payer || source !== associatedTokenAccount(payer, mint))
    return no(`${PAYLOAD}_transaction`)
  if (destination !== associatedTokenAccount(owner, mint) || payer === owner)
    return no(`${PAYLOAD}_recipient_mismatch`)
  return data.readBigUInt64LE(1) === amount ? null : no(`${PAYLOAD}_amount_mismatch`)
}

/** By RFC 8032 to the letter, as the chain verifies. */
function isSigned(message: Uint8Array, signature: Uint8Array, payer: string): boolean {
  try {
    const key = Uint8Array.from(getAddressEncoder().encode(address(payer)))
    return ed25519.verify(signature, message, key, { zip215: false })
  } catch {
    // No point of the curve, or no signature.
    return false
  }
}
