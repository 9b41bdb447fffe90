import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Keyspace, Network } from '../../src/core/assets.ts'
import { findNetworksWithAddresses } from '../../src/db/addresses/address-availability.ts'
import { beginWatch, endWatch, raiseWatch } from '../../src/db/chain/network-watch.ts'
import { claimAddress } from '../../src/db/invoices/invoices.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { lockKeyOf, takeLeadership } from '../../src/watcher/leadership.ts'
import { endWatchOfOthers } from '../../src/watcher/start-watcher.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { type Watching, watchNetwork } from '../support/watched-network.ts'

let database: TestDatabase
const watching: Watching[] = []
const stopping = new AbortController()
beforeEach(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  await Promise.all(watching.splice(0).map((watcher) => watcher.stop()))
  await database.drop()
})

const now = () => new Date()
/** Nothing listens there: watching addresses needs no node. */
const NODE_AWAY = 'http://127.0.0.1:1'

/** Adds addresses 0, 1, 2… of a keyspace, as if they had been issued. */
async function add(keyspace: Keyspace, form: string, first: number, count: number): Promise<void> {
  await database.owner.query(
    `insert into account_key (keyspace, xpub, path, created_at) values ($1, 'xpub', 'm', now()) on conflict do nothing`,
    [keyspace],
  )
  for (let idx = first; idx < first + count; idx++) {
    const addressBytes = Buffer.alloc(20)
    addressBytes.writeUInt32BE(idx)
    await database.owner.query(
      `insert into address (keyspace, idx, program, address, parameters, created_at)
       values ($1, $2, $3, $4, $5, now())`,
      [keyspace, idx, addressBytes, `${keyspace}-${idx}`, form],
    )
  }
  await database.owner.query('update account_key set next_index = $2 where keyspace = $1', [
    keyspace,
    first + count,
  ])
}

const claim = (network: Network, keyspace: Keyspace, form: string) =>
  withSystemTransaction(database.pools.api, (tx) => claimAddress(tx, { network, keyspace, form }, now()))
const claimEvm = (network: Network) => claim(network, 'evm-test', 'evm')

async function lead(network: Network) {
  const taken = await takeLeadership(database.urls.watcher, network, stopping.signal, (error) => {
    throw error
  })
  if (taken === null) throw new Error('no lead')
  return taken
}

function watch(): Watching {
  const watcher = watchNetwork(database, { rpcUrl: NODE_AWAY })
  watching.push(watcher)
  return watcher
}

test('an address is given out only when every watched network of its keyspace matches it', async () => {
  const { watcher } = database.pools
  await add('evm-test', 'evm', 0, 10)
  expect(await claimEvm('base-test')).toBeNull()
  await beginWatch(watcher, { network: 'base-test', keyspace: 'evm-test', term: randomUUID() }, now())
  expect(await claimEvm('base-test')).toBeNull()
  await raiseWatch(watcher, 'base-test', 9, now())
  expect(await claimEvm('base-test')).toMatchObject({ idx: 0 })
  expect(await claimEvm('ethereum-test')).toBeNull()
  await beginWatch(watcher, { network: 'ethereum-test', keyspace: 'evm-test', term: randomUUID() }, now())
  expect(await claimEvm('base-test')).toBeNull()
  await raiseWatch(watcher, 'ethereum-test', 2, now())
  expect([...(await findNetworksWithAddresses(database.pools.api)).keys()].sort()).toEqual([
    'base-test',
    'ethereum-test',
  ])
  expect(await claimEvm('base-test')).toMatchObject({ idx: 1 })
  expect(await claimEvm('ethereum-test')).toMatchObject({ idx: 2 })
  expect(await claimEvm('base-test')).toBeNull()
  expect(await claimEvm('ethereum-test')).toBeNull()
  expect((await findNetworksWithAddresses(database.pools.api)).size).toBe(0)
})

test('how far a network is watched never falls, and beginning again keeps it', async () => {
  const { watcher } = database.pools
  await beginWatch(watcher, { network: 'base-test', keyspace: 'evm-test', term: randomUUID() }, now())
  await raiseWatch(watcher, 'base-test', 20, now())
  await raiseWatch(watcher, 'base-test', 5, now())
  await beginWatch(watcher, { network: 'base-test', keyspace: 'evm-test', term: randomUUID() }, now())
  const { rows } = await database.owner.query('select network, through from network_watch')
  expect(rows).toEqual([{ network: 'base-test', through: 20 }])
})

test("another process adds addresses; they are given out only once the network's watcher matches them", async () => {
  await add('litecoin-test', 'regtest', 0, 5)
  const { adapter } = watch()
  await until(async () => (await claim('litecoin-test', 'litecoin-test', 'regtest')) !== null, {
    what: 'the first addresses are watched',
  })
  expect(adapter.watched.size).toBe(5)
  await add('litecoin-test', 'regtest', 5, 20)
  const claimed: number[] = []
  await until(
    async () => {
      const address = await claim('litecoin-test', 'litecoin-test', 'regtest')
      if (address === null) return false
      claimed.push(address.idx)
      // What is given out, and every address before it, is matched by then.
      expect(adapter.watched.size).toBeGreaterThan(address.idx)
      return address.idx === 24
    },
    { what: 'all are given out' },
  )
  expect(claimed).toEqual(Array.from({ length: 24 }, (_, place) => place + 1))
})

test('a watcher that ends between loading addresses and saying so gives none out, and the next one does', async () => {
  await add('litecoin-test', 'regtest', 0, 5)
  await database.owner.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'the process ends here'; end $$`)
  await database.owner.query(
    'create trigger stop before update on network_watch for each row execute function refuse()',
  )
  const first = watch()
  await until(async () => first.adapter.watched.size === 5, { what: 'the addresses are loaded' })
  expect(await claim('litecoin-test', 'litecoin-test', 'regtest')).toBeNull()
  await watching.pop()?.stop()
  expect(await claim('litecoin-test', 'litecoin-test', 'regtest')).toBeNull()
  await database.owner.query('drop trigger stop on network_watch')
  const second = watch()
  await until(async () => (await claim('litecoin-test', 'litecoin-test', 'regtest')) !== null, {
    what: 'addresses are given out',
  })
  expect(second.adapter.watched.size).toBe(5)
})

test('whoever has lost the lead can no longer say that addresses are watched', async () => {
  const lost = await lead('base-test')
  await beginWatch(lost.connection, { network: 'base-test', keyspace: 'evm-test', term: randomUUID() }, now())
  await database.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'paylink-watcher-base-test'`,
  )
  const next = await lead('base-test')
  await expect(raiseWatch(lost.connection, 'base-test', 7, now())).rejects.toThrow()
  expect(lost.lost.aborted).toBe(true)
  await raiseWatch(next.connection, 'base-test', 3, now())
  const { rows } = await database.owner.query('select through from network_watch')
  expect(rows).toEqual([{ through: 3 }])
  await next.release()
})

test('a network that is configured no longer holds back no address, unless somebody follows it', async () => {
  const { watcher } = database.pools
  await add('evm-test', 'evm', 0, 10)
  for (const network of ['base-test', 'ethereum-test'] as const)
    await beginWatch(watcher, { network, keyspace: 'evm-test', term: randomUUID() }, now())
  await raiseWatch(watcher, 'base-test', 9, now())
  expect(await claimEvm('base-test')).toBeNull()
  const ethereum = await lead('ethereum-test')
  expect(await endWatch(watcher, 'ethereum-test', lockKeyOf('ethereum-test'))).toBe(false)
  expect(await claimEvm('base-test')).toBeNull()
  await ethereum.release()
  expect(await endWatch(watcher, 'ethereum-test', lockKeyOf('ethereum-test'))).toBe(true)
  expect(await claimEvm('base-test')).toMatchObject({ idx: 0 })
})

test('the watch of a network no longer followed is forgotten, also if the database was away at the start', async () => {
  await beginWatch(
    database.pools.watcher,
    { network: 'ethereum-test', keyspace: 'evm-test', term: randomUUID() },
    now(),
  )
  await beginWatch(
    database.pools.watcher,
    { network: 'base-test', keyspace: 'evm-test', term: randomUUID() },
    now(),
  )
  const url = new URL(database.urls.watcher)
  const proxy = await startTcpProxy(await freePort())
  const port = url.port
  url.port = String(proxy.port)
  const pool = openPool({
    connectionString: url.href,
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
    guarded: false,
  })
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const ending = endWatchOfOthers({ pool, followed: ['base-test'], log })
  try {
    await until(() => warnings.length > 0, { what: 'it has asked in vain' })
    proxy.aim(Number(port))
    await until(
      async () => {
        const { rows } = await database.owner.query('select network from network_watch')
        return JSON.stringify(rows) === '[{"network":"base-test"}]'
      },
      { what: 'only the network that is followed is watched' },
    )
  } finally {
    await ending.stop()
    await pool.end()
    await proxy.close()
  }
})

test("an address is looked for in the pool's own index, also where the statistics know of none given out", async () => {
  await add('evm-test', 'evm', 0, 2_000)
  await beginWatch(
    database.pools.watcher,
    { network: 'base-test', keyspace: 'evm-test', term: randomUUID() },
    now(),
  )
  await database.owner.query('vacuum analyze address')
  const plan = await withSystemTransaction(database.pools.api, async (tx) => {
    const explaining = {
      ...tx,
      query: (text: string, values?: unknown[]) => tx.query(`explain (format json) ${text}`, values),
    }
    return claimAddress(
      explaining as typeof tx,
      { network: 'base-test', keyspace: 'evm-test', form: 'evm' },
      now(),
    )
  })
  expect(JSON.stringify(plan)).toContain('"Index Name":"address_pool"')
})
