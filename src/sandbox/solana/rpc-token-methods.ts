import { address } from '@solana/kit'
import { findAssociatedTokenPda } from '@solana-program/token'
import { accountAt, stateAt } from './rpc-account-methods.ts'
import {
  addressOf,
  commitmentOf,
  optionsOf,
  RPC_CODES,
  type RpcMethod,
  SolanaRpcError,
  withContext,
} from './rpc-support.ts'
import { sandboxMints } from './sandbox-mints.ts'
import { readMint, readTokenAccount, uiAmount } from './token-bytes.ts'

/** What wallets ask about tokens. */
export const TOKEN_METHODS: ReadonlyMap<string, RpcMethod> = new Map<string, RpcMethod>([
  [
    'getTokenAccountBalance',
    (node, [account, options]) => {
      const { slot } = node.at(commitmentOf(node, optionsOf(options)))
      const found = readTokenAccount(stateAt(node, addressOf(account), slot))
      if (found === null) throw refused('not a Token account')
      const { decimals = 0 } = readMint(stateAt(node, found.mint, slot)) ?? {}
      return withContext(slot, uiAmount(found.amount, decimals))
    },
  ],
  [
    'getTokenSupply',
    (node, [mint, options]) => {
      const { slot } = node.at(commitmentOf(node, optionsOf(options)))
      const found = readMint(stateAt(node, addressOf(mint), slot))
      if (found === null) throw refused('not a Token mint')
      return withContext(slot, uiAmount(found.supply, found.decimals))
    },
  ],
  [
    'getTokenAccountsByOwner',
    async (node, [of, filter, given]) => {
      const owner = addressOf(of)
      const options = optionsOf(given)
      const { slot } = node.at(commitmentOf(node, options))
      const isWanted = wantedBy(filter)
      // Nobody comes to hold tokens without a transaction that names him, or the account where wallets put them.
      const usual = sandboxMints().map(({ mint, program }) =>
        findAssociatedTokenPda({ owner, mint: address(mint), tokenProgram: address(program) }),
      )
      const candidates = new Set((await Promise.all(usual)).map(([account]) => account))
      for (const { accounts } of node.chain.mentioning(owner))
        for (const { pubkey } of accounts) candidates.add(pubkey)
      const held = [...candidates].flatMap((pubkey) => {
        const account = stateAt(node, pubkey, slot)
        const token = readTokenAccount(account)
        if (account === null || token?.owner !== owner) return []
        if (!isWanted({ mint: token.mint, program: account.programAddress })) return []
        return [{ pubkey, account: accountAt(node, pubkey, slot, options) }]
      })
      return withContext(slot, held)
    },
  ],
])

type Wanted = (of: { readonly mint: string; readonly program: string }) => boolean

function wantedBy(filter: unknown): Wanted {
  if (typeof filter === 'object' && filter !== null) {
    if ('mint' in filter) return ({ mint }) => mint === addressOf(filter.mint)
    if ('programId' in filter) return ({ program }) => program === addressOf(filter.programId)
  }
  throw refused('expected a mint or a programId')
}

const refused = (what: string) => new SolanaRpcError(RPC_CODES.invalidParams, `Invalid param: ${what}`)
