import {
  type AccountMeta,
  AccountRole,
  type Address,
  type AddressesByLookupTableAddress,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  partiallySignTransactionMessageWithSigners,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { getTransferCheckedInstruction } from '@solana-program/token'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { encoded } from './x402-payer.ts'

export type SolanaRequirements = {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly extra: { readonly feePayer: string }
}

/** What a payer may sign otherwise than it is asked to. */
export type SolanaChanges = {
  readonly amount?: bigint
  readonly payTo?: string
  readonly mint?: string
  readonly units?: number
  readonly price?: bigint
  readonly feePayer?: string
  /** Before the compute budget, and in place of the memo. */
  readonly first?: readonly Instruction[]
  readonly last?: readonly Instruction[]
  readonly tables?: AddressesByLookupTableAddress
  readonly version?: 'legacy'
  /** No account that holds tokens may be written to. */
  readonly readonly?: true
  /** The payer's signature is left empty. */
  readonly unsigned?: true
  readonly accepted?: Partial<SolanaRequirements>
}

const BUDGET = address('ComputeBudget111111111111111111111111111111')
const MEMO = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')
const SIGNATURE_BYTES = 64

const unwritten = <Meta extends AccountMeta>(meta: Meta): Meta =>
  meta.role === AccountRole.WRITABLE ? { ...meta, role: AccountRole.READONLY } : meta

/** A payment header made by hand: the same as a client of the protocol makes it, but for the changes. */
export async function signSolanaPayment(
  payer: KeyPairSigner,
  asked: SolanaRequirements,
  blockhash: string,
  changes: SolanaChanges = {},
): Promise<string> {
  const usdc = sandboxMintOf('USDC_SOLANA')
  if (usdc === null) throw new Error('there is no mint')
  const { amount = BigInt(asked.amount), payTo = asked.payTo, mint = asked.asset } = changes
  const { units = 20_000, price = 1n, feePayer = asked.extra.feePayer } = changes
  const of = { ...usdc, mint }
  const data = Buffer.alloc(9, 3)
  data.writeBigUInt64LE(price, 1)
  const limit = Buffer.alloc(5, 2)
  limit.writeUInt32LE(units, 1)
  const transfer = getTransferCheckedInstruction({
    source: address(associatedTokenAccount(payer.address, of)),
    mint: address(mint),
    destination: address(associatedTokenAccount(payTo, of)),
    authority: payer,
    amount,
    decimals: 6,
  })
  const instructions: Instruction[] = [
    ...(changes.first ?? []),
    { programAddress: BUDGET, data: Uint8Array.from(limit) },
    { programAddress: BUDGET, data: Uint8Array.from(data) },
    changes.readonly ? { ...transfer, accounts: transfer.accounts.map(unwritten) } : transfer,
    ...(changes.last ?? [{ programAddress: MEMO, data: Uint8Array.from(Buffer.from('a memo')) }]),
  ]
  const filled = pipe(
    createTransactionMessage({ version: (changes.version ?? 0) as 0 }),
    (empty) => setTransactionMessageFeePayer(feePayer as Address, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n },
        paid,
      ),
    (timed) => appendTransactionMessageInstructions(instructions, timed),
  )
  const message =
    changes.tables === undefined
      ? filled
      : compressTransactionMessageUsingAddressLookupTables(filled, changes.tables)
  const signed = await partiallySignTransactionMessageWithSigners(message as typeof filled)
  const wire = Buffer.from(getBase64EncodedWireTransaction(signed), 'base64')
  if (changes.unsigned) wire.fill(0, 1 + SIGNATURE_BYTES, 1 + 2 * SIGNATURE_BYTES)
  const payload = { transaction: wire.toString('base64') }
  return encoded({ x402Version: 2, accepted: { ...asked, ...changes.accepted }, payload })
}
