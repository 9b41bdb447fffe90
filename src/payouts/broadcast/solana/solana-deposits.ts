import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { keyspaceOfNetwork } from '../../../core/assets.ts'
import type { Tenant } from '../../../postgres/transaction.ts'
import type { TokenSource } from '../../store/solana-token-sweeps.ts'
import { listSweepCandidates } from '../../store/vault-sweeps.ts'
import { ShortAddresses } from './short-addresses.ts'
import type { SolanaParts } from './solana-parts.ts'
import { NOTHING, type Sweepable } from './sweepable.ts'

/** Deposit addresses looked at in one turn: one call's worth. */
const CANDIDATES_MAX = 100
/** How long an address of which a sweep was not taken keeps what makes it exist. */
const MISSED_MS = 3_600_000

type Parts = Omit<SolanaParts, 'tokens'>

/** What the chain has at deposit addresses, against the books. */
export class SolanaDeposits {
  readonly #parts: Parts
  readonly #short: ShortAddresses

  constructor(parts: Parts) {
    this.#parts = parts
    this.#short = new ShortAddresses(parts)
  }

  /**
   * What can be swept of addresses that hold as much as the books say, or more. More is a payment that was not recorded yet:
   * what was recorded is swept, and the address keeps what makes it exist, since one that was emptied would no longer report
   * the payment, and no block takes what leaves less. The same after a sweep that no block took, since more may have come
   * meanwhile. So nobody delays a sweep by sending a little. Less was swept already, or is an alarm. `rentExempt`: lamports with which an address exists.
   */
  async ready(tenant: Tenant, vault: string, rentExempt: bigint): Promise<Sweepable> {
    const { pool, network, providers, clock } = this.#parts
    const missedSince = new Date(clock().getTime() - MISSED_MS)
    const at = { network, keyspace: keyspaceOfNetwork(network), asset: 'SOL' } as const
    const place = { ...at, limit: CANDIDATES_MAX, missedSince }
    const candidates = await listSweepCandidates(pool, tenant, place)
    if (candidates.length === 0) return NOTHING
    const owners = candidates.map(({ addressBytes }) => ownerOf(addressBytes))
    const accounts = await providers.current.accountsAt(owners)
    const sources: TokenSource[] = []
    let [short, waiting] = [0n, 0n]
    for (const [at, { index, expected, funded, wasMissed }] of candidates.entries()) {
      const [lamports, owner] = [accounts[at]?.lamports ?? 0n, owners[at] ?? '']
      if (lamports < expected) {
        const found = { asset: 'SOL', mint: null, index, expected, held: lamports } as const
        await this.#short.explain({ ...found, owner, account: owner, vault })
        short += expected
        continue
      }
      const beyond = lamports - expected
      const isWhole = beyond >= rentExempt || (!wasMissed && (beyond === 0n || beyond === funded))
      const left = isWhole ? 0n : rentExempt - beyond
      if (expected > left) sources.push({ index, amount: expected - left })
      waiting += expected > left ? left : expected
    }
    // There may be more addresses than were looked at.
    const isAll = candidates.length < CANDIDATES_MAX
    return { ...NOTHING, sources, short: isAll ? short : 0n, waiting }
  }
}
