import { readTransaction } from './read-transaction.ts'
import { send } from './rpc-account-methods.ts'
import { addressOf, integerOf, RPC_CODES, type RpcMethod, SolanaRpcError, textOf } from './rpc-support.ts'
import { sandboxMintAt } from './sandbox-mints.ts'
import { signAsIssuer, signTokenTransfer, signTransfer } from './sign-transfer.ts'
import { BLOCKHASH_BLOCKS } from './solana-chain.ts'
import type { SolanaNode } from './solana-node.ts'

const BLOCKS_MAX = 1_000

/** The sandbox's own controls, which no real node has. */
export const CONTROL_METHODS: ReadonlyMap<string, RpcMethod> = new Map<string, RpcMethod>([
  [
    'sandbox_signpayment',
    async (node, [to, amount, mint]) => {
      const [owner, units] = [addressOf(to), BigInt(textOf(amount))]
      const token = typeof mint === 'string' ? sandboxMintAt(mint) : null
      if (token === null && mint != null)
        throw new SolanaRpcError(RPC_CODES.invalidParams, 'no test token has this mint')
      const wire =
        token === null
          ? await signTransfer(node, owner, units)
          : await signTokenTransfer(node, owner, units, token)
      const elsewhere = await signTransfer(node, node.bank.address, 1n)
      return { ...nameOf(wire), replacement: nameOf(elsewhere) }
    },
  ],
  [
    'sandbox_signasissuer',
    async (node, [program, accounts, data]) => {
      const named = Array.isArray(accounts) ? accounts.map((each) => addressOf(each)) : []
      const bytes = Buffer.from(textOf(data), 'base64')
      return nameOf(await signAsIssuer(node, { program: addressOf(program), accounts: named, data: bytes }))
    },
  ],
  [
    'sandbox_release',
    (node, [signature]) => {
      node.wake()
      return node.chain.release(textOf(signature))
    },
  ],
  [
    'sandbox_sendunsettled',
    (node, [wire]) => {
      node.holdFinality(true)
      return send(node, readTransaction(Buffer.from(textOf(wire), 'base64')), false)
    },
  ],
  [
    'sandbox_sendheld',
    (node, [wire]) => send(node, readTransaction(Buffer.from(textOf(wire), 'base64')), false, true),
  ],
  [
    'sandbox_mine',
    (node, [count, skipped]) =>
      node.mine(bounded(integerOf(count)), skipped === undefined ? 0 : integerOf(skipped)).slot,
  ],
  [
    'sandbox_setlag',
    (node, [confirmed, finalized]) => {
      node.setLag({ confirmed: integerOf(confirmed), finalized: integerOf(finalized) })
      return null
    },
  ],
  ['sandbox_reorganise', (node, [depth]) => reorganise(node, integerOf(depth), [])],
  ['sandbox_reorganiseaway', (node, [signature]) => reorganiseAway(node, textOf(signature))],
  [
    'sandbox_drop',
    (node, [signature]) => {
      const away = reorganiseAway(node, textOf(signature))
      node.chain.forget(textOf(signature))
      node.holdFinality(false)
      // Nobody can bring it back once its blockhash is too old.
      node.wake(2 * BLOCKHASH_BLOCKS)
      return away
    },
  ],
])

const nameOf = (wire: Uint8Array) => ({
  txid: readTransaction(wire).signature,
  hex: Buffer.from(wire).toString('base64'),
})

function bounded(count: number): number {
  if (count <= BLOCKS_MAX) return count
  throw new SolanaRpcError(RPC_CODES.invalidParams, `at most ${BLOCKS_MAX} blocks at once`)
}

/** A branch one block longer in the place of the newest blocks; what was in them is in the branch, but what is held. */
function reorganise(node: SolanaNode, depth: number, held: readonly string[]) {
  const from = node.chain.blockBelowHead(depth)
  const back = node.chain.rollBack(from.slot, held)
  if (back === null) throw new SolanaRpcError(RPC_CODES.invalidParams, 'the chain does not go back so far')
  const head = node.mine(depth + 1)
  node.wake()
  return { fork_height: back.slot, height: head.slot }
}

function reorganiseAway(node: SolanaNode, signature: string) {
  const placed = node.chain.placed(signature)
  if (placed === null) throw new SolanaRpcError(RPC_CODES.invalidParams, 'the transaction is in no block')
  const above = node.chain.blocks.filter(({ slot }) => slot >= placed.slot).length
  return reorganise(node, above, [signature])
}
