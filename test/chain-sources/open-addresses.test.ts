import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Invoice } from '../../src/core/invoice/types.ts'
import {
  listAskedAssets,
  listMissingIndexes,
  listOpenAddresses,
} from '../../src/db/chain/watched-addresses.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

const MINUTE_MS = 60_000

let database: TestDatabase
let tenant: Tenant
beforeAll(async () => {
  database = await createTestDatabase()
  tenant = await seedMerchant(database)
})
afterAll(() => database.drop())

let made = 0
async function invoice(changes: Partial<Invoice>, status = 'awaiting_payment'): Promise<string> {
  made += 1
  const addressBytes = Buffer.alloc(20, made)
  const { id } = await seedInvoice(database, tenant, { asset: 'LTC', ...changes }, addressBytes)
  await database.owner.query('update invoice set status = $2 where id = $1', [id, status])
  return addressBytes.toString('hex')
}
const open = async (now: Date) => {
  const asked = { network: 'litecoin-test', keyspace: 'litecoin-test', now } as const
  const addresses = await listOpenAddresses(database.pools.watcher, asked)
  return addresses.map((addressBytes) => addressBytes.toString('hex')).sort()
}

test('open are the addresses that can still be paid in time, until their horizon has passed', async () => {
  const now = Date.now()
  const at = (minutes: number) => now + minutes * MINUTE_MS
  const waiting = await invoice({ expiresAtMs: at(15) })
  const expired = await invoice({ expiresAtMs: at(-9) }, 'expired')
  const partial = await invoice({ expiresAtMs: at(5) }, 'partially_paid')
  const cancelled = await invoice({ expiresAtMs: at(15), cancelledAtMs: at(-9) }, 'cancelled')
  await database.owner.query(`update invoice set cancelled_at = $1 where status = 'cancelled'`, [
    new Date(at(-9)),
  ])
  await invoice({ expiresAtMs: at(-11) }, 'expired')
  await invoice({ expiresAtMs: at(15) }, 'paid')
  await invoice({ expiresAtMs: at(15), asset: 'BTC' })
  expect(await open(new Date(now))).toEqual([waiting, expired, partial, cancelled].sort())
  expect(await open(new Date(at(40)))).toEqual([])
})

test('what an open invoice takes, beside other networks too, is what its address is looked at for', async () => {
  const now = Date.now()
  const expiresAtMs = now + 15 * MINUTE_MS
  const seed = async (byte: number, changes: Partial<Invoice>) => {
    const addressBytes = Buffer.alloc(32, byte)
    await seedInvoice(database, tenant, { expiresAtMs, ...changes }, addressBytes)
    return addressBytes.toString('hex')
  }
  await seed(0xa1, { asset: 'SOL' })
  const usdc = await seed(0xa2, { asset: 'USDC_SOLANA' })
  const expired = { asset: 'USDC_SOLANA', expiresAtMs: now - 11 * MINUTE_MS } as const
  await seed(0xa3, expired)
  const asked = await listAskedAssets(database.pools.watcher, {
    ...{ network: 'solana-test', keyspace: 'solana-test', now: new Date(now) },
    assets: ['USDC_SOLANA', 'USDT_SOLANA'],
  })
  const told = asked.map(({ addressBytes, asset }) => `${addressBytes.toString('hex')} ${asset}`)
  expect(told).toEqual([`${usdc} USDC_SOLANA`])
})

test('indexes that were taken and have no address are listed, and those beyond the last', async () => {
  await database.owner.query(
    `insert into account_key (keyspace, path, created_at) values ('evm-test', 'm', now())`,
  )
  await database.owner.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at)
     select 'evm-test', idx, decode(lpad(to_hex(idx), 40, '0'), 'hex'), 'a' || idx, 'regtest', now()
     from generate_series(0, 9) as idx where idx not in (3, 7)`,
  )
  expect(await listMissingIndexes(database.owner, 'evm-test', 12, 100)).toEqual([3, 7, 10, 11])
  expect(await listMissingIndexes(database.owner, 'evm-test', 12, 2)).toEqual([3, 7])
})

test('permanent addresses are always open, however many customers came before with none on the network', async () => {
  const other = await seedMerchant(database)
  const listed = (network: 'base-test' | 'bitcoin-test', keyspace: 'evm-test' | 'bitcoin-test') =>
    listOpenAddresses(database.pools.watcher, {
      network,
      keyspace,
      now: new Date(Date.now() + 40 * MINUTE_MS),
    })
  const giveAddresses = async (keyspace: string, from: number, to: number) => {
    await database.owner.query(
      `insert into account_key (keyspace, path, created_at) values ($1, 'm', now()) on conflict do nothing`,
      [keyspace],
    )
    await database.owner.query(
      `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
       select $1, n, decode(lpad(to_hex(n), 40, '0'), 'hex'), 'a' || n, 'regtest', now(), now()
       from generate_series($2::int, $3::int) n`,
      [keyspace, from, to],
    )
    await database.owner.query(
      `insert into deposit_address (merchant_id, keyspace, idx, livemode, invoice_id, program, address, created_at)
       select $4, keyspace, idx, false, 'da_' || lpad(idx::text, 26, '0'), program, address, now()
       from address where keyspace = $1 and idx between $2 and $3`,
      [keyspace, from, to, other.merchantId],
    )
  }
  await database.owner.query(
    `insert into deposit_account (merchant_id, id, livemode, customer_reference, service_fee_bps, created_at)
     select $1, 'da_' || lpad(n::text, 26, '0'), false, n, 0, now() from generate_series(1, 6000) n`,
    [other.merchantId],
  )
  await giveAddresses('evm-test', 5_990, 6_000)
  expect(await listed('base-test', 'evm-test')).toHaveLength(11)
  const asked = { network: 'base-test', keyspace: 'evm-test', now: new Date() } as const
  const assets = ['USDC_BASE', 'USDC_SOLANA'] as const
  expect(await listAskedAssets(database.pools.watcher, { ...asked, assets })).toHaveLength(22)
  // An Esplora server is asked for each by itself: of many, the others are seen in blocks.
  await giveAddresses('bitcoin-test', 1, 200)
  expect(await listed('bitcoin-test', 'bitcoin-test')).toHaveLength(50)
})
