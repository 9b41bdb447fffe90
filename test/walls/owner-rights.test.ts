import { afterAll, beforeAll, expect, test } from 'vitest'
import { DATABASE_ROLES } from '../../src/postgres/roles.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

type OwnFunction = { readonly name: string; readonly isTrigger: boolean; readonly allowed: string[] }

/** Functions that run with the rights of the tables' owner, or as a trigger, and which roles may call each. */
async function functionsOfOwner(): Promise<OwnFunction[]> {
  const { rows } = await database.owner.query<OwnFunction>(
    `select p.proname as name, p.prorettype = 'trigger'::regtype as "isTrigger",
       array(select role from unnest($1::text[]) as role
         where has_function_privilege('paylink_' || role, p.oid, 'execute')) as allowed
     from pg_proc p where p.pronamespace = 'public'::regnamespace and (p.prosecdef or p.prorettype = 'trigger'::regtype)
     order by 1`,
    [DATABASE_ROLES],
  )
  return rows
}

test('no login calls a function that runs with the owner’s rights, but for those that were made for it', async () => {
  const functions = await functionsOfOwner()
  expect(functions.length).toBeGreaterThan(10)
  const open = functions.filter(({ allowed }) => allowed.length > 0)
  expect(Object.fromEntries(open.map(({ name, allowed }) => [name, allowed]))).toEqual({
    attempt_keep_partitions: ['delivery'],
    card_purchase_owner: ['api'],
    is_change_program: ['api'],
    payment_link_owner: ['api'],
  })
})

test('no login lets a trigger of ours write for it, by a temporary table of its own', async () => {
  const triggers = (await functionsOfOwner()).filter(({ isTrigger }) => isTrigger)
  for (const role of DATABASE_ROLES) {
    const client = await database.pools[role].connect()
    try {
      await client.query(`set role paylink_${role}`)
      await client.query(`create temporary table sweep
        (merchant_id text, id text, livemode boolean, network text, asset text, amount numeric, status text)`)
      for (const { name } of triggers)
        await expect(
          client.query(`create trigger borrowed after insert on pg_temp.sweep for each row
            execute function public.${name}('done', '1')`),
          `${role} ${name}`,
        ).rejects.toThrow('permission denied for function')
      await client.query(
        `insert into pg_temp.sweep values ('mer_a', 'swp_a', true, 'base-mainnet', 'ETH_BASE', 1000, 'done')`,
      )
    } finally {
      client.release(true)
    }
  }
  const { rows } = await database.owner.query('select from hot_credit')
  expect(rows).toEqual([])
})
