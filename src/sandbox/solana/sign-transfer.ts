import {
  AccountRole,
  type Address,
  appendTransactionMessageInstruction,
  blockhash,
  createTransactionMessage,
  getTransactionEncoder,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import type { SolanaNode } from './solana-node.ts'

const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address
const TRANSFER = 2
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
        {
          programAddress: SYSTEM_PROGRAM,
          accounts: [
            { address: node.bank.address, role: AccountRole.WRITABLE_SIGNER, signer: node.bank },
            { address: to, role: AccountRole.WRITABLE },
          ],
          data: transferData(lamports(amount)),
        },
        timed,
      ),
    (ready) =>
      // A transfer to itself moves nothing; its sum, a counter, makes the transaction another one.
      appendTransactionMessageInstruction(
        {
          programAddress: SYSTEM_PROGRAM,
          accounts: [
            { address: node.bank.address, role: AccountRole.WRITABLE_SIGNER, signer: node.bank },
            { address: node.bank.address, role: AccountRole.WRITABLE },
          ],
          data: transferData(lamports(BigInt(counter))),
        },
        ready,
      ),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return new Uint8Array(getTransactionEncoder().encode(signed))
}

/** SystemInstruction::Transfer: its number and the lamports, both little-endian. */
function transferData(amount: bigint): Uint8Array {
  const data = new Uint8Array(12)
  const view = new DataView(data.buffer)
  view.setUint32(0, TRANSFER, true)
  view.setBigUint64(4, amount, true)
  return data
}
