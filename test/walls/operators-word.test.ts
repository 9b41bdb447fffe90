import { afterAll, beforeAll, expect, test } from 'vitest'
import { countLostPayouts, insertLostPayouts } from '../../src/payouts/store/lost-payouts.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

test("the signer's login says that a payout is lost, and never that the operator has accepted it", async () => {
  const { signer, owner } = { ...database.pools, owner: database.owner }
  await insertLostPayouts(signer, new Map([['po_lost', 'base-live']]), new Date())
  for (const statement of [
    `insert into lost_payout (payout_id, network, found_at, accepted_at) values ('po_1', 'base-live', now(), now())`,
    'update lost_payout set accepted_at = now()',
    'delete from lost_payout',
  ])
    await expect(signer.query(statement), statement).rejects.toThrow('permission denied')
  expect(await countLostPayouts(owner)).toEqual([{ network: 'base-live', count: 1 }])
})
