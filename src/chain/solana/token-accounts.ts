import { createHash } from 'node:crypto'
import { setImmediate as otherWork } from 'node:timers/promises'
import { ed25519 } from '@noble/curves/ed25519.js'
import { address, getAddressDecoder, getAddressEncoder } from '@solana/kit'
import { LRUCache } from 'lru-cache'
import type { Network } from '../../core/assets.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'
import { type PrivateChain, realmOf } from '../../core/chain/realm.ts'
import { type SolanaMint, solanaMintsOf } from '../../core/chain/solana-mints.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'

const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
const BUMP_MAX = 255
/** Token accounts that a process remembers, those of 100,000 owners: its adapters ask for the same. */
const REMEMBERED_MAX = 400_000
const known = new LRUCache<string, string>(entriesUpTo(REMEMBERED_MAX))

const bytesOf = (name: string) => Uint8Array.from(getAddressEncoder().encode(address(name)))
const AFTER_BUMP = Buffer.concat([bytesOf(ASSOCIATED_TOKEN_PROGRAM), Buffer.from('ProgramDerivedAddress')])

/** Where wallets put an owner's tokens of a mint: the address that the associated token program derives (ATA). */
export function associatedTokenAccount(owner: string, mint: SolanaMint): string {
  const name = nameOf(owner, mint)
  const found = known.get(name)
  if (found !== undefined) return found
  const derived = derive(owner, mint)
  known.set(name, derived)
  return derived
}

const nameOf = (owner: string, { mint }: SolanaMint): string => `${owner} ${mint}`

function derive(owner: string, { mint, program }: SolanaMint): string {
  const seeds = Buffer.concat([bytesOf(owner), bytesOf(program), bytesOf(mint)])
  for (let bump = BUMP_MAX; bump >= 0; bump--) {
    const hash = createHash('sha256').update(seeds).update(Uint8Array.of(bump)).update(AFTER_BUMP).digest()
    if (!isOnCurve(hash)) return getAddressDecoder().decode(hash)
  }
  throw new Error(`${owner} has no token account of ${mint}`)
}

/** Whether a key could sign for this address. The stock client takes 1 ms to say so, some ten times as long. */
function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes, true)
    return true
  } catch {
    return false
  }
}

/** An account that is read: an owner's own, or one that holds its tokens of a mint. */
export type OwnersAccount = { readonly account: string; readonly mint: SolanaMint | null }

/** The mints that are looked for, and the accounts where wallets put an owner's tokens. */
export class TokenAccounts {
  readonly #mints: ReadonlyMap<string, SolanaMint>

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
    const mints = [...this.#mints.values()]
    // Thousands are derived at a start.
    if (!mints.every((mint) => known.has(nameOf(owner, mint)))) await otherWork()
    const derived = mints.map((mint) => ({ account: associatedTokenAccount(owner, mint), mint }))
    return [{ account: owner, mint: null }, ...derived]
  }
}
