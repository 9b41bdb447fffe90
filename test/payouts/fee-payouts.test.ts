import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { NATIVE_MINT } from '../../src/core/chain/solana-mints.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { decidePayout } from '../../src/payouts/advance-payout.ts'
import { allowFeeDestination } from '../../src/payouts/payout-destinations.ts'
import { requestPayoutAlone } from '../../src/payouts/request-payout.ts'
import { removeFeeDestination } from '../../src/payouts/store/fee-destinations.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { SCOPES } from '../../src/wire/scopes.ts'
import { createTestApi, type TestApi } from '../support/api.ts'
import { makeDataDir } from '../support/app.ts'
import { askForFees, keepFees } from '../support/fee-payouts.ts'
import { creditLitecoin } from '../support/payout-money.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

/** What the operator keeps of payments, on its way to the operator. */

const LTC = 100_000_000n
const SOL = 1_000_000_000n
const FEE_BPS = 1_000

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
let place: Awaited<ReturnType<typeof makeDataDir>>
let api: TestApi
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
  place = await makeDataDir()
  api = await createTestApi()
  vi.stubEnv('DATA_DIR', place.dataDir)
  vi.stubEnv('DATABASE_URL', world.database.ownerUrl)
  // Vite sets one of its own.
  vi.stubEnv('BASE_URL', '')
  vi.stubEnv('SECRET_KEY', '09'.repeat(32))
  // Commands go by the real time.
  world.now = new Date()
  await world.tracker().pass()
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await world?.close()
  await money?.remove()
  await place?.remove()
  await api?.drop()
})

/** A command, in this process: it takes seconds to start another. */
async function paylink(...words: string[]) {
  const stdout: string[] = []
  const stderr: string[] = []
  const output = { line: (text: string) => stdout.push(text), problem: (text: string) => stderr.push(text) }
  const code = await runCommandLine(['node', 'paylink', ...words], output)
  return { code, stdout: stdout.join('\n'), stderr: stderr.join('\n') }
}

/** An operator, and the file with their key. */
async function makeOperator(name: string): Promise<{ readonly id: string; readonly file: string }> {
  const made = await paylink('operator', 'create', '--name', name, '--json')
  expect(made.code, made.stderr).toBe(0)
  const { id, key } = JSON.parse(made.stdout)
  const file = join(place.dataDir, '..', `${name}.key`)
  await writeFile(file, `${key}\n`)
  return { id, file }
}

/** What the auditor says of ledger and payouts. */
async function disagreements({ database }: Pick<PayoutWorld, 'database'> = world): Promise<string[]> {
  const results = await runAudit(database.owner, [])
  return results
    .filter(
      ({ name, findings }) =>
        findings.length > 0 && /^(ledger|balance|fees|service|payout|reserved|coins)/.test(name),
    )
    .map(({ name, findings }) => `${name}: ${findings.map(({ detail }) => detail).join(', ')}`)
}

async function confirm(tenant: Tenant, id: string): Promise<Payout> {
  await world.sign()
  await world.tracker().pass()
  await money.mine(1)
  await world.tracker().pass()
  return world.load(tenant, id)
}

test.each(['merchant', 'operator'] as const)(
  'all that the %s has is paid out beside too little of the other’s for an output, less what makes one',
  async (who) => {
    // 0.1 % of the payment, or all but 0.1 % of it, is less than an output must have: 0.0000546.
    const bps = who === 'merchant' ? 10 : 9_990
    const tenant = await world.openShop([LTC / 100n], bps)
    const to = { asset: 'LTC', address: world.newAddress() } as const
    const asked =
      who === 'merchant'
        ? await world.ask(tenant, { ...to, amount: '0.00999' })
        : await askForFees(world.database, tenant, { ...to, now: world.now })
    if (asked.kind !== 'requested') throw new Error(asked.kind)
    const { id, amount } = asked.payout
    expect(amount).toBe(999_000n - 4_460n)
    await world.approve(tenant, id)
    const done = await confirm(tenant, id)
    expect(done.status).toBe('confirmed')
    expect(await world.paidTo(to.address)).toEqual([amount - done.networkFee])
    const [own, other] = who === 'merchant' ? ['available', 'fees'] : ['fees', 'available']
    expect(await world.balances(tenant)).toMatchObject({ [own]: 4_460n, [other]: 1_000n })
    expect(await world.coinsOnChain(tenant)).toBe(5_460n)
    expect(await disagreements()).toEqual([])
    // The rest waits until there is more.
    expect(await world.ask(tenant, { ...to, address: world.newAddress(), amount: '0.00001' })).toMatchObject({
      kind: 'too_small',
    })
  },
)

test('of thirty requests at once for the same fees one is made, and paid once, out of the fees alone', async () => {
  const tenant = await world.openShop([LTC, LTC / 2n], FEE_BPS)
  const asked = await Promise.all(
    Array.from({ length: 30 }, () =>
      askForFees(world.database, tenant, { asset: 'LTC', address: world.newAddress(), now: world.now }),
    ),
  )
  const made = asked.flatMap((one) => (one.kind === 'requested' ? one.payout : []))
  expect(made).toHaveLength(1)
  expect(asked.filter(({ kind }) => kind === 'not_covered')).toHaveLength(29)
  const [payout] = made
  if (payout === undefined) throw new Error('none was made')
  expect(payout.amount).toBe((LTC * 15n) / 100n)
  expect(await world.balances(tenant)).toMatchObject({ fees: 0n, fees_reserved: (LTC * 15n) / 100n })
  await world.approve(tenant, payout.id)
  expect((await confirm(tenant, payout.id)).status).toBe('confirmed')
  const done = await world.load(tenant, payout.id)
  expect(await world.paidTo(payout.destination)).toEqual([payout.amount - done.networkFee])
  expect(await world.eventsOf(payout.id)).toEqual([])
  const available = (LTC * 135n) / 100n
  expect(await world.balances(tenant)).toMatchObject({
    fees: 0n,
    fees_reserved: 0n,
    available,
  })
  expect(await world.coinsOnChain(tenant)).toBe(available)
  // The merchant's own money goes on as ever, over the change.
  const own = await world.payout(tenant, '1.35')
  expect((await confirm(tenant, own.id)).status).toBe('confirmed')
  expect(await disagreements()).toEqual([])
})

test('by command: fees are collected, approved by another operator, sent to an allowed address, announced', async () => {
  await world.openShop([LTC], FEE_BPS)
  await world.openShop([LTC / 4n], FEE_BPS)
  const tiny = await world.openShop([20_000n], FEE_BPS)
  const address = world.newAddress()
  const where = ['--mode', 'test', '--asset', 'LTC', '--address', address, '--name', 'Treasury']
  const stranger = join(place.dataDir, '..', 'stranger.key')
  await writeFile(stranger, `op_${'x'.repeat(43)}\n`)
  const refused = await paylink('fees', 'allow', ...where, '--key-file', stranger)
  expect([refused.code, refused.stdout], refused.stderr).toEqual([2, ''])
  expect(refused.stderr).toContain('holds no key of an operator')
  const [ann, bob] = [await makeOperator('Ann'), await makeOperator('Bob')]
  const mistyped = where.with(5, `${address.slice(0, -1)}${address.endsWith('q') ? 'p' : 'q'}`)
  const typo = await paylink('fees', 'allow', ...mistyped, '--key-file', ann.file)
  expect([typo.code, typo.stderr]).toEqual([2, expect.stringContaining('typing error')])
  const allowed = await paylink('fees', 'allow', ...where, '--key-file', ann.file, '--json')
  expect([allowed.code, allowed.stderr]).toEqual([0, ''])
  const destination = JSON.parse(allowed.stdout).id
  const asked = await paylink(
    'fees',
    'request',
    '--destination',
    destination,
    '--key-file',
    ann.file,
    '--json',
  )
  expect([asked.code, asked.stderr]).toEqual([0, ''])
  const { payouts, skipped } = JSON.parse(asked.stdout)
  expect(payouts.map((one: { amount: string }) => one.amount).sort()).toEqual(['0.025', '0.1'])
  // Shops of the tests before have fees too small for an output, too.
  expect(skipped).toContainEqual({ merchant_id: tiny.merchantId, reason: 'too_small' })
  expect(new Set(skipped.map((one: { reason: string }) => one.reason))).toEqual(new Set(['too_small']))
  const again = await paylink('fees', 'request', '--destination', destination, '--key-file', bob.file)
  expect([again.code, again.stdout]).toEqual([1, expect.stringContaining('too little to be sent')])
  const ids: string[] = payouts.map((one: { id: string }) => one.id)
  const own = await paylink('fees', 'approve', ...ids, '--key-file', ann.file)
  expect([own.code, own.stdout]).toEqual([1, ''])
  expect(own.stderr).toContain('another operator must approve')
  const [first = '', second = ''] = ids
  const approved = await paylink('fees', 'approve', first, '--key-file', bob.file, '--json')
  expect([approved.code, JSON.parse(approved.stdout).payouts[0].approved_by]).toEqual([0, bob.id])
  const rejected = await paylink('fees', 'reject', second, first, 'po_nobody', '--key-file', ann.file)
  expect(rejected.code).toBe(1)
  expect(rejected.stdout).toContain(`${second}  test  rejected`)
  expect(rejected.stderr).toContain(`${first}: somebody decided already`)
  expect(rejected.stderr).toContain('po_nobody: there is no such payout of fees')
  world.now = new Date()
  const paidFrom = { merchantId: payouts[0].merchant_id, livemode: false }
  expect((await confirm(paidFrom, first)).status).toBe('confirmed')
  const status = JSON.parse((await paylink('fees', 'status', '--json')).stdout)
  expect(
    status.payouts
      .slice(0, 2)
      .map((one: { status: string }) => one.status)
      .sort(),
  ).toEqual(['confirmed', 'rejected'])
  const [total] = status.fees
  expect(total).toMatchObject({ livemode: false, asset: 'LTC', reserved: '0', owed: '0' })
  expect(total.merchants).toBe(skipped.length + 1)
  const words = (await paylink('fees', 'status')).stdout
  expect(words).toContain(`LTC to ${address}`)
  const ended = await paylink('operator', 'revoke', bob.id)
  expect(ended.code).toBe(0)
  expect((await paylink('fees', 'disallow', destination, '--key-file', bob.file)).code).toBe(2)
  expect((await paylink('fees', 'disallow', destination, '--key-file', ann.file)).code).toBe(0)
  expect((await paylink('fees', 'request', '--destination', destination, '--key-file', ann.file)).code).toBe(
    2,
  )
  expect((await paylink('operator', 'list')).stdout).toMatch(/works {2}Ann\n.*revoked .* Bob/s)
  expect(await disagreements()).toEqual([])
})

test('by command: fees in SOL are paid once, to a wallet alone; what is refused returns to the fees', async () => {
  const solana = await SolanaPayoutWorld.open()
  vi.stubEnv('DATABASE_URL', solana.database.ownerUrl)
  try {
    // Commands go by the real time.
    solana.now = new Date()
    await solana.fund()
    const tenant = await solana.openShop([SOL, SOL / 2n], FEE_BPS)
    const fees = (SOL * 15n) / 100n
    const [ann, bob] = [await makeOperator('Sol Ann'), await makeOperator('Sol Bob')]
    const sendTo = async (address: string): Promise<string> => {
      const where = ['--mode', 'test', '--asset', 'SOL', '--address', address, '--name', 'Vault']
      const allowed = await paylink('fees', 'allow', ...where, '--key-file', ann.file, '--json')
      expect([allowed.code, allowed.stderr]).toEqual([0, ''])
      const to = ['--destination', JSON.parse(allowed.stdout).id, '--key-file', ann.file, '--json']
      const asked = await paylink('fees', 'request', ...to)
      expect([asked.code, asked.stderr]).toEqual([0, ''])
      const [payout, ...others] = JSON.parse(asked.stdout).payouts
      expect([payout.amount, others]).toEqual(['0.15', []])
      expect((await paylink('fees', 'approve', payout.id, '--key-file', bob.file)).code).toBe(0)
      expect(await solana.balances(tenant)).toMatchObject({ fees: 0n, fees_reserved: fees })
      solana.now = new Date()
      return payout.id
    }
    const refused = await solana.until(tenant, await sendTo(NATIVE_MINT), 'failed')
    expect(refused).toMatchObject({ failureCode: 'destination_refuses', source: 'fees' })
    expect(await solana.balances(tenant)).toMatchObject({ fees, fees_reserved: 0n })
    const address = solana.newAddress()
    const done = await solana.until(tenant, await sendTo(address), 'confirmed')
    expect(await solana.holds(address)).toBe(fees - done.networkFee)
    expect((await solana.signedOf(done.id)).map(({ txid }) => txid)).toEqual([done.txid])
    expect(await solana.balances(tenant)).toMatchObject({ fees: 0n, fees_reserved: 0n })
    expect(await solana.eventsOf(done.id)).toEqual([])
    const own = await solana.payout(tenant, '1.35')
    const paid = await solana.until(tenant, own.id, 'confirmed')
    expect(await solana.holds(own.destination)).toBe(own.amount - paid.networkFee)
    expect(await solana.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    expect(await disagreements(solana)).toEqual([])
    expect(await solana.audited()).toEqual([])
  } finally {
    vi.stubEnv('DATABASE_URL', world.database.ownerUrl)
    await solana.close()
  }
})

test('a thousand merchants whose fees are too small to be sent do not hide the fees of those after them', async () => {
  const now = new Date()
  const { owner } = api.database
  await owner.query(
    `insert into merchant (id, name, email, created_at)
     select 'mer_' || lpad(n::text, 26, '0'), 'Shop', 'owner@example.com', now() from generate_series(1, 1000) n`,
  )
  await owner.query(
    `insert into ledger_balance (merchant_id, livemode, asset, account, balance)
     select 'mer_' || lpad(n::text, 26, '0'), false, 'LTC', 'fees', 1 from generate_series(1, 1000) n`,
  )
  const { id: merchantId } = await api.addMerchant()
  const tenant = { merchantId, livemode: false }
  await creditLitecoin(owner, tenant, { units: LTC, now })
  await keepFees(owner, tenant, LTC / 10n, now)
  const allowed = await withTransaction(owner, tenant, (tx) =>
    allowFeeDestination(tx, {
      livemode: false,
      asset: 'LTC',
      address: randomLitecoinAddress('regtest'),
      name: 'x',
      by: 'opr_a',
      now,
    }),
  )
  if (allowed.kind !== 'added') throw new Error(allowed.kind)
  vi.stubEnv('DATABASE_URL', api.database.ownerUrl)
  try {
    const { file } = await makeOperator('Carol')
    const to = ['--destination', allowed.destination.id, '--key-file', file, '--json']
    const asked = await paylink('fees', 'request', ...to)
    expect([asked.code, asked.stderr]).toEqual([0, ''])
    const { payouts, skipped } = JSON.parse(asked.stdout)
    expect(payouts).toMatchObject([{ merchant_id: merchantId, amount: '0.1' }])
    expect(skipped).toHaveLength(1_000)
  } finally {
    vi.stubEnv('DATABASE_URL', world.database.ownerUrl)
  }
})

test('by command: a payout of fees lost in a restore comes back once its address is listed, paid once', async () => {
  const tenant = await world.openShop([LTC], FEE_BPS)
  const restore = await world.backUp()
  const lost = await world.payoutOfFees(tenant)
  await world.sign()
  await world.tracker().pass()
  const { txid } = await world.load(tenant, lost.id)
  await restore()
  expect(await world.balances(tenant)).toMatchObject({ fees: LTC / 10n })
  await mkdir(join(place.dataDir, 'signer'), { recursive: true })
  await copyFile(join(world.folder, 'payouts.jsonl'), join(place.dataDir, 'signer', 'payouts.jsonl'))
  const strange = await paylink('signer', 'recover', '--accept', 'po_nobody')
  expect([strange.code, strange.stderr]).toEqual([2, expect.stringContaining('po_nobody is no payout')])
  const early = await paylink('signer', 'recover')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('1 of 1 could not be brought back')])
  expect(early.stdout).toMatch(new RegExp(`^${lost.id} .* ${txid} .*contradicts it`))
  await withTransaction(world.database.owner, tenant, (tx) =>
    allowFeeDestination(tx, {
      livemode: false,
      asset: 'LTC',
      address: lost.destination,
      name: 'x',
      by: 'opr_a',
      now: world.now,
    }),
  )
  const recovered = await paylink('signer', 'recover')
  expect([recovered.code, recovered.stderr]).toEqual([0, ''])
  expect(recovered.stdout).toMatch(new RegExp(`^${lost.id} .* ${txid} .*is in the books again`))
  expect(await world.balances(tenant)).toMatchObject({ fees: 0n, fees_reserved: LTC / 10n })
  const done = await confirm(tenant, lost.id)
  expect(done).toMatchObject({ status: 'confirmed', source: 'fees', txid })
  expect(await world.paidTo(lost.destination)).toEqual([lost.amount - done.networkFee])
  expect(await world.balances(tenant)).toMatchObject({ fees: 0n, fees_reserved: 0n })
  expect(await paylink('signer', 'recover')).toEqual({
    code: 0,
    stdout: 'The database knows every payout that was signed.',
    stderr: '',
  })
  expect(await disagreements()).toEqual([])
})

test('an approval binds its source, fees or merchant: changed later it is not signed, its money goes back', async () => {
  const tenant = await world.openShop([LTC], FEE_BPS)
  const payout = await world.payoutOfFees(tenant)
  const { rows } = await world.database.owner.query<{ id: string }>(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, false, 'LTC', $3, 'x', 'x', now(), now()) returning id`,
    [tenant.merchantId, newId('payoutDestination', world.now), payout.destination],
  )
  await world.database.owner.query(
    `update payout set source = 'available', destination_id = $2, fee_destination_id = null where id = $1`,
    [payout.id, rows[0]?.id],
  )
  await world.sign()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'approval_invalid',
  })
  expect(await world.paidTo(payout.destination)).toEqual([])
  expect(await world.balances(tenant)).toMatchObject({
    fees: LTC / 10n,
    fees_reserved: 0n,
    available: (LTC * 9n) / 10n,
  })
})

test('in live mode a new address waits a day; a lookalike is refused; one off the list is not paid', async () => {
  const { id: merchantId } = await api.addMerchant()
  const tenant = { merchantId, livemode: true }
  const { now } = api.time
  await creditLitecoin(api.database.owner, tenant, { units: LTC, now })
  await keepFees(api.database.owner, tenant, LTC / 10n, now)
  const allow = (address: string) =>
    withTransaction(api.database.owner, tenant, (tx) =>
      allowFeeDestination(tx, { livemode: true, asset: 'LTC', address, name: 'x', by: 'opr_a', now }),
    )
  const address = randomLitecoinAddress('main')
  const added = await allow(address)
  if (added.kind !== 'added') throw new Error(added.kind)
  expect((await allow(address)).kind).toBe('listed')
  expect((await allow(`${address.slice(0, 12)}${'q'.repeat(20)}${address.slice(-8)}`)).kind).toBe('lookalike')
  const request = (at: Date) =>
    requestPayoutAlone(api.database.owner, {
      tenant,
      source: 'fees',
      destinationId: added.destination.id,
      amount: null,
      asset: null,
      by: 'opr_a',
      dailyLimits: {},
      requestId: 'req_test',
      now: at,
    })
  expect((await request(now)).kind).toBe('not_usable')
  const later = new Date(now.getTime() + 24 * 3_600_000)
  await api.database.owner.query('update network_fee set updated_at = $1', [later])
  const asked = await request(later)
  if (asked.kind !== 'requested') throw new Error(asked.kind)
  await removeFeeDestination(api.database.owner, added.destination.id, { by: 'opr_b', now: later })
  const decided = await decidePayout(
    { ...api.deps, pool: api.database.owner, clock: () => later },
    {
      tenant,
      source: 'fees',
      payoutId: asked.payout.id,
      decision: 'approve',
      by: 'opr_b',
      requestId: 'req_test',
    },
  )
  expect(decided.kind).toBe('destination_removed')
})

test('a merchant neither sees nor decides on a payout of fees, by API or with the API’s own database role', async () => {
  const { id: merchantId } = await api.addMerchant()
  const tenant = { merchantId, livemode: false }
  const { now } = api.time
  await creditLitecoin(api.database.owner, tenant, { units: LTC, now })
  await keepFees(api.database.owner, tenant, LTC / 10n, now)
  const address = randomLitecoinAddress('regtest')
  const asked = await askForFees(api.database, tenant, { asset: 'LTC', address, now })
  if (asked.kind !== 'requested') throw new Error(asked.kind)
  const { id } = asked.payout
  const { key } = await api.addKey(merchantId, false, SCOPES)
  for (const route of ROUTES.filter(({ method, path }) => method === 'get' && !path.includes(':id'))) {
    const { text } = await api.call('GET', route.path, { key })
    expect(text.includes(id) || text.includes(address) || text.includes('fees_reserved'), route.path).toBe(
      false,
    )
  }
  for (const [method, path] of [
    ['GET', `/payouts/${id}`],
    ['POST', `/payouts/${id}/approve`],
    ['POST', `/payouts/${id}/reject`],
  ] as const) {
    const answer = await api.call(method, path, { key })
    expect([path, answer.status, answer.body.error.code]).toEqual([path, 404, 'not_found'])
  }
  const toList = await api.call('POST', '/payouts', {
    key,
    body: { destination_id: asked.payout.destinationId, amount: '0.1' },
  })
  expect([toList.status, toList.body.error.code]).toEqual([404, 'not_found'])
  const asApi = (sql: string, values: unknown[] = []) =>
    withTransaction(api.database.pools.api, tenant, (tx) => tx.query(sql, values))
  expect((await asApi(`update payout set status = 'approved' where id = $1`, [id])).rowCount).toBe(0)
  await expect(
    asApi(
      `insert into payout_approval (merchant_id, payout_id, livemode, approver, digest, signature, created_at)
       values ($1, $2, false, 'x', $3, $4, now())`,
      [merchantId, id, Buffer.alloc(32), Buffer.alloc(64)],
    ),
  ).rejects.toThrow(/row-level security/)
  await expect(
    asApi(
      `insert into payout (merchant_id, id, livemode, status, asset, network, amount, network_fee, network_fee_max,
         fee_destination_id, destination, requested_by, created_at, source)
       select merchant_id, id || 'x', livemode, status, asset, network, amount, network_fee, network_fee_max,
         fee_destination_id, destination, requested_by, created_at, source from payout where id = $1`,
      [id],
    ),
  ).rejects.toThrow(/row-level security/)
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
    const { [role]: pool } = api.database.pools
    await expect(pool.query('select * from operator')).rejects.toThrow(/permission denied/)
    await expect(pool.query(`update fee_destination set address = ''`)).rejects.toThrow(/permission denied/)
    await expect(pool.query('delete from fee_destination')).rejects.toThrow(/permission denied/)
  }
  // The second wall: no payout takes fees that are not there, whoever writes it.
  await expect(
    withTransaction(api.database.owner, tenant, (tx) =>
      insertLedgerTransfers(tx, tenant, [
        {
          id: 'payout:po_x:reserve',
          kind: 'payout',
          invoiceId: null,
          paymentId: null,
          asset: 'LTC',
          from: 'fees',
          to: 'fees_reserved',
          amount: 1n,
          usdCents: null,
          createdAt: now,
        },
      ]),
    ),
  ).rejects.toThrow(/takes more than the fees/)
})
