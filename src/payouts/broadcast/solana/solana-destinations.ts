import { address, isAddress, isOffCurveAddress } from '@solana/kit'
import { isKeysAccount } from '../../../chain/solana/chains-own-address.ts'
import type { AccountBytes } from '../../../chain/solana/solana-answers.ts'
import type { SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../../../chain/solana/token-accounts.ts'
import { tokenHoldingOf } from '../../../chain/solana/token-state.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import {
  PAYOUT_UNIT_LIMIT,
  TOKEN_ACCOUNT_UNIT_LIMIT,
  TOKEN_UNIT_LIMIT,
} from '../../../core/payout/solana-fee.ts'
import { tenantOf } from '../../../core/tenant.ts'
import type { Pool } from '../../../postgres/pool.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { insertPayoutGas, insertPayoutRefusal, loadPayoutGas } from '../../store/payout-transactions.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import { type PayoutToken, type ReadVaultToken, readVaultTokens } from './vault-tokens.ts'

/** Payouts whose destinations one call looks at: two accounts each. */
const DESTINATIONS_MAX = 50

type Parts = {
  readonly pool: Pool
  readonly clock: Clock
  readonly providers: PayoutProviders<SolanaRpc>
  readonly tokens: readonly PayoutToken[]
}

/** The vault, and what it was last seen to hold. */
type Vault = { readonly vault: string; readonly vaultTokens: readonly ReadVaultToken[] }

/** What payouts on Solana go to, found out before they are signed. */
export class SolanaDestinations {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Keeps once, before a payout is signed, whether its destination takes it, and ends what its token's issuer lets nobody move. */
  async keep(unsigned: readonly Payout[], vault: Vault | null): Promise<void> {
    const { pool } = this.#parts
    const unknown: Payout[] = []
    for (const payout of unsigned) {
      if (payout.status !== 'approved' || !isAddress(payout.destination)) continue
      if (vault !== null && (await this.#isStopped(payout, vault))) continue
      if ((await loadPayoutGas(pool, tenantOf(payout), payout.id)) === null) unknown.push(payout)
    }
    for (let at = 0; at < unknown.length; at += DESTINATIONS_MAX)
      await this.#keepSome(unknown.slice(at, at + DESTINATIONS_MAX))
  }

  /** Whether nothing of the payout's token can be moved; then it is given up once another provider says so too. */
  async #isStopped(payout: Payout, { vault, vaultTokens }: Vault): Promise<boolean> {
    const { pool, clock, providers } = this.#parts
    const token = this.#tokenOf(payout)
    const held = vaultTokens.find(({ asset }) => asset === payout.asset)
    if (token === null || held?.refusal == null) return false
    const isStoppedBy = async (rpc: SolanaRpc) => {
      const [read] = await readVaultTokens(rpc, [token], vault)
      return read === undefined || read.refusal !== null
    }
    if (!(await providers.isRefusedForGood(payout.id, isStoppedBy))) return true
    const tenant = tenantOf(payout)
    const refusal = { payoutId: payout.id, code: 'token_refuses', now: clock() }
    await withTransaction(pool, tenant, (tx) => insertPayoutRefusal(tx, tenant, refusal))
    return true
  }

  async #keepSome(unknown: readonly Payout[]): Promise<void> {
    const { pool, providers } = this.#parts
    const units = await this.#unitsOf(providers.current, unknown)
    for (const [at, payout] of unknown.entries()) {
      const isRefusedBy = async (rpc: SolanaRpc) => (await this.#unitsOf(rpc, [payout]))[0] === 0
      const gas = BigInt(units[at] ?? 0)
      if (gas === 0n && !(await providers.isRefusedForGood(payout.id, isRefusedBy))) continue
      const tenant = tenantOf(payout)
      await withTransaction(pool, tenant, (tx) => insertPayoutGas(tx, tenant, { payoutId: payout.id, gas }))
    }
  }

  /** Compute units that each payout may use, by what its destination is; 0 where it takes none. */
  async #unitsOf(rpc: SolanaRpc, payouts: readonly Payout[]): Promise<number[]> {
    const names = payouts.map((payout) => {
      const token = this.#tokenOf(payout)
      const { destination } = payout
      return token === null ? [destination] : [destination, associatedTokenAccount(destination, token)]
    })
    const accounts = await rpc.accountsAt(names.flat())
    let next = 0
    return payouts.map((payout, at) => {
      const [owner = null, tokens = null] = accounts.slice(next, next + (names[at]?.length ?? 0))
      next += names[at]?.length ?? 0
      if (!isKeysAccount(owner)) return 0
      const token = this.#tokenOf(payout)
      return token === null ? PAYOUT_UNIT_LIMIT : tokenUnitsOf(payout, token, { owner, tokens })
    })
  }

  #tokenOf({ asset }: Payout): PayoutToken | null {
    return this.#parts.tokens.find((token) => token.asset === asset) ?? null
  }
}

/**
 * What a person types is a wallet. Off the curve lie token accounts and programs' accounts: one that holds nothing may be a
 * token account that is closed, whose tokens nobody could move.
 */
function tokenUnitsOf(
  { destination }: Payout,
  token: PayoutToken,
  { owner, tokens }: { readonly owner: AccountBytes | null; readonly tokens: AccountBytes | null },
): number {
  if (owner === null && isOffCurveAddress(address(destination))) return 0
  if (tokens === null) return TOKEN_ACCOUNT_UNIT_LIMIT
  // Money that anybody sent to the address before the account was made there.
  if (isKeysAccount(tokens) && tokens.data.length === 0) return TOKEN_ACCOUNT_UNIT_LIMIT
  const holding = tokenHoldingOf(tokens, token)
  const isOpen = holding !== null && !holding.isFrozen && !holding.wantsMemo
  return isOpen && holding.owner === destination ? TOKEN_UNIT_LIMIT : 0
}
