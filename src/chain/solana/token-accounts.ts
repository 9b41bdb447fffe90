import { createHash } from 'node:crypto'
import { setImmediate as otherWork } from 'node:timers/promises'
import { address, getAddressDecoder, getAddressEncoder, isOffCurveAddress } from '@solana/kit'
import { LRUCache } from 'lru-cache'
import type { Network } from '../../core/assets.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'
import { type PrivateChain, realmOf } from '../../core/chain/realm.ts'
import { type SolanaMint, solanaMintsOf } from '../../core/chain/solana-mints.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'

const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
const BUMP_MAX = 255
/** Owners whose token accounts are remembered. */
const OWNERS_REMEMBERED = 100_000

const bytesOf = (name: string) => Uint8Array.from(getAddressEncoder().encode(address(name)))
const AFTER_BUMP = Buffer.concat([bytesOf(ASSOCIATED_TOKEN_PROGRAM), Buffer.from('ProgramDerivedAddress')])

/** Where wallets put an owner's tokens of a mint: the address that the associated token program derives (ATA). */
export function associatedTokenAccount(owner: string, { mint, program }: SolanaMint): string {
  const seeds = Buffer.concat([bytesOf(owner), bytesOf(program), bytesOf(mint)])
  for (let bump = BUMP_MAX; bump >= 0; bump--) {
    const hash = createHash('sha256').update(seeds).update(Uint8Array.of(bump)).update(AFTER_BUMP).digest()
    const derived = getAddressDecoder().decode(hash)
    if (isOffCurveAddress(derived)) return derived
  }
  throw new Error(`${owner} has no token account of ${mint}`)
}

/** An account that is read: an owner's own, or one that holds its tokens of a mint. */
export type OwnersAccount = { readonly account: string; readonly mint: SolanaMint | null }

/** The mints that are looked for, and the accounts where wallets put an owner's tokens, remembered: deriving one takes time. */
export class TokenAccounts {
  readonly #mints: ReadonlyMap<string, SolanaMint>
  readonly #known = new LRUCache<string, readonly OwnersAccount[]>(entriesUpTo(OWNERS_REMEMBERED))

  constructor(mints: readonly SolanaMint[]) {
    this.#mints = new Map(mints.map((each) => [each.mint, each]))
  }

  /** Those of a network, where `tokenContracts` may stand in the place of the issuers' mints. */
  static on(
    network: Network,
    of: {
      readonly livemode: boolean
      readonly privateChain?: PrivateChain | null
      readonly tokenContracts?: TokenContracts
    },
  ): TokenAccounts {
    return new TokenAccounts(solanaMintsOf(network, realmOf(of), of.tokenContracts ?? {}))
  }

  mintOf(name: string): SolanaMint | null {
    return this.#mints.get(name) ?? null
  }

  /** The owner's own account first. */
  async of(owner: string): Promise<readonly OwnersAccount[]> {
    const known = this.#known.get(owner)
    if (known !== undefined) return known
    const derived = [...this.#mints.values()].map((mint) => ({
      account: associatedTokenAccount(owner, mint),
      mint,
    }))
    const accounts = [{ account: owner, mint: null }, ...derived]
    this.#known.set(owner, accounts)
    // Thousands are derived at a start.
    await otherWork()
    return accounts
  }
}
