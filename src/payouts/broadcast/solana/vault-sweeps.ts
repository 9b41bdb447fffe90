import { type AssetId, isToken, keyspaceOfNetwork } from '../../../core/assets.ts'
import {
  LAMPORTS_PER_SIGNATURE,
  SWEEP_SOURCES_MAX,
  TOKEN_SWEEP_SOURCES_MAX,
  tokenAccountRent,
} from '../../../core/payout/solana-fee.ts'
import type { Tenant } from '../../../postgres/transaction.ts'
import { newId } from '../../../runtime/new-id.ts'
import type { SolanaReading, SolanaSignerAccounts } from '../../store/solana-accounts.ts'
import { insertMaintenance } from '../../store/solana-maintenance.ts'
import { endRequest, endUnsignedRequests, type SignedRequest } from '../../store/solana-requests.ts'
import { insertTokenSweep, listOpenTokenSweeps, type TokenSource } from '../../store/solana-token-sweeps.ts'
import { listSweepNeeds } from '../../store/vault-sweeps.ts'
import { sendUntilFinal } from './signed-transactions.ts'
import { SolanaDeposits } from './solana-deposits.ts'
import type { SolanaParts } from './solana-parts.ts'
import type { Sweepable } from './sweepable.ts'
import { TokenDeposits } from './token-deposits.ts'
import type { ReadVaultToken } from './vault-tokens.ts'

/** Sweeps of tokens that have not ended and are looked after in one turn. */
const OPEN_MAX = 50

/** Why payouts of a merchant lack money, as a code of failed payouts. */
type Lack = 'deposit_frozen' | 'insufficient_funds' | 'fee_above_limit'

type Accounts = Pick<SolanaSignerAccounts, 'vault'>

/** Deposits swept into the vault as payouts need them, of every asset of the network; the signer signs. */
export class VaultSweeps {
  readonly #parts: SolanaParts
  readonly #deposits: SolanaDeposits
  readonly #tokenDeposits: TokenDeposits
  /** Why merchants' payouts need what is not to be had, by `nameOf`. */
  #lacking = new Map<string, Lack>()

  constructor(parts: SolanaParts) {
    this.#parts = parts
    this.#deposits = new SolanaDeposits(parts)
    this.#tokenDeposits = new TokenDeposits(parts)
  }

  /** Whether sweeps of tokens are on their way. */
  async areTokensComing(): Promise<boolean> {
    const { pool, network } = this.#parts
    return (await listOpenTokenSweeps(pool, network, 1)).length > 0
  }

  /** Sends what is signed of tokens, ends what is final, and what was not taken in time. `unsignedBefore`: what nobody signed since then is asked for anew. */
  async sendTokens(unsignedBefore: Date): Promise<void> {
    const { pool, network, clock } = this.#parts
    const open = await listOpenTokenSweeps(pool, network, OPEN_MAX)
    if (open.length === 0) return
    await endUnsignedRequests(
      pool,
      { table: 'solana_token_sweep', network },
      { requestedBefore: unsignedBefore, now: clock() },
    )
    const signed = open.flatMap(({ sweep, signed: each }) =>
      each === null ? [] : [{ id: sweep.id, ...each }],
    )
    await sendUntilFinal(this.#parts, signed, (sweep, landed) => this.#end(sweep, landed))
  }

  async #end({ id, txid }: SignedRequest & { readonly id: string }, landed: boolean): Promise<void> {
    const { pool, network, clock, sealer } = this.#parts
    if (landed) await sealer.landed(txid)
    await endRequest(pool, { table: 'solana_token_sweep', network, id }, { landed, now: clock() })
  }

  recheckFrozen(): Promise<void> {
    return this.#tokenDeposits.recheckFrozen()
  }

  /** Why payouts of this merchant in this asset need what is not to be had, as found when sweeps were last asked for; null where they do not. */
  lackOf(tenant: Tenant, asset: AssetId): Lack | null {
    return this.#lacking.get(nameOf(tenant, asset)) ?? null
  }

  /** As much as each merchant's payouts need and the vault does not hold, from the richest addresses, all that lies on each. */
  async request(
    accounts: Accounts,
    reading: SolanaReading,
    vaultTokens: readonly ReadVaultToken[],
  ): Promise<void> {
    const { pool, network } = this.#parts
    const keyspace = keyspaceOfNetwork(network)
    let payable = reading.feePayerLamports - reading.rentExempt
    this.#lacking = new Map()
    for (const { tenant, asset, ...need } of await listSweepNeeds(pool, { network, keyspace })) {
      const token = this.#parts.tokens.find((each) => each.asset === asset)
      // A row may name what is no asset of this network.
      if (asset !== 'SOL' && token === undefined) continue
      const held = vaultTokens.find((each) => each.asset === asset)
      // What its issuer lets nobody move whole waits.
      if (token !== undefined && (held === undefined || held.refusal !== null)) continue
      let { missing } = need
      const sources: TokenSource[] = []
      const found = await this.#ready(tenant, asset, accounts, reading)
      for (const source of found.sources) {
        if (missing <= 0n) break
        sources.push(source)
        missing -= source.amount
      }
      const lack = sources.length === 0 && missing > found.waiting ? lackIn(found) : null
      if (lack !== null) this.#lacking.set(nameOf(tenant, asset), lack)
      const most = isToken(asset) ? TOKEN_SWEEP_SOURCES_MAX : SWEEP_SOURCES_MAX
      for (let at = 0; at < sources.length; at += most) {
        const some = sources.slice(at, at + most)
        payable -= LAMPORTS_PER_SIGNATURE * BigInt(some.length + 1)
        if (held?.hasAccount === false) payable -= tokenAccountRent(reading.rentExempt)
        if (payable < 0n) return
        await this.#insert(asset, some)
      }
    }
  }

  async #ready(
    tenant: Tenant,
    asset: AssetId,
    { vault }: Accounts,
    { rentExempt }: SolanaReading,
  ): Promise<Sweepable> {
    const token = this.#parts.tokens.find((each) => each.asset === asset)
    return token === undefined
      ? this.#deposits.ready(tenant, vault, rentExempt)
      : this.#tokenDeposits.ready(tenant, token, vault)
  }

  async #insert(asset: AssetId, sources: readonly TokenSource[]): Promise<void> {
    const { pool, network, clock } = this.#parts
    const now = clock()
    const id = newId('maintenance', now)
    if (isToken(asset)) return insertTokenSweep(pool, network, { id, asset, sources }, now)
    const ofLamports = sources.map(({ index, amount: lamports }) => ({ index, lamports }))
    return insertMaintenance(pool, network, { kind: 'sweep', id, sources: ofLamports }, now)
  }
}

function lackIn({ frozen, short, dust }: Sweepable): Lack | null {
  if (frozen > 0n) return 'deposit_frozen'
  if (short > 0n) return 'insufficient_funds'
  return dust > 0n ? 'fee_above_limit' : null
}

const nameOf = ({ merchantId, livemode }: Tenant, asset: AssetId): string =>
  `${merchantId} ${livemode} ${asset}`
