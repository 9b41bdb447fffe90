import { ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import { encodeEvmAddress } from '../chain/evm/address.ts'
import { ACCOUNTS_PER_CALL, SolanaRpc } from '../chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../chain/solana/token-accounts.ts'
import { addressBytesOf, ownerOf } from '../chain/solana/watched-owners.ts'
import { isToken, keyspaceOfNetwork } from '../core/assets.ts'
import { evmTokensOf } from '../core/chain/evm-parameters.ts'
import { realmOf } from '../core/chain/realm.ts'
import { solanaMintsOf } from '../core/chain/solana-mints.ts'
import { ADDRESSES_MAX, type Finding, type HeldMoney, listHeldDeposits } from '../db/ledger/audit.ts'
import { type EvmChainNode, isEvmNode, type SolanaChainNode } from '../nodes/chain-nodes.ts'
import { EvmPayoutClient } from '../payouts/broadcast/evm/evm-payout-client.ts'
import { isPayoutToken, type PayoutToken } from '../payouts/broadcast/solana/vault-tokens.ts'
import { listHeldOnSolana, listVaultDues } from '../payouts/store/vault-sweeps.ts'
import type { Queryable } from '../postgres/pool.ts'
import type { ChainAudit } from './chain-audit.ts'
import { closeAtStop } from './close-at-stop.ts'

type AccountsNode = EvmChainNode | SolanaChainNode

/** What the books say that addresses of a network hold: deposits that nobody has swept and, on Solana, the vault. */
export async function listHeld(db: Queryable, node: AccountsNode): Promise<HeldMoney[]> {
  const { network } = node
  if (isEvmNode(node)) return listHeldDeposits(db, network)
  const place = { network, keyspace: keyspaceOfNetwork(network), limit: ADDRESSES_MAX }
  const held = (await listHeldOnSolana(db, place, ['SOL', ...tokensOn(node).map(({ asset }) => asset)])).map(
    ({ merchantId, asset, addressBytes, expected }): HeldMoney => ({
      merchantId,
      asset,
      addressBytes,
      amount: expected,
    }),
  )
  const vaults = (await listVaultDues(db, network)).map(
    ({ vault, asset, due }): HeldMoney => ({
      merchantId: null,
      asset,
      addressBytes: Buffer.from(addressBytesOf(vault), 'hex'),
      amount: due,
    }),
  )
  return [...held, ...vaults]
}

/**
 * Addresses against what they hold on the chain: at least what stands in the books. More may lie there: what is not final
 * yet, or too small to mean anything. `stillHeld` gives what the books say now: what was swept, paid out, or taken back by
 * the chain, meanwhile is no discrepancy.
 */
export async function auditBalances(
  node: AccountsNode,
  held: readonly HeldMoney[],
  stillHeld: () => Promise<readonly HeldMoney[]>,
  stop: AbortSignal,
): Promise<ChainAudit> {
  try {
    const balances = await (isEvmNode(node)
      ? readEvmBalances(node, held, stop)
      : readOnSolana(node, held, stop))
    const short = new Map<string, Finding>()
    for (const [at, money] of held.entries()) {
      const { merchantId, asset, addressBytes, amount } = money
      const balance = balances[at] ?? 0n
      if (balance >= amount) continue
      const address = isEvmNode(node) ? encodeEvmAddress(addressBytes) : ownerOf(addressBytes)
      const detail = `holds ${balance} and ${amount} stand in the books`
      short.set(nameOf(money), { merchantId, subject: `${node.network} ${asset} ${address}`, detail })
    }
    const booked = short.size === 0 ? [] : await stillHeld()
    const findings = booked.flatMap((money) => short.get(nameOf(money)) ?? [])
    return { kind: 'checked', blocksRead: 0, findings }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return { kind: 'not_checked', reason: error.message }
  }
}

/** Asks a network's first node. */
export function openAccountsClient(node: EvmChainNode): EvmPayoutClient {
  const { network, chain, rpcUrl: url, rpcSetting: setting } = node
  const realm = realmOf(node)
  const tokens = evmTokensOf(network, realm, node.tokenContracts)
  return new EvmPayoutClient({ url, setting, chain, realm, tokens })
}

async function readEvmBalances(
  node: EvmChainNode,
  held: readonly HeldMoney[],
  stop: AbortSignal,
): Promise<bigint[]> {
  const client = openAccountsClient(node)
  const close = closeAtStop(client, stop)
  try {
    await client.parameters()
    const balances: bigint[] = []
    for (const { asset, addressBytes } of held) {
      balances.push(
        await (isToken(asset) ? client.tokenBalanceOf(asset, addressBytes) : client.balanceOf(addressBytes)),
      )
    }
    return balances
  } finally {
    await close()
  }
}

const tokensOn = (node: SolanaChainNode): readonly PayoutToken[] =>
  solanaMintsOf(node.network, realmOf(node), node.tokenContracts).filter(isPayoutToken)

/** Where an owner's money lies. */
function accountOf(
  node: SolanaChainNode,
  { asset, addressBytes }: HeldMoney,
): { readonly account: string; readonly isToken: boolean } {
  const token = tokensOn(node).find((each) => each.asset === asset)
  const owner = ownerOf(addressBytes)
  if (token === undefined) return { account: owner, isToken: false }
  return { account: associatedTokenAccount(owner, token), isToken: true }
}

async function readOnSolana(
  node: SolanaChainNode,
  held: readonly HeldMoney[],
  stop: AbortSignal,
): Promise<bigint[]> {
  const rpc = new SolanaRpc(node.rpcUrl, node.rpcSetting)
  const close = closeAtStop(rpc, stop)
  try {
    const balances: bigint[] = []
    for (let at = 0; at < held.length; at += ACCOUNTS_PER_CALL) {
      const some = held.slice(at, at + ACCOUNTS_PER_CALL).map((money) => accountOf(node, money))
      const { balances: read } = await rpc.balancesOf(
        some.map(({ account }) => account),
        0,
      )
      for (const [place, { isToken }] of some.entries())
        balances.push((isToken ? read[place]?.tokens : read[place]?.lamports) ?? 0n)
    }
    return balances
  } finally {
    await close()
  }
}

const nameOf = ({ asset, addressBytes, amount }: HeldMoney): string =>
  `${asset} ${addressBytes.toString('hex')} ${amount}`
