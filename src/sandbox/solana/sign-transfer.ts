import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstruction,
  appendTransactionMessageInstructions,
  blockhash,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token'
import { COINS } from '../../core/assets.ts'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import type { SolanaNode } from './solana-node.ts'

/** Makes two transfers of one sum in one block differ. */
let counter = 0

/** A transfer from the bank's account, signed and encoded. Reaches any account that it leaves rent-exempt. */
export function signTransfer(node: SolanaNode, to: Address, amount: bigint): Promise<Uint8Array> {
  return sign(node, [getTransferSolInstruction({ source: node.bank, destination: to, amount })])
}

/** A transfer of tokens that the bank makes first, to the account where wallets put the owner's. */
export async function signTokenTransfer(
  node: SolanaNode,
  owner: Address,
  amount: bigint,
  { asset, ...of }: SolanaMint,
): Promise<Uint8Array> {
  const { bank } = node
  const [mint, tokenProgram] = [address(of.mint), address(of.program)]
  const accountOf = async (holder: Address) => {
    const [ata] = await findAssociatedTokenPda({ owner: holder, mint, tokenProgram })
    const create = { payer: bank, ata, owner: holder, mint, tokenProgram }
    return { ata, create: getCreateAssociatedTokenIdempotentInstruction(create) }
  }
  const [from, to] = [await accountOf(bank.address), await accountOf(owner)]
  const config = { programAddress: tokenProgram }
  const sent = { source: from.ata, mint, destination: to.ata, authority: bank, amount }
  return sign(node, [
    from.create,
    getMintToInstruction({ mint, token: from.ata, mintAuthority: bank, amount }, config),
    to.create,
    getTransferCheckedInstruction({ ...sent, decimals: COINS[asset].decimals }, config),
  ])
}

/** What the bank, which makes the test tokens and is their issuer in all else, has done to them. */
export const signAsIssuer = (
  node: SolanaNode,
  { program, accounts, data }: IssuersInstruction,
): Promise<Uint8Array> => {
  const { bank } = node
  const authority = { address: bank.address, role: AccountRole.READONLY_SIGNER, signer: bank }
  const named = accounts.map((each) => ({ address: address(each), role: AccountRole.WRITABLE }))
  const instruction = { programAddress: address(program), accounts: [...named, authority], data }
  return sign(node, [instruction])
}

/** An instruction whose last account is its authority, which the bank is. */
type IssuersInstruction = {
  readonly program: string
  readonly accounts: readonly string[]
  readonly data: Uint8Array
}

async function sign(node: SolanaNode, instructions: readonly Instruction[]): Promise<Uint8Array> {
  const { hash, height } = node.chain.head
  const lifetime = { blockhash: blockhash(hash), lastValidBlockHeight: BigInt(height + 150) }
  counter = (counter + 1) % 1_000_000
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(node.bank, empty),
    (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
    (timed) => appendTransactionMessageInstructions(instructions, timed),
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
