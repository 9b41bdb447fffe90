import { ASSETS, type AssetId, type Network, type PaymentAsset } from '../assets.ts'
import type { TokenContracts } from './evm-parameters.ts'
import type { Realm } from './realm.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const TOKEN_EXTENSIONS_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
/** The programs whose accounts hold tokens. */
export const TOKEN_PROGRAMS: ReadonlySet<string> = new Set([TOKEN_PROGRAM, TOKEN_EXTENSIONS_PROGRAM])

/** What a mint's tokens are here; mint and program in base58. */
export type SolanaMint = {
  readonly asset: PaymentAsset
  readonly mint: string
  readonly program: string
  /** Where the places of its accounts begin: beyond any that an account of a transaction can have, and other mints' places. */
  readonly outputIndex: number
  /** Whether what any token account of an owner receives counts: what is never swept needs not lie where sweeps look. */
  readonly isAnyAccount: boolean
}

export const NATIVE_MINT = 'So11111111111111111111111111111111111111112'

/** Of wrapped SOL: the coin inside a token account, which is another asset than what lies on the address itself. */
const WRAPPED_SOL: SolanaMint = {
  asset: 'WSOL',
  mint: NATIVE_MINT,
  program: TOKEN_PROGRAM,
  outputIndex: 1_000,
  isAnyAccount: true,
}

/** The mints that are looked for on a network. Own ones, by the symbols of their tokens, are never for live money. */
export function solanaMintsOf(
  network: Network,
  realm: Realm,
  contracts: TokenContracts,
): readonly SolanaMint[] {
  const own = realm === 'live' ? {} : contracts
  const tokens = Object.values(ASSETS).flatMap(({ id: asset, symbol, chain, token }): SolanaMint[] => {
    if (token === null || chain !== 'solana') return []
    const mint = solanaMintOf(
      asset,
      own[symbol] ?? (network === 'solana-live' ? token.contracts.live : token.contracts.test),
    )
    return mint === null ? [] : [mint]
  })
  return [WRAPPED_SOL, ...tokens]
}

/** A token's mint at an address; null where there is none. Throws for what is no token of Solana. */
export function solanaMintOf(asset: AssetId, mint: string | null): SolanaMint | null {
  const { token, chain } = ASSETS[asset]
  if (token === null || chain !== 'solana') throw new Error(`${asset} is no token of Solana`)
  if (mint === null) return null
  const program = token.standard === 'token-2022' ? TOKEN_EXTENSIONS_PROGRAM : TOKEN_PROGRAM
  return { asset, mint, program, outputIndex: token.outputIndex, isAnyAccount: false }
}
