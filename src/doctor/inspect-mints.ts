import { unwrapOption } from '@solana/kit'
import { getMintDecoder, getMintSize } from '@solana-program/token'
import { type MintExtensions, readMintExtensions } from '../chain/solana/mint-extensions.ts'
import type { AccountBytes } from '../chain/solana/solana-answers.ts'
import type { SolanaRpc } from '../chain/solana/solana-rpc.ts'
import { COINS } from '../core/assets.ts'
import { realmOf } from '../core/chain/realm.ts'
import { type SolanaMint, solanaMintsOf } from '../core/chain/solana-mints.ts'
import { formatCoinAmount } from '../core/money.ts'
import type { SolanaChainNode } from '../nodes/chain-nodes.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** What stands at each mint of a network: its program, decimals, supply, and who may do what to everybody's tokens. */
export async function inspectMints(
  node: SolanaChainNode,
  rpc: Pick<SolanaRpc, 'accountsAt'>,
): Promise<Finding[]> {
  const mints = solanaMintsOf(node.network, realmOf(node), node.tokenContracts).filter(
    ({ asset }) => asset !== 'WSOL',
  )
  const accounts = await rpc.accountsAt(mints.map(({ mint }) => mint))
  return mints.map((mint, place) => inspectMint(node, mint, accounts[place] ?? null))
}

function inspectMint({ network }: SolanaChainNode, of: SolanaMint, account: AccountBytes | null): Finding {
  const { asset, mint, program } = of
  const where = `${network}: ${asset} at ${mint}`
  if (account === null) return notice(`${where}: no mint there, so it cannot be paid or paid out`)
  const another = `it is another token than ${asset}; correct the mint, or use another node`
  if (account.owner !== program) return fault(`${where} belongs to the program ${account.owner}: ${another}`)
  if (account.data.length < getMintSize()) return fault(`${where} is no mint: ${another}`)
  const read = getMintDecoder().decode(account.data.subarray(0, getMintSize()))
  const supply = formatCoinAmount(read.supply, read.decimals)
  const maker = unwrapOption(read.mintAuthority) ?? 'nobody'
  const freezer = unwrapOption(read.freezeAuthority) ?? 'nobody'
  const extensions = readMintExtensions(account.data)
  const delegate = extensions.delegate === null ? '' : `, taken from any account by ${extensions.delegate}`
  const said = `${where} has ${read.decimals} decimals and a supply of ${supply}, made by ${maker}, frozen by ${freezer}${delegate}`
  if (!read.isInitialized || read.decimals !== COINS[asset].decimals) return fault(`${said}: ${another}`)
  const why = obstacleOf(extensions)
  if (why !== null) return fault(`${said}; ${why}`)
  const { feeParts } = extensions
  if (feeParts === 0) return ok(said)
  return notice(
    `${said}; its issuer keeps ${feeParts / 100} % of each transfer: what arrives is less than what buyers send, and payouts in it are refused`,
  )
}

function obstacleOf({ hook, ...extensions }: MintExtensions): string | null {
  const off = 'turn it off until its issuer has ended that'
  if (extensions.isNonTransferable) return `nobody can transfer it: ${off}`
  if (extensions.isPaused) return `its issuer has paused it: ${off}`
  if (extensions.isFrozenAtFirst)
    return `its issuer has new accounts frozen, so no invoice can be paid: ${off}`
  if (hook !== null) return `its issuer has the program ${hook} decide of each transfer: ${off}`
  return null
}
