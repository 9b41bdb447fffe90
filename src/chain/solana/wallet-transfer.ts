import {
  address,
  appendTransactionMessageInstruction,
  blockhash,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  isAddress,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'

/** Slots after which a block's hash is too old for a transaction. */
const BLOCKHASH_SLOTS = 150n

/**
 * A transfer of `lamports` to the address of an invoice, unsigned and encoded (base64), for the wallet of `from` to sign and
 * send. An invoice has an address of its own, so the transfer needs no reference of Solana Pay's. Null where `from` is no
 * account.
 */
export function walletTransfer(
  transfer: { from: string; to: string; lamports: bigint },
  block: { hash: string; height: number },
): string | null {
  if (!isAddress(transfer.from)) return null
  const source = createNoopSigner(transfer.from)
  const lastValidBlockHeight = BigInt(block.height) + BLOCKHASH_SLOTS
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(source, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash(block.hash), lastValidBlockHeight },
        paid,
      ),
    (timed) =>
      appendTransactionMessageInstruction(
        getTransferSolInstruction({ source, destination: address(transfer.to), amount: transfer.lamports }),
        timed,
      ),
  )
  return getBase64EncodedWireTransaction(compileTransaction(message))
}
