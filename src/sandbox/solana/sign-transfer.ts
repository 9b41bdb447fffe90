import {
  type Address,
  appendTransactionMessageInstruction,
  blockhash,
  createTransactionMessage,
  getTransactionEncoder,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import type { SolanaNode } from './solana-node.ts'

/** Makes two transfers of one sum in one block differ. */
let counter = 0

/** A transfer from the bank's account, signed and encoded. Reaches any account that it leaves rent-exempt. */
export async function signTransfer(node: SolanaNode, to: Address, amount: bigint): Promise<Uint8Array> {
  const { hash, height } = node.chain.head
  const lifetime = { blockhash: blockhash(hash), lastValidBlockHeight: BigInt(height + 150) }
  counter = (counter + 1) % 1_000_000
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(node.bank, empty),
    (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
    (timed) =>
      appendTransactionMessageInstruction(
        getTransferSolInstruction({ source: node.bank, destination: to, amount }),
        timed,
      ),
    (ready) =>
      // A transfer to itself moves nothing; its sum, a counter, makes the transaction another one.
      appendTransactionMessageInstruction(
        getTransferSolInstruction({ source: node.bank, destination: node.bank.address, amount: counter }),
        ready,
      ),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return new Uint8Array(getTransactionEncoder().encode(signed))
}
