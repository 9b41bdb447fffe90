import { setTimeout as pause } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { BlockHistory } from '../../src/chain/adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import { keyspaceOfNetwork } from '../../src/core/assets.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { listOpenAddresses } from '../../src/db/chain/watched-addresses.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { rescanBlocks } from '../../src/watcher/rescan.ts'
import type { DrivenChain } from '../support/chain-driver.ts'
import type { Random } from '../support/random.ts'
import type { ReadingFamily } from '../support/reading-families.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'
import type { Watching } from '../support/watched-network.ts'

const STEPS = 12
const HOUR_MS = 3_600_000
/** The providers' own clock runs so many times as fast: one that failed is left alone for half a minute. */
const PACE = 20
const FLOOD_MAX = 60
const CUTS = 8
const CUT_MS = 60
const BOOKED_MS_MAX = 120_000
/** What halts a network until its providers agree. Where the honest one hangs, the other's chain is a wholly different one. */
const DISAGREEMENT = /until they agree|another provider does not find it there|left the chain more than/
/** Blocks below the first history: the deepest fork that one makes begins above the chain's first block. */
const ROOM_BELOW = 20

/** What stands between a watcher and its two providers. */
type Front = { readonly urls: readonly [string, string]; close(): Promise<void> }

/** A chain of one family, two providers that can go wrong, and shops whose invoices are paid meanwhile. */
export class ReadingWorld<Driven extends DrivenChain = DrivenChain> {
  readonly family: ReadingFamily<Driven>
  readonly watched: WatchedChain<Driven>
  readonly proxies: readonly [RpcProxy, RpcProxy]
  /** Where the watcher finds them: the proxies themselves, or what stands before them. */
  readonly urls: readonly [string, string]
  readonly #closeFront: () => Promise<void>
  /** Whose invoices are flooded; those of `watched.tenant` are paid. */
  readonly flooded: Tenant
  constructor(
    parts: Pick<ReadingWorld<Driven>, 'family' | 'watched' | 'proxies' | 'flooded'>,
    front: Front | null,
  ) {
    this.urls = front?.urls ?? [parts.proxies[0].url, parts.proxies[1].url]
    this.#closeFront = async () => front?.close()
    this.family = parts.family
    this.watched = parts.watched
    this.proxies = parts.proxies
    this.flooded = parts.flooded
  }

  static async open<Driven extends DrivenChain>(
    family: ReadingFamily<Driven>,
    openFront: (urls: readonly [string, string]) => Promise<Front | null> = async () => null,
  ): Promise<ReadingWorld<Driven>> {
    const watched = await WatchedChain.open(family.driver)
    const { url } = watched.chain
    await watched.chain.mine(ROOM_BELOW)
    const proxies = [await startRpcProxy(url), await startRpcProxy(url)] as const
    const flooded = await seedMerchant(watched.database)
    const front = await openFront([proxies[0].url, proxies[1].url])
    return new ReadingWorld({ family, watched, proxies, flooded }, front)
  }

  async close(): Promise<void> {
    await this.watched.stopWatchers()
    await this.#closeFront()
    for (const proxy of this.proxies) await proxy.close()
    await this.watched.close()
  }

  async held({ merchantId }: Tenant, account: string): Promise<bigint> {
    const { rows } = await this.watched.database.owner.query<{ balance: bigint }>(
      'select coalesce(sum(balance), 0) as balance from ledger_balance where merchant_id = $1 and account = $2',
      [merchantId, account],
    )
    return BigInt(rows[0]?.balance ?? 0)
  }
}

/** One history: what happens is drawn by the seed, and every payment must count once in the end. */
export class ReadingHistory<Driven extends DrivenChain> {
  readonly #world: ReadingWorld<Driven>
  readonly #random: Random
  readonly #invoices: OpenInvoice[] = []
  readonly #flooded: OpenInvoice[] = []
  readonly #addresses: Buffer[] = []
  readonly #halts: string[] = []
  #watcher: Watching | null = null
  /** By so much the watcher's clock is ahead of the chain. */
  #aheadMs = 0
  #flood = 0n

  constructor(world: ReadingWorld<Driven>, random: Random) {
    this.#world = world
    this.#random = random
  }

  async play(): Promise<void> {
    const { watched, family, flooded } = this.#world
    const before = await this.#books()
    await this.#watchAgain()
    for (let count = 0; count < STEPS; count++) await this.#step()
    this.#tellTheTruth()
    await watched.chain.mine(6)
    for (const { id } of this.#invoices) await watched.untilStatus(id, 'paid')
    await watched.untilRead()
    const paid = BigInt(this.#invoices.length) * family.driver.amount
    const due = { paid: before.paid + paid, flood: before.flood + this.#flood }
    await vi.waitFor(async () => expect(await this.#books()).toEqual(due), { timeout: BOOKED_MS_MAX })
    await this.#expectCountedOnce()
    await until(async () => (await watched.state()).status === 'ok', { what: 'nothing is amiss' })
    expect(this.#halts.filter((reason) => !DISAGREEMENT.test(reason))).toEqual([])
    await this.stop()
    expect(await this.#findings()).toEqual([])
    expect(await this.#world.held(flooded, 'pending')).toBe(0n)
  }

  async stop(): Promise<void> {
    await this.#world.watched.stopWatchers()
    await this.#watcher?.adapter.close()
  }

  async #books(): Promise<{ paid: bigint; flood: bigint }> {
    const { watched, flooded } = this.#world
    const [available, suspense] = await Promise.all(
      ['available', 'suspense'].map((account) => this.#world.held(flooded, account)),
    )
    return { paid: await watched.availableBalance(), flood: (available ?? 0n) + (suspense ?? 0n) }
  }

  async #expectCountedOnce(): Promise<void> {
    const { watched } = this.#world
    for (const { id } of this.#invoices) {
      const live = (await watched.paymentsOf(id)).filter((status) =>
        ['detected', 'confirming', 'confirmed'].includes(status),
      )
      expect(live).toEqual(['confirmed'])
    }
    for (const { id } of [...this.#invoices, ...this.#flooded])
      expect(await watched.eventsOf(id)).not.toContain('expired')
    for (const { id } of this.#flooded) expect(await watched.eventsOf(id)).not.toContain('paid')
  }

  async #findings(): Promise<string[]> {
    const { watched, family } = this.#world
    const { url } = watched.chain
    const place = { network: family.driver.network, livemode: false, furtherUrls: [], zmqUrl: null }
    const node = { ...place, sandbox: null, rpcUrl: url, ...family.auditNode(watched.chain) }
    const results = await runAudit(watched.database.owner, [node])
    return results.flatMap(({ name, findings, notChecked }) => [
      ...findings.map((finding) => `${name}: ${JSON.stringify(finding)}`),
      ...(notChecked === null ? [] : [`${name}: ${notChecked}`]),
    ])
  }

  #step(): Promise<void> {
    switch (this.#random.below(11)) {
      case 0:
      case 1:
        return this.#pay()
      case 2:
        return this.#move()
      case 3:
        return this.#rescanWhile(() => this.#move())
      case 4:
        return this.#watchAgain()
      case 5:
        return this.#loseLead()
      case 6:
        return this.#floodOne()
      case 7:
        return this.#standStill()
      case 8:
        this.#tellTheTruth()
        return this.#failFirst()
      case 9:
        return this.#cutDatabase()
      default:
        this.#tellTheTruth()
        return this.#failSecond()
    }
  }

  async #move(): Promise<void> {
    const { chain } = this.#world.watched
    const depth = 1 + this.#random.below(3)
    if (this.#random.chance(0.5)) await chain.reorganise(depth)
    else await chain.mine(1 + this.#random.below(2))
  }

  /** An invoice that is looked for. */
  async #openInvoice(tenant: Tenant, changes: Partial<Invoice> = {}) {
    const { watched } = this.#world
    const watchers = this.#watcher === null ? [] : [this.#watcher]
    const invoice = await watched.openInvoice(watchers, changes, tenant)
    const { rows } = await watched.database.owner.query<{ addressBytes: Buffer }>(
      'select program as "addressBytes" from deposit_address where invoice_id = $1',
      [invoice.id],
    )
    const [row] = rows
    if (row === undefined) throw new Error('the invoice has no address')
    this.#addresses.push(row.addressBytes)
    return { ...invoice, addressBytes: row.addressBytes }
  }

  async #pay(changes: Partial<Invoice> = {}): Promise<void> {
    const { watched, family } = this.#world
    const invoice = await this.#openInvoice(watched.tenant, changes)
    this.#invoices.push(invoice)
    await watched.chain.pay(invoice.address, family.driver.amount)
  }

  /** One invoice is paid very often in small amounts, and in the same block another merchant's as it should be. */
  async #floodOne(): Promise<void> {
    const { watched, family, flooded } = this.#world
    const { unit, dust, payOften } = family
    const victim = await this.#openInvoice(flooded)
    this.#flooded.push(victim)
    const isDust = dust !== null && this.#random.chance(0.3)
    // No two are alike: on Solana they would be one transaction.
    let next = unit
    const amounts = (count: number) => Array.from({ length: count }, () => (isDust ? dust : next++))
    const together = amounts(1 + this.#random.below(FLOOD_MAX))
    const alone = amounts(this.#random.below(6))
    await payOften(watched.chain, victim, together)
    for (const amount of alone) await watched.chain.pay(victim.address, amount)
    await this.#pay()
    if (this.#random.chance(0.5)) await watched.chain.mine(1)
    if (!isDust) this.#flood += [...together, ...alone].reduce((sum, amount) => sum + amount, 0n)
  }

  /** No block comes for an hour: what is paid in that time is in the next block, and was paid in time. */
  async #standStill(): Promise<void> {
    const { watched } = this.#world
    this.#tellTheTruth()
    await watched.chain.mine(1)
    await watched.untilRead()
    const { blockTime } = await watched.state()
    const headMs = Math.max(blockTime?.getTime() ?? 0, Date.now())
    await this.#pay({ expiresAtMs: headMs + HOUR_MS / 2 })
    this.#aheadMs = headMs + HOUR_MS - Date.now()
    await until(async () => /minutes old/.test((await watched.state()).reason ?? ''), {
      what: 'the head counts as too old',
    })
    this.#aheadMs = 0
    await watched.chain.mine(1)
  }

  async #failFirst(): Promise<void> {
    const [first] = this.#world.proxies
    const { stalls } = this.#world.family
    if (this.#random.chance(0.4)) first.hang()
    if (this.#random.chance(0.5)) for (const method of stalls) first.stall(method)
    if (this.#random.chance(0.3)) first.refuseEvery(3)
  }

  async #failSecond(): Promise<void> {
    const [, second] = this.#world.proxies
    const { family } = this.#world
    const way = this.#random.below(4)
    if (way === 0) second.hang()
    else if (way === 1) family.forgetBlocks(second)
    else if (way === 2) family.disagree(second)
    else second.refuseEvery(2)
  }

  #tellTheTruth(): void {
    for (const proxy of this.#world.proxies) {
      proxy.tellTheTruth()
      this.#world.family.disguise(proxy)
    }
  }

  /** The lead goes to whoever is quicker, and its last holder has not noticed yet. */
  async #loseLead(): Promise<void> {
    const { watched, family } = this.#world
    await watched.database.owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [`paylink-watcher-${family.driver.network}`],
    )
  }

  /** While a flood and a payment are recorded, every connection of the watcher's login is ended, again and again. */
  async #cutDatabase(): Promise<void> {
    const { watched } = this.#world
    await this.#floodOne()
    await watched.chain.mine(1)
    for (let count = 0; count < CUTS; count++) {
      await pause(this.#random.below(CUT_MS))
      await watched.database.owner.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and usename = $1`,
        [new URL(watched.database.urls.watcher).username],
      )
    }
  }

  async #watchAgain(): Promise<void> {
    const { watched } = this.#world
    const isFirst = this.#watcher === null
    await this.stop()
    if (isFirst) this.#tellTheTruth()
    const adapter = this.#openGroup()
    const changes = {
      agreement: adapter,
      clock: () => this.#now(),
      observer: {
        onHealth: (_network: string, status: string, reason: string | null) => {
          if (status === 'halted') this.#halts.push(reason ?? '')
        },
      },
    }
    this.#watcher = isFirst
      ? await watched.watchAtTip({ adapter, changes })
      : watched.watch({ adapter, changes })
    adapter.watched.add(this.#addresses)
  }

  #now(): Date {
    return new Date(Date.now() + this.#aheadMs)
  }

  #openGroup(): ProviderGroup {
    const { family, watched, urls } = this.#world
    const { network } = family.driver
    const keyspace = keyspaceOfNetwork(network)
    const parts = (url: string) => ({
      url,
      clock: () => this.#now(),
      random: this.#random,
      openAddresses: (now: Date, fromHeight?: number) =>
        listOpenAddresses(watched.database.owner, { network, keyspace, now, fromHeight: fromHeight ?? null }),
    })
    const [first, second] = family.providers(watched.chain, parts(urls[0]), parts(urls[1]))
    const group = new ProviderGroup(
      { name: 'first', chain: first },
      [{ name: 'second', chain: second }],
      () => new Date(Date.now() * PACE),
    )
    return group
  }

  /** Reads the newest blocks again; what it read is out of date by the time it records it. */
  async #rescanWhile(happen: () => Promise<void>): Promise<void> {
    const { watched, family } = this.#world
    const { height, hash } = await watched.state()
    if (height === null || hash === null) return
    const { history, close } = family.history(watched.chain, this.#addresses)
    let happened = false
    const stale: BlockHistory = {
      hashAt: (at) => history.hashAt(at),
      readFrom: (from, count) => history.readFrom(from, count),
      isOnChain: async (block) => {
        const answer = await history.isOnChain(block)
        if (!happened) await happen()
        happened = true
        return answer
      },
    }
    try {
      await rescanBlocks({
        pool: watched.database.owner,
        clock: systemClock,
        network: family.driver.network,
        blocks: stale,
        from: Math.max(1, height - 4),
        to: height,
        checkpoint: { height, hash },
        mustAgree: true,
        readTwice: [],
        unknownAddresses: new Map(),
        notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
        onBatch: () => {},
      })
    } finally {
      await close()
    }
  }
}
