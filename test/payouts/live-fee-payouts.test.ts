import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { base32nopad } from '@scure/base'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { openSealKey } from '../../src/payouts/sign/approvers.ts'
import { noteOperators } from '../../src/payouts/sign/operators.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import { writeAddressKeys } from '../../src/secrets/address-keys.ts'
import { SEAL_KEY_NAME, sealKeyOf } from '../../src/secrets/seal-to-signer.ts'
import { totpCode, totpStepAt } from '../../src/secrets/totp.ts'
import { askForFees, keepFees } from '../support/fee-payouts.ts'
import { LivePayouts } from '../support/live-payouts.ts'

/** Live payouts of the operator's fees are signed on an operator's code, and not on the API's key alone. */

const COIN = 100_000_000n
const DAY_MS = 24 * 3_600_000
const STEP_MS = 30_000

let world: LivePayouts
beforeAll(async () => {
  world = await LivePayouts.open()
  vi.stubEnv('DATA_DIR', join(world.folder, 'data'))
  vi.stubEnv('DATABASE_URL', world.database.ownerUrl)
  vi.stubEnv('BASE_URL', '')
  vi.stubEnv('SECRET_KEY', '09'.repeat(32))
  await mkdir(join(world.folder, 'data'))
  await writeAddressKeys(
    join(world.folder, 'data', 'address-keys.json'),
    new Map([[SEAL_KEY_NAME, sealKeyOf(await openSealKey(world.folder))]]),
  )
  // Commands go by the real time: a day ago the signer's list began.
  world.now = new Date(Date.now() - DAY_MS)
  await world.turn()
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await world?.closeParts()
})

/** A command, in this process. */
async function paylink(...words: string[]) {
  const stdout: string[] = []
  const stderr: string[] = []
  const output = { line: (text: string) => stdout.push(text), problem: (text: string) => stderr.push(text) }
  const code = await runCommandLine(['node', 'paylink', ...words], output)
  return { code, stdout: stdout.join('\n'), stderr: stderr.join('\n') }
}

/** An operator, the file with their key, and what their app shows, if they have one. */
async function makeOperator(name: string) {
  const made = await paylink('operator', 'create', '--name', name, '--json')
  expect(made.code, made.stderr).toBe(0)
  const { id, key } = JSON.parse(made.stdout)
  const file = join(world.folder, `${name}.key`)
  await writeFile(file, `${key}\n`)
  const enrol = async () => {
    const given = await paylink('operator', 'authenticator', id, '--json')
    expect(given.code, given.stderr).toBe(0)
    const secret = base32nopad.decode(JSON.parse(given.stdout).secret)
    await noteOperators(await world.signer())
    /** What it shows now, or some steps ago. */
    return (ago = 0) => totpCode(secret, totpStepAt(Date.now()) - ago)
  }
  return { id, file, enrol }
}

/** Payouts of the fees of some shops, to an address that the signer has known for a day. */
async function requestFees(shops: number): Promise<Payout[]> {
  const payouts: Payout[] = []
  const then = new Date(Date.now() - DAY_MS - STEP_MS)
  for (let made = 0; made < shops; made++) {
    const tenant = await world.openShop([COIN])
    await keepFees(world.database.owner, tenant, COIN / 10n, then)
    world.now = then
    await saveNetworkFee(world.database.owner, 'litecoin-live', { rate: 2_000n, now: then })
    const to = { asset: 'LTC', address: world.newAddress(), now: then } as const
    const asked = await askForFees(world.database, tenant, to)
    if (asked.kind !== 'requested') throw new Error(asked.kind)
    payouts.push(asked.payout)
  }
  await world.turn()
  world.now = new Date()
  return payouts
}

async function outcomes(payouts: readonly Payout[]): Promise<string[]> {
  world.now = new Date()
  await saveNetworkFee(world.database.owner, 'litecoin-live', { rate: 2_000n, now: world.now })
  await world.turn()
  return Promise.all(payouts.map((payout) => world.outcomeOf(payout)))
}

const approve = (payouts: readonly Payout[], file: string, code?: string) =>
  paylink(
    'fees',
    'approve',
    ...payouts.map(({ id }) => id),
    '--key-file',
    file,
    ...(code === undefined ? [] : ['--code', code]),
  )

test('an operator’s code approves the payouts it was given for, a day after the signer first saw the app', async () => {
  const ann = await makeOperator('Ann')
  world.now = new Date(Date.now() - DAY_MS - STEP_MS)
  const code = await ann.enrol()
  const payouts = await requestFees(3)
  const [first, ...others] = payouts
  if (first === undefined) throw new Error('none was requested')
  const without = await approve(payouts, ann.file)
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('give --code')])
  const used = code()
  const together = await approve(payouts, ann.file, used)
  expect([together.code, together.stderr]).toEqual([0, ''])
  expect(await outcomes(payouts)).toEqual(['signed', 'signed', 'signed'])
  expect(others).toHaveLength(2)

  // Used once, it approves nothing else; and one for other payouts was never for this one.
  const [again, moved, forged] = await requestFees(3)
  if (again === undefined || moved === undefined || forged === undefined) throw new Error('too few')
  expect((await approve([again], ann.file, used)).code).toBe(0)
  expect(await outcomes([again])).toEqual(['approval_unproved'])
  expect((await approve([moved], ann.file, code(-1))).code).toBe(0)
  await world.database.owner.query(
    `update payout_approval set evidence = (select evidence from payout_approval where payout_id = $2) where payout_id = $1`,
    [moved.id, first.id],
  )
  expect(await outcomes([moved])).toEqual(['approval_unproved'])
  // Whoever has the API's key and the owner's login, and no app: the API's signature alone.
  await approve([forged], ann.file, code(-1))
  await world.database.owner.query('update payout_approval set evidence = null where payout_id = $1', [
    forged.id,
  ])
  expect(await outcomes([forged])).toEqual(['approval_unproved'])
})

test('an operator’s app of today, a wrong code and a revoked operator approve nothing', async () => {
  const bob = await makeOperator('Bob')
  world.now = new Date()
  const code = await bob.enrol()
  expect(world.logged.some((line) => line.includes(bob.id) && line.includes('is new'))).toBe(true)
  const [early] = await requestFees(1)
  if (early === undefined) throw new Error('none was requested')
  expect((await approve([early], bob.file, code())).code).toBe(0)
  expect(await outcomes([early])).toEqual(['approver_too_new'])

  const carol = await makeOperator('Carol')
  world.now = new Date(Date.now() - DAY_MS - STEP_MS)
  const hers = await carol.enrol()
  const [mistyped, late] = await requestFees(2)
  if (mistyped === undefined || late === undefined) throw new Error('too few')
  const wrong = String((Number(hers()) + 1) % 1_000_000).padStart(6, '0')
  expect((await approve([mistyped], carol.file, wrong)).code).toBe(0)
  expect(await outcomes([mistyped])).toEqual(['approval_unproved'])
  expect((await approve([late], carol.file, hers())).code).toBe(0)
  expect((await paylink('operator', 'revoke', carol.id)).code).toBe(0)
  expect(await outcomes([late])).toEqual(['approval_unproved'])
})

test('no login but the owner’s reads or changes an operator’s app, and the signer’s reads it alone', async () => {
  const { api, watcher, delivery, signer } = world.database.pools
  for (const pool of [api, watcher, delivery, signer])
    await expect(
      pool.query(`update operator set totp_sealed = decode(repeat('00', 64), 'hex')`),
    ).rejects.toThrow('permission denied')
  for (const pool of [api, watcher, delivery])
    await expect(pool.query('select totp_sealed from operator')).rejects.toThrow('permission denied')
  await expect(signer.query('select key_hash from operator')).rejects.toThrow('permission denied')
})
