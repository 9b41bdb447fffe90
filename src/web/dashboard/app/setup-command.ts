import type { Chain } from '../../../core/assets.ts'
import { EVM_CHAINS } from '../../../core/chain/evm-networks.ts'
import type { AssetName } from '../api/types.ts'
import { COINS } from '../parts/money.ts'

/** What the page asks of somebody who goes live. */
export type LiveAnswers = {
  readonly shop: string
  /** Null where another person owns the shop: setup asks. */
  readonly email: string | null
  readonly coins: ReadonlySet<AssetName>
  readonly baseUrl: string
  /** Chains that are read from public providers; of the others setup asks for the node's URL, unseen. */
  readonly publicChains: ReadonlySet<Chain>
  readonly signerKeyFile: string
  readonly signUp: 'closed' | 'invite' | 'open'
  readonly backupTo: string
}

/** The chains that these coins are on. */
export const chainsOf = (coins: ReadonlySet<AssetName>): readonly Chain[] => [
  ...new Set([...coins].map((coin) => COINS[coin].chain)),
]

/** Of these setup knows two public providers. */
export const PUBLIC_CHAINS: readonly Chain[] = ['bitcoin', ...EVM_CHAINS, 'solana']

/**
 * The command that does what the page describes. It names no secret: setup asks for these, and for the words of the seed,
 * in the terminal.
 */
export function setupCommandFor(answers: LiveAnswers): string {
  const { shop, email, coins, baseUrl, publicChains, signerKeyFile, signUp, backupTo } = answers
  const nodes = chainsOf(coins)
    .filter((chain) => publicChains.has(chain))
    .map((chain) => [`live-${chain}-rpc-url`, 'public'] as const)
  const options: readonly (readonly [string, string | null])[] = [
    ['name', shop],
    ['email', email],
    ['mode', 'live'],
    ['coins', [...coins].join(',')],
    ['base-url', baseUrl],
    ...nodes,
    ['signer-key-file', signerKeyFile],
    ['sign-up', signUp],
    ['backup-to', backupTo],
  ]
  const given = options.flatMap(([name, value]) => (value === null || value === '' ? [] : [[name, value]]))
  return [
    'npm run -s paylink -- setup',
    ...given.map(([name, value = '']) => `--${name} ${quoted(value)}`),
  ].join(' \\\n  ')
}

/** A word of a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w./:,+@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
