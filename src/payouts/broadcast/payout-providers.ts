import { LRUCache } from 'lru-cache'
import { ChainUnavailable } from '../../chain/adapter.ts'
import type { Network } from '../../core/assets.ts'
import { loadNetworkState, savePayoutProvider } from '../../db/chain/network-state.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Clock, isDue } from '../../runtime/clock.ts'
import { DeduplicatedLog, withoutNumbers } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'
import type { BroadcastVerdict } from './broadcaster.ts'
import { isRefused } from './unless-refused.ts'

/** A provider that failed is left alone for this long, where another one serves. */
const AWAY_MS = 30_000
/** A wait for another provider's confirmation is dropped if nothing asked for it again for this long. */
const UNCONFIRMED_MS = 10 * 60_000
/** A refusal that one provider alone reports for so long is believed, where it repeats it at least this often. */
const REFUSED_MS = 24 * 3_600_000
const REPEATED_MS = 3_600_000
/** What one provider has had for so long and no block has goes to the others too, this often. */
const KEPT_MS = 15_000
const OTHERS_INTERVAL_MS = 60_000
/** Transactions that are remembered to have been sent. */
const SENT_MAX = 10_000
/** The provider in use is asked this often whether it still knows the watcher's block. */
const PLACE_INTERVAL_MS = 60_000

/** A provider of a chain, whatever its family. */
export type PayoutProvider = {
  /** Whether it has this block on its best chain. Throws `ChainUnavailable` where it is on another chain altogether. */
  hasBlock(block: { readonly height: number; readonly hash: string }): Promise<boolean>
}

export type NamedChain<Chain> = {
  /** Host and port, for messages: the URL itself holds credentials. */
  readonly name: string
  readonly chain: Chain
}

type Sent = { readonly sinceMs: number; readonly othersAtMs: number; readonly isTaken: boolean }

type Deps = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
}

/**
 * The providers of a network, as payouts see them. One pass uses one provider from start to end: the first, or while that
 * is down the next that knows the watcher's block. Money is released only if all providers agree: one that is mistaken,
 * or lies, would have it paid twice. A payout is confirmed only if another provider agrees too: otherwise it would leave
 * the books without having been sent.
 */
export class PayoutProviders<Chain extends PayoutProvider> {
  readonly #deps: Deps
  readonly #providers: readonly [NamedChain<Chain>, ...NamedChain<Chain>[]]
  readonly #away = new Map<NamedChain<Chain>, { readonly sinceMs: number; readonly reason: string }>()
  /** A provider that cannot serve a pass may still answer about one block; these are separate states. */
  readonly #silentSinceMs = new Map<NamedChain<Chain>, number>()
  readonly #placedAtMs = new Map<NamedChain<Chain>, number>()
  readonly #alerted = new DeduplicatedLog()
  /** What waits for another provider's confirmation, why, and when it was last asked for. */
  readonly #unconfirmed = new Map<string, { readonly atMs: number; readonly reason: string }>()
  /** By payout or address: since when the provider of a look has reported that it is refused, and when it last did. */
  readonly #refused = new Map<string, { readonly sinceMs: number; readonly atMs: number }>()
  readonly #sent = new LRUCache<string, Sent>({ max: SENT_MAX })
  #current: NamedChain<Chain>
  #isLast = false
  #saved: string | null = null
  /** The provider that was logged last; initially the first. */
  #reported: string | null

  constructor(deps: Deps, providers: readonly [NamedChain<Chain>, ...NamedChain<Chain>[]]) {
    this.#reported = providers[0].name
    this.#deps = deps
    this.#providers = providers
    this.#current = providers[0]
  }

  /** The provider of this look. */
  get current(): Chain {
    return this.#current.chain
  }

  /** Whether no other provider is left to continue with if this one fails; providers that are down do not count. */
  get isLast(): boolean {
    return this.#isLast
  }

  /** Does the work with the first provider that serves it to the end. Throws `ChainUnavailable` where none does. */
  async through(work: () => Promise<void>): Promise<void> {
    const nowMs = this.#deps.clock().getTime()
    const isAway = (provider: NamedChain<Chain>) =>
      !isDue(this.#away.get(provider)?.sinceMs ?? Number.NEGATIVE_INFINITY, AWAY_MS, nowMs)
    const inOrder = [...this.#providers].sort((a, b) => Number(isAway(a)) - Number(isAway(b)))
    let last: ChainUnavailable | null = null
    for (const [place, provider] of inOrder.entries()) {
      try {
        await this.#place(provider, nowMs)
        this.#current = provider
        this.#isLast = inOrder.slice(place + 1).every(isAway)
        await work()
        this.#away.delete(provider)
        await this.#reportCurrent(provider)
        return
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        this.#away.set(provider, { sinceMs: nowMs, reason: error.message })
        this.#placedAtMs.delete(provider)
        last = error
      }
    }
    await this.#reportCurrent(null)
    throw new ChainUnavailable(this.#reasons(), { cause: last })
  }

  /**
   * Sends signed bytes to the provider of this look, and to the others where it does not take them, or where it has had them
   * for a while and no block has: it may not pass them on. Known is what one of them takes. `txid`: of the bytes.
   */
  async broadcast(
    txid: string,
    send: (chain: Chain) => Promise<BroadcastVerdict>,
  ): Promise<BroadcastVerdict> {
    const verdict = await send(this.#current.chain)
    if (this.#providers.length === 1) return verdict
    const nowMs = this.#deps.clock().getTime()
    const unsent = { sinceMs: nowMs, othersAtMs: Number.NEGATIVE_INFINITY, isTaken: false }
    const { sinceMs, othersAtMs, isTaken } = this.#sent.get(txid) ?? unsent
    const isEnough = verdict.kind === 'known' && !isDue(sinceMs, KEPT_MS, nowMs)
    const asks = !isEnough && isDue(othersAtMs, OTHERS_INTERVAL_MS, nowMs)
    const isTakenNow = asks ? await this.#isTakenByOthers(send) : isTaken
    this.#sent.set(txid, { sinceMs, othersAtMs: asks ? nowMs : othersAtMs, isTaken: isTakenNow })
    return isTakenNow ? { kind: 'known' } : verdict
  }

  /** What the first other provider that can tell says, where the watcher stands; null where none can. */
  async fromOthers<Answer>(question: (chain: Chain) => Promise<Answer | null>): Promise<Answer | null> {
    for (const provider of this.#providers) {
      if (provider === this.#current || this.#isSilent(provider)) continue
      try {
        const answer = (await this.#isWithWatcher(provider.chain)) ? await question(provider.chain) : null
        if (answer !== null) return answer
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        if (!isRefused(error)) this.#silentSinceMs.set(provider, this.#deps.clock().getTime())
      }
    }
    return null
  }

  /** Whether another provider, where the watcher stands, takes it; all are asked, for each may keep it to itself. */
  async #isTakenByOthers(send: (chain: Chain) => Promise<BroadcastVerdict>): Promise<boolean> {
    let isTaken = false
    for (const provider of this.#providers) {
      if (provider === this.#current || this.#isSilent(provider)) continue
      try {
        if (!(await this.#isWithWatcher(provider.chain))) continue
        isTaken = (await send(provider.chain)).kind === 'known' || isTaken
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        // One that does not answer is not waited for at each of many transactions.
        if (!isRefused(error)) this.#silentSinceMs.set(provider, this.#deps.clock().getTime())
      }
    }
    return isTaken
  }

  /**
   * Whether this is so by every provider, on the chain where the watcher stands: another one says nothing of ours. One that
   * does not answer has not said so: what waits for it is logged once. `about`: the id of what would be given up.
   */
  async allSay(about: string, question: (chain: Chain) => Promise<boolean>): Promise<boolean> {
    const isSo = async (chain: Chain) => (await question(chain)) && (await this.#isWithWatcher(chain))
    if (!(await isSo(this.#current.chain))) return false
    for (const provider of this.#providers) {
      if (provider === this.#current) continue
      try {
        if (await isSo(provider.chain)) continue
        this.#alert(about, `${provider.name} does not say so`)
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        this.#alert(about, error.message)
      }
      return false
    }
    return true
  }

  /**
   * Whether another provider than that of this look says so as well; a provider that is the only one is believed. What
   * waits for it is logged once. `about`: the id of what would be confirmed.
   */
  async anotherSays(about: string, question: (chain: Chain) => Promise<boolean>): Promise<boolean> {
    if (this.#providers.length === 1) return true
    const nowMs = this.#deps.clock().getTime()
    const reasons: string[] = []
    for (const provider of this.#providers) {
      if (provider === this.#current || this.#isSilent(provider)) continue
      try {
        if (await question(provider.chain)) {
          this.#unconfirmed.delete(about)
          return true
        }
        reasons.push(`${provider.name} does not say so`)
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        // One that refuses this question, which may be about a payee's own code or an old block, answers others.
        if (!isRefused(error)) this.#silentSinceMs.set(provider, nowMs)
        reasons.push(error.message)
      }
    }
    const message = 'a payout or a sweep waits for another provider to confirm it'
    const reason = reasons.join('; ') || 'none answers'
    this.#unconfirmed.set(about, { atMs: nowMs, reason })
    if (this.#alerted.isNew(about, message)) this.#deps.log.warn({ about, reason }, message)
    return false
  }

  #isSilent(provider: NamedChain<Chain>): boolean {
    const sinceMs = this.#silentSinceMs.get(provider) ?? Number.NEGATIVE_INFINITY
    return !isDue(sinceMs, AWAY_MS, this.#deps.clock().getTime())
  }

  /**
   * Whether to believe the provider of this look, by which the chain refuses what a payout needs: another one where the watcher
   * stands says so too, or it has said so for a day. `about`: the payout's id, or the address that is refused.
   */
  async isRefusedForGood(about: string, question: (chain: Chain) => Promise<boolean>): Promise<boolean> {
    if (this.isRefusedForLong(about)) return true
    const saysSo = async (chain: Chain) => (await question(chain)) && (await this.#isWithWatcher(chain))
    return this.anotherSays(about, saysSo)
  }

  /** Whether the providers of all looks of a day have refused this, now once more. A restart only lengthens it. */
  isRefusedForLong(about: string): boolean {
    const nowMs = this.#deps.clock().getTime()
    for (const [key, { atMs }] of this.#refused) if (nowMs - atMs > REPEATED_MS) this.#refused.delete(key)
    const { sinceMs } = this.#refused.get(about) ?? { sinceMs: nowMs }
    this.#refused.set(about, { sinceMs, atMs: nowMs })
    return nowMs - sinceMs > REFUSED_MS
  }

  /** The provider of this look reports that it is not refused: the day begins anew. */
  isNotRefused(about: string): void {
    this.#refused.delete(about)
  }

  /** A stand-in, or a node that was set back or swapped, must not be taken for the chain on which the money is. */
  async #place(provider: NamedChain<Chain>, nowMs: number): Promise<void> {
    const placedAtMs = this.#placedAtMs.get(provider) ?? Number.NEGATIVE_INFINITY
    if (!isDue(placedAtMs, PLACE_INTERVAL_MS, nowMs)) return
    const place = await this.#watchersPlace()
    // Before the watcher has read anything there is no money either.
    if (place === null) return
    if (!(await provider.chain.hasBlock(place))) {
      throw new ChainUnavailable(
        `${provider.name} does not know block ${place.height} (${place.hash}), where the watcher stands: it is behind, on another fork or of another chain`,
      )
    }
    this.#placedAtMs.set(provider, nowMs)
  }

  /** Where the watcher has read nothing, nothing is given up. */
  async #isWithWatcher(chain: Chain): Promise<boolean> {
    const place = await this.#watchersPlace()
    return place !== null && chain.hasBlock(place)
  }

  async #watchersPlace(): Promise<{ readonly height: number; readonly hash: string } | null> {
    const { pool, network } = this.#deps
    const { height = null, hash = null } = (await loadNetworkState(pool, network)) ?? {}
    return height === null || hash === null ? null : { height, hash }
  }

  #reasons(): string {
    return this.#providers.flatMap((provider) => this.#away.get(provider)?.reason ?? []).join('; ')
  }

  /** What waits for another provider's confirmation; null if nothing does. */
  #unconfirmedNotice(): string | null {
    const oldest = this.#deps.clock().getTime() - UNCONFIRMED_MS
    for (const [about, { atMs }] of this.#unconfirmed) if (atMs < oldest) this.#unconfirmed.delete(about)
    const [first] = this.#unconfirmed
    if (first === undefined) return null
    const [about, { reason }] = first
    return `waiting for another provider to confirm ${this.#unconfirmed.size}, of them ${about}: ${reason}`
  }

  /** Keeps for the operator which provider served, null where none did, and what there is to say of it. */
  async #reportCurrent(provider: NamedChain<Chain> | null): Promise<void> {
    const { pool, network, log } = this.#deps
    const [first] = this.#providers
    const name = provider?.name ?? null
    const isOther = provider !== null && provider !== first
    const away = isOther ? `in place of the first provider: ${this.#reasons()}` : this.#reasons()
    const notices = [provider === first ? null : away, this.#unconfirmedNotice()]
    const notice = notices.filter((each) => each !== null).join('; ') || null
    if (this.#saved === `${name} ${notice}`) return
    await savePayoutProvider(pool, network, { name, notice })
    this.#saved = `${name} ${notice}`
    if (name === this.#reported || this.#providers.length === 1) return
    this.#reported = name
    if (name === null) log.warn({ network, notice }, 'payouts wait: no provider serves them')
    else log.warn({ network, provider: name, notice }, 'payouts go through another provider')
  }

  #alert(about: string, reason: string): void {
    if (!this.#alerted.isNew(about, withoutNumbers(reason))) return
    this.#deps.log.error(
      { about, reason },
      'one provider says that a payout or a sweep can never happen, and it is not given up until all say so',
    )
  }
}
