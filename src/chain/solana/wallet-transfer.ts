import {
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  isAddress,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  type TransactionSigner,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token'
import { COINS } from '../../core/assets.ts'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import { associatedTokenAccount } from './token-accounts.ts'

/** Slots after which a block's hash is too old for a transaction. */
const BLOCKHASH_SLOTS = 150n

/**
 * A transfer of lamports, or of a mint's tokens, to the address of an invoice, unsigned and encoded (base64), for the wallet of `from` to sign and
 * send. An invoice has an address of its own, so the transfer needs no reference of Solana Pay's. Null where `from` is no
 * account.
 */
export function walletTransfer(
  transfer: { from: string; to: string; amount: bigint; mint: SolanaMint | null },
  block: { hash: string; height: number },
): string | null {
  if (!isAddress(transfer.from)) return null
  const source = createNoopSigner(transfer.from)
  const { to, amount, mint } = transfer
  const instructions =
    mint === null
      ? [getTransferSolInstruction({ source, destination: address(to), amount })]
      : tokenTransfer(source, transfer, mint)
  const lastValidBlockHeight = BigInt(block.height) + BLOCKHASH_SLOTS
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(source, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash(block.hash), lastValidBlockHeight },
        paid,
      ),
    (timed) => appendTransactionMessageInstructions(instructions, timed),
  )
  return getBase64EncodedWireTransaction(compileTransaction(message))
}

/** The account where the address has its tokens is made, at the payer's cost, where it is missing. */
function tokenTransfer(
  source: TransactionSigner,
  { to, amount }: { readonly to: string; readonly amount: bigint },
  of: SolanaMint,
): readonly Instruction[] {
  const [mint, tokenProgram, owner] = [address(of.mint), address(of.program), address(to)]
  const ata = address(associatedTokenAccount(to, of))
  const own = address(associatedTokenAccount(source.address, of))
  const sent = { source: own, mint, destination: ata, authority: source, amount }
  return [
    getCreateAssociatedTokenIdempotentInstruction({ payer: source, ata, owner, mint, tokenProgram }),
    getTransferCheckedInstruction(
      { ...sent, decimals: COINS[of.asset].decimals },
      { programAddress: tokenProgram },
    ),
  ]
}
