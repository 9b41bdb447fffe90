import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mnemonicToSeed } from '@scure/bip39'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { DATABASE_ROLES, loginRoleOf } from '../../src/postgres/roles.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { ACCOUNT_PATHS, deriveNode, wordsOf } from '../../src/signer/derive.ts'
import { takeAddressBatches } from '../../src/watcher/supply-addresses.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { clock, type SignerSetup, signerSetup } from './signer-setup.ts'

let database: TestDatabase
let setup: SignerSetup
let needles: string[]
beforeAll(async () => {
  database = await createTestDatabase()
  setup = await signerSetup()
  await setup.start(database.pools.signer)
  const log = createLogger('silent')
  for (const keyspace of ['litecoin-test', 'bitcoin-test'] as const) {
    const take = () =>
      takeAddressBatches({ pool: database.pools.watcher, keyspace, form: 'regtest', clock, log })
    await vi.waitUntil(async () => (await take()).added > 0, { timeout: 30_000 })
  }
  needles = await everySecret()
})
afterAll(async () => {
  await setup.cleanUp()
  await database.drop()
})

/** The entropy, the words, the seed, the file's key, and every private key above the addresses, in every spelling. */
async function everySecret(): Promise<string[]> {
  const entropy = await setup.entropy()
  const words = wordsOf(entropy)
  const seed = await mnemonicToSeed(words)
  const fileKey = Buffer.from((await readFile(join(setup.folder, 'key'), 'latin1')).trim(), 'hex')
  const binary = [entropy, Buffer.from(seed), Buffer.from(seed).subarray(0, 16), fileKey]
  const texts = [words, words.split(' ').slice(0, 4).join(' ')]
  for (const path of [
    'm',
    ...ACCOUNT_PATHS.flatMap(({ path }) => [path, `${path}/0`, `${path}/0/0`, `${path}/0/1`]),
  ]) {
    const node = deriveNode(seed, path)
    if (node.privateKey === null) throw new Error('no private key')
    binary.push(Buffer.from(node.privateKey))
    texts.push(node.privateExtendedKey)
  }
  const spelt = binary.flatMap((bytes) => [
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ])
  // A bytea prints as hexadecimal, so that text stored as bytes is looked for in that form as well.
  return [...spelt, ...texts, ...[...spelt, ...texts].map((text) => Buffer.from(text).toString('hex'))]
}

/** Every column a role may read, in whatever schema but the server's own. */
async function readableColumns(role: string): Promise<{ table: string; column: string }[]> {
  const { rows } = await database.owner.query<{ table: string; column: string }>(
    `select format('%I.%I', n.nspname, c.relname) as table, format('%I', a.attname) as column
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'S') and a.attnum > 0 and not a.attisdropped
       and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
       and has_column_privilege($1, c.oid, a.attnum, 'select')`,
    [role],
  )
  return rows
}

async function contentOf(table: string, column: string): Promise<string> {
  // The owner reads, so that row level security hides nothing from this test.
  const { rows } = await database.owner.query<{ text: string | null }>(
    `select ${column}::text as text from ${table}`,
  )
  return rows.map((row) => row.text ?? '').join('\n')
}

for (const role of DATABASE_ROLES) {
  test(`the ${role} role can read no private key, in no table and no spelling`, async () => {
    const login = loginRoleOf(new URL(database.ownerUrl).pathname.slice(1), role)
    const columns = await readableColumns(login)
    expect(columns.length).toBeGreaterThan(3)
    for (const { table, column } of columns) {
      const content = (await contentOf(table, column)).toLowerCase()
      for (const needle of needles) expect(content.includes(needle.toLowerCase())).toBe(false)
      expect(content).not.toContain('xprv')
    }
  })

  test(`the ${role} role can read no file of the server and become no other role`, async () => {
    const { rows } = await database.pools[role].query<{ superuser: string; files: boolean; others: number }>(
      `select current_setting('is_superuser') as superuser,
         has_function_privilege('pg_read_file(text)', 'execute') as files,
         (select count(*) from pg_roles r
          where pg_has_role(current_user, r.oid, 'member') and r.rolname <> current_user
            and r.rolname <> $1) as others`,
      [`paylink_${role}`],
    )
    expect(rows[0]).toEqual({ superuser: 'off', files: false, others: 0 })
  })
}

test('the search finds a private key where one stands', async () => {
  await database.owner.query('create table planted (secret bytea)')
  await database.owner.query('grant select on planted to paylink_api')
  await database.owner.query('insert into planted values ($1)', [await setup.entropy()])
  const content = await contentOf('public.planted', 'secret')
  expect(needles.some((needle) => content.includes(needle))).toBe(true)
  await database.owner.query('drop table planted')
})

test('only the signer may change how far addresses were derived', async () => {
  for (const role of ['api', 'delivery', 'watcher'] as const) {
    await expect(database.pools[role].query('update account_key set next_index = 0')).rejects.toThrow(
      'permission denied',
    )
  }
  for (const role of DATABASE_ROLES) {
    await expect(database.pools[role].query(`update account_key set xpub = 'xpub'`)).rejects.toThrow(
      'permission denied',
    )
    await expect(database.pools[role].query('delete from account_key')).rejects.toThrow('permission denied')
  }
})
