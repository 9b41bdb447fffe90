import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { ownerOf } from '../../src/chain/solana/watched-owners.ts'
import { insertMaintenance } from '../../src/payouts/store/solana-maintenance.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const SOL = 1_000_000_000n
/** The most that one of these moves. */
const LAMPORTS = SOL / 100n
/** A block that no chain has. */
const NO_BLOCK = '11111111111111111111111111111111'

let world: SolanaPayoutWorld
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
  await world.turn()
  await world.fund()
})
afterAll(() => world?.close())

/** With the watcher's login: something is to be moved between the fee payer and a deposit address. */
async function ask(kind: 'fund' | 'reclaim', index: number): Promise<string> {
  const id = newId('maintenance', world.now)
  const sources = [{ index, lamports: LAMPORTS }] as const
  await insertMaintenance(world.database.pools.watcher, 'solana-test', { kind, id, sources }, world.now)
  return id
}

async function depositOf(tenant: Tenant) {
  const { rows } = await world.database.owner.query<{ program: Buffer; index: number }>(
    'select program, idx as index from deposit_address where merchant_id = $1',
    [tenant.merchantId],
  )
  const [found] = rows
  if (found === undefined) throw new Error('the merchant has no deposit address')
  return { index: found.index, owner: ownerOf(found.program) }
}

const readAnew = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await world.turn()
}

test("with the watcher's login nobody has a buyer's payment reclaimed as what the fee payer put there", async () => {
  const tenant = await world.openShop([SOL])
  const { index, owner } = await depositOf(tenant)
  const { watcher } = world.database.pools
  for (let round = 0; round < 2; round++) {
    await watcher.query('update solana_house set blockhash = $1', [NO_BLOCK])
    const fund = await ask('fund', index)
    await world.sign()
    await watcher.query('update solana_chore set landed = true, ended_at = now() where id = $1', [fund])
    await readAnew()
    await ask('reclaim', index)
    await readAnew()
    const named = (await runAudit(world.database.owner, [])).flatMap(({ findings }) => findings)
    expect(named.map(({ subject }) => subject)).toContain(fund)
  }
  expect(await world.holds(owner)).toBe(SOL)
  expect(world.logged.join('')).toContain('more was to be reclaimed from an address than was put there')
})

test("with the watcher's login nobody has more reclaimed than arrived, or reclaimed twice", async () => {
  const tenant = await world.openShop([SOL])
  const { index, owner } = await depositOf(tenant)
  const { watcher } = world.database.pools
  // Both are signed over one block: the same transaction under two names.
  await ask('fund', index)
  await ask('fund', index)
  await readAnew()
  expect(await world.holds(owner)).toBe(SOL + LAMPORTS)
  for (let round = 0; round < 3; round++) {
    await ask('reclaim', index)
    await readAnew()
    await watcher.query(
      `update solana_chore set landed = false where kind = 'reclaim' and ended_at is not null and indexes[1] = $1`,
      [index],
    )
  }
  expect(await world.holds(owner)).toBe(SOL)
})

test('what was to be reclaimed and no block took is reclaimed by another transaction', async () => {
  const slot = await world.rpc.slot('confirmed')
  const { blockhash } = (await world.rpc.blockHead(slot)) ?? {}
  const { owner: database, pools } = world.database
  await database.query('update network_state set height = $1, hash = $2', [slot, blockhash])
  const tenant = await world.openShop([SOL])
  const { index, owner } = await depositOf(tenant)
  await ask('fund', index)
  await readAnew()
  await pools.watcher.query('update solana_house set blockhash = $1, last_valid_height = 0', [NO_BLOCK])
  await ask('reclaim', index)
  await world.sign()
  await readAnew()
  expect(await world.holds(owner)).toBe(SOL + LAMPORTS)
  await ask('reclaim', index)
  await readAnew()
  expect(await world.holds(owner)).toBe(SOL)
})
