import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import type { ChainDriver, DrivenChain } from '../support/chain-driver.ts'
import { KilledWatcher } from '../support/killed-watcher.ts'
import { seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'

const LONG = process.env.LONG === '1'
const OTHERS = 10
const MEGABYTE = 1_000_000
const MEMORY_MAX = 150 * MEGABYTE
const DATABASE_MAX = 10 * MEGABYTE
/** What an event may weigh at most (docs/events.md). */
const BODY_BYTES_MAX = 65_536
/** A machine that others keep busy takes its time; what a flood must not do costs minutes. */
/** What else the machine does meanwhile; a queue behind the flood would take minutes. */
const SLACK_MS = LONG ? 10_000 : 60_000
const PATIENCE_MS = LONG ? 600_000 : 120_000
const TEST_MS_MAX = 2 * PATIENCE_MS

export type Flood<Driven extends DrivenChain> = {
  readonly driver: ChainDriver<Driven>
  readonly node: (chain: Driven) => Pick<ChainNode, 'chain' | 'rpcSetting' | 'tokenContracts'>
  /** Sends so many payments to one address, for the next block; returns their sum. */
  readonly pay: (chain: Driven, address: string, count: number) => Promise<bigint>
  /** Payments of one block; `LONG=1` sends 3,000 everywhere. */
  readonly count: number
  /** Blocks above a payment until it is final. */
  readonly depth: number
  /** How often the network itself has a block. */
  readonly blockMs?: number
}

/** Many payments to one invoice must cost its own merchant, and nobody else: in one block, and spread over many. */
export function describeFlood<Driven extends DrivenChain>(flood: Flood<Driven>): void {
  const { driver } = flood
  const inOneBlock = LONG ? 3_000 : flood.count
  test(
    `${inOneBlock} in one block hold up nobody else, and all are booked: ${driver.title}`,
    () =>
      withFlood(flood, async (world) => {
        await world.flood(inOneBlock)
      }),
    TEST_MS_MAX,
  )

  const { blockMs } = flood
  if (LONG && blockMs !== undefined)
    test(
      `${inOneBlock} at the network's pace: others within twice the usual time: ${driver.title}`,
      async () => {
        const { usualMs, took } = await withFlood(flood, ({ flood }) => flood(inOneBlock), blockMs)
        expect(took).toBeLessThan(2 * usualMs)
      },
      TEST_MS_MAX,
    )

  const [each, blocks] = LONG ? [5, 60] : [20, 10]
  test(
    `${each * blocks} over ${blocks} blocks hold up nobody else, and all are booked: ${driver.title}`,
    () =>
      withFlood(flood, async (world) => {
        for (let block = 0; block < blocks; block++) {
          for (let sent = 0; sent < each; sent++) await world.flood(1)
          await world.chain.mine(1)
        }
      }),
    TEST_MS_MAX,
  )
}

type World<Driven> = { readonly chain: Driven; flood(count: number): Promise<void> }

async function withFlood<Driven extends DrivenChain>(
  flood: Flood<Driven>,
  run: (world: World<Driven>) => Promise<void>,
  blockMs = 0,
) {
  const watched = await WatchedChain.open(flood.driver)
  const watcher = await KilledWatcher.start(watched)
  try {
    await rememberStates(watched)
    const others = await seedMerchant(watched.database)
    const usualMs = await payOthers(watched, others, { ...flood, blockMs })
    const [memory, size] = [await watcher.mostMemory(), await databaseSize(watched)]

    const victim = await watched.openInvoice([], {}, watched.tenant)
    await untilWatched(watched)
    let sent = 0n
    const floodOnce = async (count: number) => {
      sent += await flood.pay(watched.chain, victim.address, count)
    }
    const took = await payOthers(watched, others, { ...flood, blockMs }, () =>
      run({ chain: watched.chain, flood: floodOnce }),
    )
    await watched.untilRead()

    const figures = {
      usualMs,
      took,
      memory: (await watcher.mostMemory()) - memory,
      database: (await databaseSize(watched)) - size,
      ...(await eventsOf(watched, victim)),
    }
    if (process.env.FLOOD_FIGURES === '1') console.log(flood.driver.title, figures)
    expect(figures.largest).toBeLessThanOrEqual(BODY_BYTES_MAX)
    expect(figures.database).toBeLessThan(DATABASE_MAX)
    expect(figures.memory).toBeLessThan(MEMORY_MAX)
    expect(took).toBeLessThan(2 * usualMs + SLACK_MS)
    expect(await statesSeen(watched)).toEqual(['ok'])
    expect(await bookedFor(watched)).toBe(sent)
    expect(await auditFindings(watched, flood)).toEqual([])
    return figures
  } finally {
    await watcher.kill()
    await watched.close()
  }
}

/**
 * Pays others' invoices in one block, after `before`; how long it takes from there until all are paid. Further blocks come
 * every `blockMs`.
 */
async function payOthers(
  watched: WatchedChain,
  others: Tenant,
  { depth, blockMs }: { readonly depth: number; readonly blockMs: number },
  before: () => Promise<void> = async () => {},
): Promise<number> {
  const invoices: OpenInvoice[] = []
  for (let count = 0; count < OTHERS; count++) invoices.push(await watched.openInvoice([], {}, others))
  await untilWatched(watched)
  await before()
  for (const { address } of invoices) await watched.chain.pay(address, watched.driver.amount)
  await watched.chain.mine(1)
  const startedAt = performance.now()
  if (blockMs === 0) await watched.chain.mine(depth)
  else
    for (let block = 0; block < depth; block++) {
      await setTimeout(blockMs)
      await watched.chain.mine(1)
    }
  await until(
    async () =>
      (await Promise.all(invoices.map(({ id }) => watched.statusOf(id)))).every(
        (status) => status === 'paid',
      ),
    { what: 'the invoices of others are paid', timeoutMs: PATIENCE_MS },
  )
  return performance.now() - startedAt
}

/** When the watcher looks for every address given out. */
const untilWatched = ({ database }: WatchedChain): Promise<void> =>
  until(
    async () => {
      const { rows } = await database.owner.query<{ all: boolean }>(
        'select (select max(idx) from address) <= (select max(through) from network_watch) as all',
      )
      return rows[0]?.all === true
    },
    { what: 'the addresses are watched', timeoutMs: PATIENCE_MS },
  )

async function databaseSize({ database }: WatchedChain): Promise<number> {
  const { rows } = await database.owner.query<{ size: string }>(
    'select pg_database_size(current_database())::text as size',
  )
  return Number(rows[0]?.size)
}

async function eventsOf({ database }: WatchedChain, { id }: OpenInvoice) {
  const { rows } = await database.owner.query<{ events: number; bytes: number; largest: number }>(
    `select count(*)::int as events, coalesce(sum(octet_length(body)), 0)::int as bytes,
       (select max(octet_length(body)) from event) as largest from event where resource_id = $1`,
    [id],
  )
  return rows[0] ?? { events: 0, bytes: 0, largest: 0 }
}

/** From now on every state that a network is said to be in stays known, and why if it is not `ok`. */
async function rememberStates({ database }: WatchedChain): Promise<void> {
  await database.owner.query(`create table seen_state (status text primary key);
    grant insert, select on seen_state to public;
    create function see_state() returns trigger language plpgsql as $$
      begin
        insert into public.seen_state
        values (case new.status when 'ok' then 'ok' else concat_ws(': ', new.status, new.reason) end)
        on conflict do nothing;
        return new;
      end $$;
    create trigger see_state after insert or update on network_state for each row execute function see_state()`)
}

async function statesSeen({ database }: WatchedChain): Promise<string[]> {
  const { rows } = await database.owner.query<{ status: string }>('select status from seen_state')
  return rows.map(({ status }) => status)
}

/** What the flooded merchant's books hold, in whatever account. */
async function bookedFor(watched: WatchedChain): Promise<bigint> {
  const { chain = 0n, ...accounts } = await watched.balances()
  const held = Object.values(accounts).reduce((sum, balance) => sum + balance, 0n)
  expect(held).toBe(-chain)
  return held
}

async function auditFindings<Driven extends DrivenChain>(
  watched: WatchedChain<Driven>,
  flood: Flood<Driven>,
) {
  const { chain, driver, database } = watched
  const node = { network: driver.network, livemode: false, furtherUrls: [], zmqUrl: null, sandbox: null }
  const results = await runAudit(database.owner, [{ ...node, rpcUrl: chain.url, ...flood.node(chain) }])
  return results.flatMap(({ name, findings, notChecked }) =>
    findings.length > 0 || notChecked !== null
      ? [{ name, notChecked, findings: JSON.stringify(findings) }]
      : [],
  )
}
