import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { approvalText } from '../../src/core/payout/approval-text.ts'
import { inspectApprovalKey } from '../../src/doctor/inspect-signer.ts'
import { readPin, trustKey } from '../../src/payouts/sign/pinned-keys.ts'
import { isApprovalKeyForeign } from '../../src/payouts/store/approval-keys.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { openApprovalKey } from '../../src/secrets/approval-key.ts'
import { readPublicKeyFile, writePublicKeyFile } from '../../src/secrets/public-key-file.ts'
import { LivePayoutWorld } from '../support/live-payout-world.ts'
import { keyring } from '../support/payout-steps.ts'

const LTC = 100_000_000n
const API_KEY = openApprovalKey(keyring).publicKey

let world: LivePayoutWorld
let tenant: Tenant
let destination: string
beforeEach(async () => {
  world = await LivePayoutWorld.open()
  tenant = await world.openShop([LTC, LTC])
  // On the list before the signer's first start: this test is about approvals.
  destination = await world.plant(tenant)
})
afterEach(() => world.close())

const published = () => join(world.folder, 'published-approval-key')
const config = { dataDir: '/nowhere', secretKey: Buffer.alloc(32, 9) }
const findings = () => inspectApprovalKey(config, world.database.owner)

/** What somebody with the API's database login writes before the API approves anything. */
async function plantKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  await world.database.pools.api.query(
    'insert into payout_approval_key (public_key, created_at) values ($1, now())',
    [key],
  )
  return { key, approve: (digest: Buffer) => sign(null, digest, privateKey) }
}

test("a key that the API's login placed before the first approval approves nothing, and is an alarm", async () => {
  const thief = await plantKey()
  const payout = await world.payOut(tenant, destination, '0.5')
  const forged = await world.payOut(tenant, destination, '0.5')
  const digest = createHash('sha256').update(approvalText(forged)).digest()
  const { owner, pools } = world.database
  await owner.query('update payout_approval set signature = $2 where payout_id = $1', [
    forged.id,
    thief.approve(digest),
  ])
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
  expect(await world.reasonOf(forged)).toBe('approval_invalid')
  expect(await readPin(world.folder, 'approval-key')).toEqual(API_KEY)
  expect(await isApprovalKeyForeign(pools.watcher)).toBe(true)
  const alarms = world.logged.filter((line) => line.includes('another approval key'))
  expect(alarms).toHaveLength(1)
  expect(alarms[0]).toContain(thief.key.toString('hex'))
  const [finding] = await findings()
  expect(finding).toMatchObject({ kind: 'fault' })
  expect(finding?.text).toContain(thief.key.toString('hex'))
})

test('where only the database names a key no live payout is signed until the operator trusts one', async () => {
  await rm(published())
  const payout = await world.payOut(tenant, destination, '0.5')
  await world.sign()
  expect(await world.isSigned(payout)).toBe(false)
  expect(await readPin(world.folder, 'approval-key')).toBeNull()
  const said = world.logged.filter((line) => line.includes('live payouts are not signed'))
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('paylink signer trust-approval-key')
  const [finding] = await findings()
  expect(finding?.text).toContain(`paylink signer trust-approval-key ${API_KEY.toString('hex')}`)
  await trustKey(world.folder, 'approval-key', API_KEY)
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
  expect(await findings()).toMatchObject([{ kind: 'ok' }])
})

test('a file that names another key later changes nothing, and is an alarm; so is an API with another key', async () => {
  await world.sign()
  const other = randomBytes(32)
  await writePublicKeyFile(published(), other)
  const payout = await world.payOut(tenant, destination, '0.5')
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
  expect(world.logged.some((line) => line.includes(other.toString('hex')))).toBe(true)
  await trustKey(world.folder, 'approval-key', other)
  await world.sign()
  const texts = (await findings()).map(({ text }) => text)
  expect(texts[0]).toContain(`paylink signer trust-approval-key ${API_KEY.toString('hex')}`)
})

test('a file without a key is said once, and stops nothing that is known', async () => {
  await world.sign()
  await writeFile(published(), 'no key')
  await expect(readPublicKeyFile(published())).rejects.toThrow('64 hexadecimal digits')
  const payout = await world.payOut(tenant, destination, '0.5')
  await world.sign()
  expect(await world.isSigned(payout)).toBe(true)
  expect(world.logged.some((line) => line.includes('APPROVAL_KEY_FILE cannot be read'))).toBe(true)
})

test("no login but the signer's says which key the signer knows", async () => {
  await world.sign()
  for (const role of ['api', 'watcher', 'delivery'] as const) {
    for (const statement of [
      'update signer_approval_key set public_key = null',
      'delete from signer_approval_key',
      'insert into signer_approval_key default values',
      'update payout_approval_key set public_key = null',
    ])
      await expect(world.database.pools[role].query(statement), `${role}: ${statement}`).rejects.toThrow(
        /permission denied/,
      )
  }
  await expect(
    withTransaction(world.database.pools.api, tenant, (tx) => tx.query('delete from payout_approval_key')),
  ).rejects.toThrow(/permission denied/)
})
