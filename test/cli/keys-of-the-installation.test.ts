import { randomBytes } from 'node:crypto'
import { access, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeDataDir, type RunResult, runProgram, startRoles } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'

/** A key that is not the database's own stops the start, in one line that says what to do. */

const newKey = () => randomBytes(32).toString('hex')

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let env: { [name: string]: string }
beforeEach(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
  env = {
    DATA_DIR: place.dataDir,
    DATABASE_URL: database.ownerUrl,
    PORT: String(await freePort()),
    OPERATOR_PORT: String(await freePort()),
  }
})
afterEach(async () => {
  await place.remove()
  await database.drop()
})

async function startAndStop(roles: readonly string[], changes: { [name: string]: string } = {}) {
  const started = await startRoles(roles, { ...env, ...changes })
  expect(await started.stop()).toBe(0)
}

function expectOneLine({ code, stderr }: RunResult, line: RegExp): void {
  expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(line)])
  expect(code).toBe(1)
}

test('each role refuses a SECRET_KEY that is not the one of the first start', async () => {
  const first = newKey()
  await startAndStop(['api'], { SECRET_KEY: first })
  for (const role of ['api', 'checkout', 'delivery']) {
    const wrong = await runProgram(['start', role], { ...env, SECRET_KEY: newKey() })
    expectOneLine(wrong, /^paylink: SECRET_KEY is not the key of this database: set it to the one/)
    await startAndStop([role], { SECRET_KEY: first })
  }
})

test('delivery runs with the key that is made for it, and refuses that of another installation', async () => {
  const first = newKey()
  await startAndStop(['api'], { SECRET_KEY: first })
  const keyOf = async (SECRET_KEY: string) =>
    (await runProgram(['delivery-key'], { ...env, SECRET_KEY })).stdout.trim()
  await startAndStop(['delivery'], { DELIVERY_KEY: await keyOf(first) })
  await expect(access(join(place.dataDir, 'secret-key'))).rejects.toThrow('ENOENT')
  const wrong = await runProgram(['start', 'delivery'], { ...env, DELIVERY_KEY: await keyOf(newKey()) })
  expectOneLine(wrong, /^paylink: DELIVERY_KEY is not of this database: .* paylink delivery-key prints/)
  const none = await runProgram(['delivery-key'], env)
  expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/there is no key yet: set SECRET_KEY/)])
})

test('a lost or exchanged key file stops the start, and no new one is made', async () => {
  await startAndStop(['api'])
  const path = join(place.dataDir, 'secret-key')
  await rm(path)
  expectOneLine(await runProgram(['start', 'api'], env), /secret-key is missing, and the database holds/)
  await expect(access(path)).rejects.toThrow('ENOENT')
  const doctor = await runProgram(['doctor'], env)
  expect(doctor.stdout).toMatch(/✗ .*secret-key is missing, and .* put the file back from your backup/)
  await writeFile(path, newKey())
  expectOneLine(await runProgram(['start', 'api'], env), /secret-key is not the key of this database/)
  expect((await runProgram(['doctor'], env)).stdout).toMatch(/✗ .*secret-key is not the key of this database/)
})

test('secrets that were sealed before keys were checked are not left behind for a new key', async () => {
  await database.owner.query(
    `with merchant as (
       insert into merchant (id, name, email, created_at) values ('mer_1', 'Shop', 'a@b.example', now()) returning id)
     insert into idempotency_key (merchant_id, livemode, method, route, key, request_hash, response_status,
       response_body, created_at)
     select id, false, 'post', '/invoices', 'k', '\\x00', 201, '\\x00', now() from merchant`,
  )
  expectOneLine(await runProgram(['start', 'delivery'], env), /secret-key is missing/)
  await startAndStop(['delivery'], { SECRET_KEY: newKey() })
})

test('a signer key that is missing or does not open the seed stops the start of everything', async () => {
  const right = join(place.dataDir, '..', 'right-key')
  const wrong = join(place.dataDir, '..', 'wrong-key')
  const roles = ['api', 'signer']
  expectOneLine(
    await runProgram(['start', ...roles], { ...env, SIGNER_KEY_FILE: right }),
    /^paylink: SIGNER_KEY_FILE names .*right-key, which does not exist: put the key there$/,
  )
  await writeFile(right, newKey())
  await writeFile(wrong, newKey())
  await startAndStop(roles, { SIGNER_KEY_FILE: right })
  expectOneLine(
    await runProgram(['start', ...roles], { ...env, SIGNER_KEY_FILE: wrong }),
    /^paylink: .*seed\.json does not open with the key .*wrong-key: restore the right pair$/,
  )
  expectOneLine(
    await runProgram(['start', 'signer'], { ...env, SIGNER_KEY_FILE: wrong }),
    /^paylink: .*seed\.json does not open with the key/,
  )
  await startAndStop(roles, { SIGNER_KEY_FILE: right })
})
