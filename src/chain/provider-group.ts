import type { Network } from '../core/assets.ts'
import type { BlockTags } from '../core/finality.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import type { Clock } from '../runtime/clock.ts'
import {
  type ChainAdapter,
  ChainHalted,
  type ChainProvider,
  ChainUnavailable,
  type ChainUpdate,
  type CreditCheck,
  type MempoolReading,
  type NetworkHealth,
  type ProviderAgreement,
  type TokenReader,
  type TokenReading,
  type WatchedAddresses,
} from './adapter.ts'
import { CircuitBreaker, CONTENTS_LIMITS, HEADER_LIMITS } from './circuit-breaker.ts'

/** A provider that failed is left alone for this long, where another one serves. */
const AWAY_MS = 30_000

export type NamedProvider = {
  /** Host and port, for messages: the URL itself holds credentials. */
  readonly name: string
  readonly chain: ChainProvider
}

type Position = { readonly height: number; readonly hash: string; readonly reached: number }

/**
 * Several providers of one chain as one adapter. The first is followed, and the others must have the same blocks before value
 * is final. While the first is away the next one on our chain is followed; what two must agree on waits where one is left.
 */
export class ProviderGroup implements ChainAdapter, ProviderAgreement {
  readonly network: Network
  readonly watched: WatchedAddresses
  readonly #first: NamedProvider
  readonly #providers: readonly NamedProvider[]
  readonly #clock: Clock
  readonly #wakers: { readonly wake: () => void; stop: () => void }[] = []
  readonly #away = new Map<NamedProvider, { readonly untilMs: number; readonly reason: string }>()
  readonly #headers: CircuitBreaker<NamedProvider>
  readonly #traces: CircuitBreaker<NamedProvider>
  readonly #logs: CircuitBreaker<NamedProvider>
  readonly #receipts: CircuitBreaker<NamedProvider>
  #followed: NamedProvider
  /** The provider that stands in for the first one knows the block where we stand. */
  #isOnOurChain = true
  #waiting: string | null = null

  /** All providers match against one set of addresses, the first one's. */
  constructor(first: NamedProvider, others: readonly NamedProvider[], clock: Clock) {
    this.network = first.chain.network
    this.watched = first.chain.watched
    this.#first = first
    this.#providers = [first, ...others]
    this.#clock = clock
    this.#headers = new CircuitBreaker(HEADER_LIMITS)
    this.#traces = new CircuitBreaker(CONTENTS_LIMITS)
    this.#logs = new CircuitBreaker(CONTENTS_LIMITS)
    this.#receipts = new CircuitBreaker(CONTENTS_LIMITS)
    this.#followed = first
  }

  /** Name of the provider that is followed at the moment. */
  get followedName(): string {
    return this.#followed.name
  }

  get notice(): string | null {
    const parts: string[] = []
    if (this.#followed !== this.#first) {
      const why = this.#away.get(this.#first)?.reason ?? 'it did not answer'
      parts.push(`${this.#followed.name} is followed in place of ${this.#first.name}: ${why}`)
    }
    for (const notice of [this.#followed.chain.notice, this.#waiting]) if (notice) parts.push(notice)
    return parts.length === 0 ? null : parts.join('; ')
  }

  /** Connects to the first provider, or to the next that answers. One of another chain is never passed over. */
  async connect(): Promise<{ parameters: string; health: NetworkHealth }> {
    const nowMs = this.#clock().getTime()
    const isAway = (provider: NamedProvider) => (this.#away.get(provider)?.untilMs ?? 0) > nowMs
    const failures: {
      error: ChainUnavailable
      syncing: { parameters: string; health: NetworkHealth } | null
    }[] = []
    for (const provider of [...this.#providers].sort((a, b) => Number(isAway(a)) - Number(isAway(b)))) {
      try {
        const connected = await provider.chain.connect()
        if (connected.health.status === 'ok') {
          this.#follow(provider)
          return connected
        }
        const error = new ChainUnavailable(connected.health.reason)
        this.#leave(provider, error)
        failures.push({ error, syncing: connected })
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        this.#leave(provider, error)
        failures.push({ error, syncing: null })
      }
    }
    const syncing = failures.find((failure) => failure.syncing !== null)?.syncing
    if (syncing !== undefined && syncing !== null) return syncing
    throw new ChainUnavailable(failures.map(({ error }) => error.message).join('; '))
  }

  parameters(): Promise<string> {
    return this.#request((chain) => chain.parameters())
  }

  identity(): Promise<string | null> {
    return this.#request((chain) => chain.identity())
  }

  knows(block: Position): Promise<boolean> {
    return this.#request((chain) => chain.knows(block))
  }

  hashAt(height: number): Promise<string | null> {
    return this.#request((chain) => chain.hashAt(height))
  }

  firstKept(): Promise<number> {
    return this.#request(async (chain) => (await chain.firstKept?.()) ?? 0)
  }

  rememberedAt(checkpoint: BlockRef, height: number): string | null {
    return this.#followed.chain.rememberedAt?.(checkpoint, height) ?? null
  }

  tip(): Promise<BlockRef> {
    return this.#request((chain) => chain.tip())
  }

  async nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    if (this.#followed !== this.#first) await this.#returnToFirst(checkpoint)
    if (!this.#isOnOurChain) await this.#requireOurChain(checkpoint)
    return this.#request((chain) => chain.nextUpdate(checkpoint, maxBlocks))
  }

  readMempool(): Promise<MempoolReading | null> {
    return this.#request((chain) => chain.readMempool())
  }

  outcomesOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'> | null> {
    return this.#request((chain) => chain.outcomesOf(txids))
  }

  /** Absent where the chain has no block tags. */
  get readBlockTags(): ((checkpoint: BlockRef) => Promise<BlockTags | null>) | undefined {
    return this.#first.chain.readBlockTags === undefined ? undefined : (at) => this.#lowestBlockTags(at)
  }

  /** Absent where we accept no tokens. */
  get tokens(): Pick<TokenReader, 'assets' | 'prove'> | undefined {
    return this.#followed.chain.tokens
  }

  get readTokensTwice(): ProviderAgreement['readTokensTwice'] {
    return this.#first.chain.tokens === undefined ? undefined : (...args) => this.#readTokensTwice(...args)
  }

  /** Absent where a block's hash proves what is in it. */
  get credits(): CreditCheck | undefined {
    const { credits } = this.#first.chain
    if (credits === undefined) return undefined
    return {
      assets: credits.assets,
      // A provider that fails for one block is not left for that.
      unverified: async (...args) => (await this.#followed.chain.credits?.unverified(...args)) ?? null,
      read: async (block) => (await this.#followed.chain.credits?.read(block)) ?? [],
    }
  }

  get unverifiedElsewhere(): ProviderAgreement['unverifiedElsewhere'] {
    if (this.#first.chain.credits === undefined) return undefined
    return (block, claims, answersMax) =>
      this.#traces.firstOf(this.#others, ({ chain }) => chain.credits?.unverified(block, claims), answersMax)
  }

  async minimumAmount(): Promise<bigint | undefined> {
    return this.#request(async (chain) => chain.minimumAmount?.())
  }

  subscribe(wake: () => void): () => void {
    const waker = { wake, stop: this.#followed.chain.subscribe(wake) }
    this.#wakers.push(waker)
    return () => {
      waker.stop()
      this.#wakers.splice(this.#wakers.indexOf(waker), 1)
    }
  }

  get notificationsSilent(): string | null {
    return this.#followed.chain.notificationsSilent ?? null
  }

  async close(): Promise<void> {
    await Promise.all(this.#providers.map(({ chain }) => chain.close()))
  }

  async agreedBlocks(blocks: readonly Position[]): Promise<ReadonlySet<string>> {
    const agreed = new Set<string>()
    const reasons: string[] = []
    const ascending = [...blocks].sort((a, b) => a.height - b.height)
    for (const provider of this.#providers) {
      const open = ascending.filter(({ hash }) => !agreed.has(hash))
      if (provider === this.#followed || open.length === 0) continue
      const reason = await this.#confirmBlocks(provider, open, agreed)
      if (reason !== null) reasons.push(reason)
    }
    const open = ascending.length - agreed.size
    this.#waiting =
      open === 0
        ? null
        : `payments in ${open} ${open === 1 ? 'block wait' : 'blocks wait'} for another provider to confirm: ${reasons.join('; ')}`
    return agreed
  }

  /** Block tags as the followed provider reports them, and no higher than another's: value needs both. */
  async #lowestBlockTags(checkpoint: BlockRef): Promise<BlockTags | null> {
    const blockTags = await this.#request(async (chain) => (await chain.readBlockTags?.(checkpoint)) ?? null)
    if (blockTags === null) return null
    const read = ({ chain }: NamedProvider) => chain.readBlockTags?.(checkpoint)
    const [theirs] = await this.#headers.firstOf(this.#others, read, 1)
    if (theirs === undefined) {
      this.#waiting = 'payments wait for another provider to say how far the chain is final'
      return null
    }
    return {
      safe: Math.min(blockTags.safe, theirs.safe),
      finalized: Math.min(blockTags.finalized, theirs.finalized),
    }
  }

  /** Who has another block at the end, or not yet, has no answer; the same end has the same blocks below it. */
  async #readTokensTwice(
    how: 'read' | 'prove',
    from: BlockRef,
    toHeight: number,
  ): Promise<TokenReading[] | null> {
    const circuits = how === 'read' ? this.#logs : this.#receipts
    const ordered = [this.#followed, ...this.#others].filter((provider) => !circuits.isOpen(provider))
    if (ordered.length < 2) return null
    const ours = await this.#request((chain) => chain.hashAt(toHeight))
    const read = async ({ chain }: NamedProvider) => {
      const reading = (await chain.tokens?.[how](from, toHeight)) ?? null
      return reading?.end.hash === ours ? reading : null
    }
    return circuits.firstOf(ordered, read, 2)
  }

  get #others(): readonly NamedProvider[] {
    return this.#providers.filter((provider) => provider !== this.#followed)
  }

  /** Adds to `agreed` what a provider has as well; returns why it does not have all of it. */
  async #confirmBlocks(
    provider: NamedProvider,
    blocks: readonly Position[],
    agreed: Set<string>,
  ): Promise<string | null> {
    if (this.#headers.isOpen(provider)) return `${provider.name} does not answer`
    const hashAt = (at: number) => this.#headers.call(provider, provider.chain.hashAt(at))
    let lacking: string | null = null
    for (const { height, hash, reached } of blocks) {
      let theirs: string | null
      let isDeep: boolean
      try {
        theirs = await hashAt(height)
        isDeep = reached <= height || (theirs !== null && (await hashAt(reached)) !== null)
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
        return error.message
      }
      // A provider without this block has none of those above it.
      if (theirs === null) return `${provider.name} has not come to block ${height} yet`
      if (theirs !== hash) {
        throw new ChainHalted(
          `${this.#followed.name} has block ${hash} at height ${height} and ${provider.name} has ${theirs}: nothing is credited until they agree; find out which one is right`,
        )
      }
      if (isDeep) agreed.add(hash)
      else lacking ??= `${provider.name} has not come to block ${reached} yet`
    }
    return lacking
  }

  async #request<Result>(request: (chain: ChainProvider) => Promise<Result>): Promise<Result> {
    const provider = this.#followed
    try {
      return await request(provider.chain)
    } catch (error) {
      if (error instanceof ChainUnavailable) this.#leave(provider, error)
      throw error
    }
  }

  #leave(provider: NamedProvider, error: ChainUnavailable): void {
    this.#away.set(provider, { untilMs: this.#clock().getTime() + AWAY_MS, reason: error.message })
  }

  #follow(provider: NamedProvider): void {
    this.#away.delete(provider)
    this.#isOnOurChain = provider === this.#first
    if (provider === this.#followed) return
    this.#followed = provider
    for (const waker of this.#wakers) {
      waker.stop()
      waker.stop = provider.chain.subscribe(waker.wake)
    }
  }

  /** The first provider is looked at again from time to time, and followed once it knows where we stand. */
  async #returnToFirst(checkpoint: BlockRef): Promise<void> {
    if ((this.#away.get(this.#first)?.untilMs ?? 0) > this.#clock().getTime()) return
    try {
      const { health } = await this.#first.chain.connect()
      const reason = health.status === 'ok' ? null : health.reason
      if (reason === null && (await this.#first.chain.knows(checkpoint))) return this.#follow(this.#first)
      const unknown = `it does not know block ${checkpoint.height}, which was read before`
      throw new ChainUnavailable(reason ?? unknown)
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error
      this.#leave(this.#first, error)
    }
  }

  /** Another fork would take payments back that the first provider, when it returns, brings again. */
  async #requireOurChain(checkpoint: BlockRef): Promise<void> {
    const provider = this.#followed
    this.#isOnOurChain = await this.#request((chain) => chain.knows(checkpoint))
    if (this.#isOnOurChain) return
    const missing = new ChainUnavailable(
      `${provider.name} does not know block ${checkpoint.height} (${checkpoint.hash}), which was read before: it is behind or on another fork`,
    )
    this.#leave(provider, missing)
    const reasons = [this.#away.get(this.#first)?.reason ?? [], missing.message].flat()
    throw new ChainUnavailable(reasons.join('; '))
  }
}
