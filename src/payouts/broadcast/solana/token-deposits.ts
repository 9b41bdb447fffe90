import type { SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../../../chain/solana/token-accounts.ts'
import { type TokenHolding, tokenHoldingOf } from '../../../chain/solana/token-state.ts'
import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { keyspaceOfNetwork } from '../../../core/assets.ts'
import type { Tenant } from '../../../postgres/transaction.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import {
  deleteFrozenDeposit,
  saveFrozenDeposit,
  sumFrozenDeposits,
  takeFrozenToCheck,
} from '../../store/frozen-deposits.ts'
import type { TokenSource } from '../../store/solana-token-sweeps.ts'
import { loadTokenSweepCost } from '../../store/sweep-cost.ts'
import { listSweepCandidates, type SweepCandidate } from '../../store/vault-sweeps.ts'
import { unlessRefused } from '../unless-refused.ts'
import { ShortAddresses } from './short-addresses.ts'
import type { SolanaParts } from './solana-parts.ts'
import { NOTHING, type Sweepable } from './sweepable.ts'
import type { PayoutToken } from './vault-tokens.ts'

/** Deposit addresses looked at in one turn: one call's worth. */
const CANDIDATES_MAX = 100
/** Frozen deposits are asked about this often, so many of them. */
const FROZEN_EVERY_MS = 10 * 60_000
const FROZEN_MAX = 20
const FROZEN = 'account frozen'

/** What the chain has of tokens at deposit addresses, against the books. */
export class TokenDeposits {
  readonly #parts: SolanaParts
  readonly #short: ShortAddresses
  readonly #alerts = new DeduplicatedLog()
  #recheckedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: SolanaParts) {
    this.#parts = parts
    this.#short = new ShortAddresses(parts)
  }

  /**
   * What can be swept of the accounts where wallets put an address's tokens: what the books say, if so much lies there. Less
   * was swept already, or is an alarm: the issuer's delegate may have taken it. What is frozen or worth less than its sweep
   * is left, and the others do not wait for it.
   */
  async ready(tenant: Tenant, token: PayoutToken, vault: string): Promise<Sweepable> {
    const { pool, network, providers, clock } = this.#parts
    const { asset } = token
    const keyspace = keyspaceOfNetwork(network)
    const place = { network, keyspace, asset, limit: CANDIDATES_MAX, missedSince: clock() }
    const candidates = await listSweepCandidates(pool, tenant, place)
    const names = candidates.map(({ addressBytes }) => accountAt(addressBytes, token))
    const accounts = names.length === 0 ? [] : await providers.current.accountsAt(names)
    const cost = await loadTokenSweepCost(pool, { asset, livemode: tenant.livemode })
    const sources: TokenSource[] = []
    let [short, waiting, dust] = [0n, 0n, 0n]
    for (const [at, candidate] of candidates.entries()) {
      const { index, expected, addressBytes } = candidate
      const [owner, account] = [ownerOf(addressBytes), names[at] ?? '']
      const holding = tokenHoldingOf(accounts[at] ?? null, token)
      const held = holding?.owner === owner ? holding.amount : 0n
      if (held < expected) {
        const vaults = associatedTokenAccount(vault, token)
        await this.#short.explain({
          asset,
          mint: token,
          owner,
          index,
          account,
          vault: vaults,
          expected,
          held,
        })
        short += expected
      } else if (holding?.isFrozen === true) {
        const isKept = await this.#keepFrozen(tenant, token, { ...candidate, account })
        if (!isKept) waiting += expected
      } else if (expected <= cost) dust += expected
      else sources.push({ index, amount: expected })
    }
    const frozen = await sumFrozenDeposits(pool, tenant, asset)
    // There may be more addresses than were looked at.
    const isAll = candidates.length < CANDIDATES_MAX
    return isAll ? { sources, short, waiting, frozen, dust } : { ...NOTHING, sources, waiting }
  }

  /** Whether another provider says so too, and the merchant is shown it. */
  async #keepFrozen(
    tenant: Tenant,
    token: PayoutToken,
    { account, addressBytes: address, expected: amount, transferId }: SweepCandidate & { account: string },
  ): Promise<boolean> {
    const { pool, network, clock, log, providers } = this.#parts
    const { asset } = token
    const isFrozenBy = async (rpc: SolanaRpc) => (await holdingAt(rpc, account, token))?.isFrozen === true
    if (!(await providers.isRefusedForGood(account, isFrozenBy))) return false
    const kept = { network, asset, address, amount, reason: FROZEN, transferId }
    await saveFrozenDeposit(pool, tenant, kept, clock())
    if (this.#alerts.isNew(account, 'frozen'))
      log.error(
        { network, asset, address: ownerOf(address), reason: FROZEN },
        'a deposit cannot be swept: its issuer has frozen it',
      )
    return true
  }

  /** Asks again about frozen deposits, a few at a time: an issuer may let go of them, and what is not there any more is not frozen. */
  async recheckFrozen(): Promise<void> {
    const { pool, network, tokens, clock, providers } = this.#parts
    const now = clock()
    if (!isDue(this.#recheckedAtMs, FROZEN_EVERY_MS, now.getTime())) return
    this.#recheckedAtMs = now.getTime()
    const before = new Date(now.getTime() - FROZEN_EVERY_MS)
    const assets = tokens.map(({ asset }) => asset)
    for (const one of await takeFrozenToCheck(pool, network, { assets, before, now, limit: FROZEN_MAX })) {
      const token = tokens.find(({ asset }) => asset === one.asset)
      if (token === undefined) continue
      const about = accountAt(one.address, token)
      const ask = () => holdingAt(providers.current, about, token)
      const holding = await unlessRefused(this.#parts, { about, alerts: this.#alerts }, ask)
      if (holding === undefined || (holding?.isFrozen === true && holding.amount >= one.amount)) continue
      providers.isNotRefused(about)
      await deleteFrozenDeposit(pool, one)
    }
  }
}

const accountAt = (addressBytes: Uint8Array, token: PayoutToken): string =>
  associatedTokenAccount(ownerOf(addressBytes), token)

async function holdingAt(rpc: SolanaRpc, account: string, token: PayoutToken): Promise<TokenHolding | null> {
  const [found] = await rpc.accountsAt([account])
  return tokenHoldingOf(found ?? null, token)
}
