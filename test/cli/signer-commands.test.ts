import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openOutcomeKey } from '../../src/secrets/outcome-key.ts'
import { makeDataDir, runProgram, startRoles } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** The key ceremony of docs/keys.md, command by command. */

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let env: { [name: string]: string }
beforeEach(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
  const [port, operatorPort] = [await freePort(), await freePort()]
  env = {
    DATA_DIR: place.dataDir,
    DATABASE_URL: database.ownerUrl,
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
  }
})
afterEach(async () => {
  await place.remove()
  await database.drop()
})

const signer = (args: readonly string[], input?: string) => runProgram(['signer', ...args], env, input)
const seedPath = () => join(place.dataDir, 'signer', 'seed.json')
const WORDS = /^(?:[a-z]{3,8} ){23}[a-z]{3,8}$/m

async function makeSeed(): Promise<string> {
  const made = await signer(['init', '--show-words'])
  expect([made.code, made.stderr]).toEqual([0, ''])
  const words = WORDS.exec(made.stdout)?.[0]
  if (words === undefined) throw new Error(made.stdout)
  return words
}

test('words on paper bring back the same accounts, on a machine that has nothing else', async () => {
  const words = await makeSeed()
  const before = await signer(['export-xpubs', '--json'])
  expect(JSON.parse(before.stdout).accounts).toHaveLength(8)
  expect(before.stdout).not.toMatch(/xprv|[a-z]+ [a-z]+ [a-z]+ [a-z]+ /)
  await rm(place.dataDir, { recursive: true })
  const typed = `  ${words.toUpperCase().replaceAll(' ', '\n')}\n`
  const restored = await signer(['init', '--restore'], typed)
  expect([restored.code, restored.stderr]).toEqual([0, ''])
  expect(restored.stdout).not.toMatch(WORDS)
  expect((await signer(['export-xpubs', '--json'])).stdout).toBe(before.stdout)
})

test('a seed is never written over, and words that are not a seed make none', async () => {
  const words = await makeSeed()
  const before = await readFile(seedPath(), 'utf8')
  for (const again of [await signer(['init']), await signer(['init', '--restore'], words)]) {
    expect([again.code, again.stdout]).toEqual([1, ''])
    expect(again.stderr).toMatch(/^paylink: .*seed\.json is there already, and is never written over\n$/)
  }
  expect(await readFile(seedPath(), 'utf8')).toBe(before)
  await rm(place.dataDir, { recursive: true })
  const [first = '', ...rest] = words.split(' ')
  for (const wrong of [
    '',
    rest.join(' '),
    [...rest, first].join(' '),
    `${words} ${first}`,
    'paylink '.repeat(24),
  ]) {
    const refused = await signer(['init', '--restore'], wrong)
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/24 words of the seed: check each/),
    ])
    await expect(readFile(seedPath())).rejects.toThrow('ENOENT')
  }
})

test('the status shows the seed, a running signer, and a seed that belongs to another database', async () => {
  const without = await signer(['status'])
  expect([without.code, without.stderr]).toEqual([
    1,
    expect.stringMatching(/has no seed: run paylink signer init/),
  ])
  await makeSeed()
  const state = async () => JSON.parse((await signer(['status', '--json'])).stdout)
  expect(await state()).toMatchObject({ active: false, signed_transactions: 0 })
  const running = await startRoles(['signer'], env)
  const status = await state()
  expect(status.active).toBe(true)
  expect(new Set(status.keyspaces.map(({ database: told }: { database: string }) => told))).toEqual(
    new Set(['same in the database']),
  )
  await running.stop()
  expect(await state()).toMatchObject({ active: false })
  await rm(join(place.dataDir, 'signer'), { recursive: true })
  await makeSeed()
  const other = await signer(['status'])
  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringMatching(/not the one that the database belongs to/),
  ])
})

test('resealed, the seed opens with the new key and no longer with the old one', async () => {
  const [oldKey, newKey] = [join(place.dataDir, '..', 'old'), join(place.dataDir, '..', 'new')]
  await writeFile(oldKey, randomBytes(32))
  await writeFile(newKey, randomBytes(32).toString('hex'))
  env.SIGNER_KEY_FILE = oldKey
  await makeSeed()
  const before = await signer(['export-xpubs'])
  const missing = await signer(['reseal', '--key-file', `${newKey}-er`])
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringMatching(/does not exist: put the key there/),
  ])
  expect((await signer(['export-xpubs'])).stdout).toBe(before.stdout)
  expect((await signer(['reseal', '--key-file', newKey])).code).toBe(0)
  const old = await signer(['export-xpubs'])
  expect([old.code, old.stderr]).toEqual([1, expect.stringMatching(/does not open with the key/)])
  env.SIGNER_KEY_FILE = newKey
  expect((await signer(['export-xpubs'])).stdout).toBe(before.stdout)
})

test.each([
  { name: 'approval-key', says: (key: string) => `Payouts are signed that ${key} approved.` },
  { name: 'outcome-key', says: (key: string) => `Sweeps and failed payouts count that ${key} sealed.` },
])('the $name is the first that the API wrote, until the operator names another', async ({ name, says }) => {
  const running = await startRoles(['api', 'signer'], env)
  const folder = join(place.dataDir, 'signer')
  const pinned = () => readFile(join(folder, name), 'utf8').catch(() => null)
  await until(async () => (await pinned()) !== null, { what: 'the signer knows the key' })
  await running.stop()
  const first = await readFile(join(place.dataDir, name), 'utf8')
  expect(first).toMatch(/^[0-9a-f]{64}\n$/)
  expect(await pinned()).toBe(first)
  const wrong = await signer([`trust-${name}`, 'no key'])
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('the key must be 64 hexadecimal digits'),
  ])
  const next = randomBytes(32).toString('hex')
  const trusted = await signer([`trust-${name}`, next])
  expect([trusted.code, trusted.stdout]).toEqual([0, `${says(next)}\nBefore, the key was ${first.trim()}.\n`])
  expect(await pinned()).toBe(`${next}\n`)
})

test('the watcher key that is printed is the private half of the key that the API writes for the signer', async () => {
  const running = await startRoles(['api'], env)
  await running.stop()
  const printed = await runProgram(['watcher-key'], env)
  const { publicKey } = openOutcomeKey(Buffer.from(printed.stdout.trim(), 'hex'))
  expect(await readFile(join(place.dataDir, 'outcome-key'), 'utf8')).toBe(`${publicKey.toString('hex')}\n`)
})
