import { appendFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Spender, UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import { PayoutJournal } from '../../src/payouts/sign/payout-journal.ts'
import { signPayouts } from '../../src/payouts/sign/sign-payouts.ts'
import { acceptLostPayout } from '../../src/payouts/store/lost-payouts.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

const LTC = 100_000_000n

test('a payout of several coins is signed, sent once and confirmed; ledger, coins and chain agree exactly', async () => {
  const tenant = await world.openShop([LTC, LTC / 2n, LTC / 4n])
  const payout = await world.payout(tenant, '1.2')
  await world.sign()
  const tracker = world.tracker()
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  await world.money.mine(1)
  await tracker.pass()
  const done = await world.load(tenant, payout.id)
  expect(done.status).toBe('confirmed')
  expect(await world.paidTo(payout.destination)).toEqual([done.amount - done.networkFee])
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
  const { available, reserved } = await world.balances(tenant)
  expect({ available, reserved }).toEqual({ available: (LTC * 175n) / 100n - 120_000_000n, reserved: 0n })
  expect(await world.coinsOnChain(tenant)).toBe(available)
})

test('change of a confirmed payout is paid out next, until nothing is left', async () => {
  const tenant = await world.openShop([LTC])
  const tracker = world.tracker()
  for (const amount of ['0.3', '0.3', '0.4']) {
    const payout = await world.payout(tenant, amount)
    await world.sign()
    await tracker.pass()
    await world.money.mine(1)
    await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    expect(await world.paidTo(payout.destination)).toHaveLength(1)
  }
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await world.coinsOnChain(tenant)).toBe(0n)
  const { rows } = await world.database.owner.query<{ program: Buffer; amount: bigint }>(
    'select program, amount from payout_change where merchant_id = $1',
    [tenant.merchantId],
  )
  expect(rows).toHaveLength(2)
  for (const { program, amount } of rows)
    expect(await world.paidTo(encodeAddress(world.parameters.hrp, program))).toEqual([amount])
})

test('a look asks the database as often, however many payouts were confirmed lately', async () => {
  const tenant = await world.openShop([LTC, LTC, LTC, LTC])
  const tracker = world.tracker()
  const confirmMore = async (amounts: readonly string[]) => {
    for (const amount of amounts) await world.payout(tenant, amount)
    await world.sign()
    await tracker.pass()
    await world.money.mine(1)
    await tracker.pass()
  }
  const asked = async (): Promise<number> => {
    const connect = vi.spyOn(world.database.pools.watcher, 'connect')
    try {
      await tracker.pass()
      return connect.mock.calls.length
    } finally {
      connect.mockRestore()
    }
  }
  await confirmMore(['0.9'])
  const before = await asked()
  await confirmMore(['0.9', '0.9', '0.9'])
  expect(await asked()).toBe(before)
  expect(before).toBeGreaterThan(0)
})

test('change of which a lost journal knows nothing is paid out: its signatures say whose it is', async () => {
  const tenant = await world.openShop([LTC])
  const tracker = world.tracker()
  const pay = async (amount: string) => {
    const payout = await world.payout(tenant, amount)
    await world.sign()
    await tracker.pass()
    await world.money.mine(1)
    await tracker.pass()
    return (await world.load(tenant, payout.id)).status
  }
  expect([await pay('0.3'), await pay('0.3')]).toEqual(['confirmed', 'confirmed'])
  await rename(join(world.folder, 'payouts.jsonl'), join(world.folder, 'lost'))
  expect(await pay('0.4')).toBe('confirmed')
  expect(await world.coinsOnChain(tenant)).toBe(0n)
  await rename(join(world.folder, 'lost'), join(world.folder, 'payouts.jsonl'))
})

const MUTATIONS: readonly (readonly [string, string])[] = [
  ['destination', `destination = 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k5rn2vy'`],
  ['amount', 'amount = amount + 1'],
  ['asset', `asset = 'BTC'`],
  ['highest fee', 'network_fee_max = network_fee_max + 1'],
  ['destination, to one of two lines,', `destination = E'a\\namount 5'`],
]

test.each(MUTATIONS)(
  'a payout whose %s was changed after approval fails unsigned, with an alarm; all its money returns',
  async (_what, change) => {
    const tenant = await world.openShop([LTC])
    const payout = await world.payout(tenant, '0.5')
    await world.database.owner.query(`update payout set ${change} where id = $1`, [payout.id])
    await world.sign()
    await world.endRefused()
    const { rows } = await world.database.owner.query(
      'select status, failure_code from payout where id = $1',
      [payout.id],
    )
    expect(rows[0]).toEqual({ status: 'failed', failure_code: 'approval_invalid' })
    expect(
      world.logged.some((line) => line.includes(payout.id) && line.includes('not what was approved')),
    ).toBe(true)
    const { rows: signed } = await world.database.owner.query(
      'select from payout_transaction where payout_id = $1',
      [payout.id],
    )
    expect(signed).toEqual([])
    const { rows: balances } = await world.database.owner.query(
      `select asset, account, balance from ledger_balance where merchant_id = $1 and account in ('available', 'reserved')`,
      [tenant.merchantId],
    )
    const standing = Object.fromEntries(balances.map((row) => [`${row.asset} ${row.account}`, row.balance]))
    expect(standing).toEqual({ 'LTC available': LTC, 'LTC reserved': 0n })
  },
)

test('an approval that somebody wrote into the database without the API’s key is refused, and so is none', async () => {
  const tenant = await world.openShop([LTC, LTC])
  const forged = await world.request(tenant, '0.5')
  const bare = await world.request(tenant, '0.5')
  const { createHash, generateKeyPairSync, sign } = await import('node:crypto')
  const { approvalText } = await import('../../src/core/payout/approval-text.ts')
  const digest = createHash('sha256').update(approvalText(forged)).digest()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { owner } = world.database
  await owner.query(
    `insert into payout_approval (merchant_id, payout_id, livemode, approver, digest, signature, created_at)
     values ($1, $2, false, 'thief', $3, $4, now())`,
    [tenant.merchantId, forged.id, digest, sign(null, digest, privateKey)],
  )
  const thiefs = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  await owner.query('update payout_approval_key set public_key = $1', [thiefs])
  await owner.query(`update payout set status = 'approved' where id = any($1)`, [[forged.id, bare.id]])
  await world.sign()
  await world.endRefused()
  for (const { id } of [forged, bare]) {
    expect(await world.load(tenant, id)).toMatchObject({ status: 'failed', failureCode: 'approval_invalid' })
  }
})

test('a payout that a reorganisation took out of its block is sent again in the same bytes, and paid once', async () => {
  const tenant = await world.openShop([LTC])
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  const tracker = world.tracker()
  await tracker.pass()
  await world.money.mine(1)
  await tracker.pass()
  const { txid } = await world.load(tenant, payout.id)
  await money.sandbox.client.reorganiseAway(String(txid))
  expect(await world.paidTo(payout.destination)).toEqual([])
  await tracker.pass()
  await world.sign()
  await money.sandbox.client.release(String(txid))
  await world.money.mine(1)
  await tracker.pass()
  expect(await world.paidTo(payout.destination)).toHaveLength(1)
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid })
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
})

test('a payout that waits too long is signed again for a higher fee within its approval, and paid once', async () => {
  const tenant = await world.openShop([LTC])
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  const tracker = world.tracker()
  await tracker.pass()
  const first = await world.load(tenant, payout.id)
  world.now = new Date(world.now.getTime() + 31 * 60_000)
  await tracker.pass()
  await world.database.owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [
    world.network,
  ])
  await world.sign()
  await world.sign()
  await tracker.pass()
  const second = await world.load(tenant, payout.id)
  expect(second.txid).not.toBe(first.txid)
  expect(second.networkFee).toBeGreaterThan(first.networkFee)
  expect(second.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
  await world.money.mine(1)
  await tracker.pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: second.txid })
  expect(await world.paidTo(payout.destination)).toEqual([payout.amount - second.networkFee])
  const { available } = await world.balances(tenant)
  expect(await world.coinsOnChain(tenant)).toBe(available)
})

test('a database set back to before the signing gets the same bytes again: nothing is signed twice', async () => {
  const tenant = await world.openShop([LTC, LTC])
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  const tracker = world.tracker()
  await tracker.pass()
  const first = await world.load(tenant, payout.id)
  const { owner } = world.database
  for (const table of ['payout_change', 'payout_input', 'payout_transaction']) {
    await owner.query(`delete from ${table} where payout_id = $1`, [payout.id])
  }
  await owner.query(
    `update payout set status = 'approved', txid = null, submitted_at = null, network_fee = $2, event_count = 2 where id = $1`,
    [payout.id, payout.networkFee],
  )
  await owner.query(
    `delete from event_awaiting where event_id in (select id from event where resource_id = $1 and sequence = 3)`,
    [payout.id],
  )
  await owner.query(`delete from event where resource_id = $1 and sequence = 3`, [payout.id])
  await world.sign()
  await world.tracker().pass()
  await world.money.mine(1)
  await world.tracker().pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: first.txid })
  expect(await world.paidTo(payout.destination)).toHaveLength(1)
})

test('a journal older than the database signs nothing twice, logs each fault once, and pays once', async () => {
  const tenant = await world.openShop([LTC, LTC])
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  const { rm } = await import('node:fs/promises')
  await rm(`${world.folder}/payouts.jsonl`)
  const tracker = world.tracker()
  const signer = await world.signer()
  // So long that what waits is signed again for a higher fee.
  for (let half = 0; half < 3; half++) {
    await signPayouts(signer)
    world.now = new Date(world.now.getTime() + 31 * 60_000)
    await world.database.owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [
      world.network,
    ])
  }
  const signed = await world.database.owner.query('select from payout_transaction where payout_id = $1', [
    payout.id,
  ])
  expect(signed.rowCount).toBe(1)
  const alarms = (words: string) =>
    world.logged.filter((line) => line.includes(payout.id) && line.includes(words)).length
  expect([alarms('not in the journal'), alarms('not what was approved')]).toEqual([1, 0])
  const add = (units: number) =>
    world.database.owner.query('update payout set amount = amount + $2 where id = $1', [payout.id, units])
  await add(1)
  for (let turn = 0; turn < 2; turn++) await signPayouts(signer)
  expect([alarms('not in the journal'), alarms('not what was approved')]).toEqual([1, 1])
  await add(-1)
  await tracker.pass()
  await world.money.mine(1)
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
  expect(await world.paidTo(payout.destination)).toHaveLength(1)
})

test('of two signers at once one signs, and the other writes nothing beside it', async () => {
  const tenant = await world.openShop([LTC])
  const payout = await world.payout(tenant, '0.5')
  // The first has lost its lock in the middle of a turn and does not know it yet; the second works at another fee.
  const slow = world.sign({
    reached: async (point) => {
      if (point !== 'before_journal') return
      await world.database.owner.query('update network_fee set milli_per_vbyte = milli_per_vbyte + 1000')
      await world.sign()
    },
  })
  await expect(slow).rejects.toThrow('another process has written to')
  const entries = (await PayoutJournal.open(world.folder, 'reads')).entriesOf(payout.id)
  expect(entries).toHaveLength(1)
  const { rows } = await world.database.owner.query(
    'select txid from payout_transaction where payout_id = $1',
    [payout.id],
  )
  expect(rows).toEqual([{ txid: entries[0]?.txid }])
  await world.tracker().pass()
  await world.money.mine(1)
  await world.tracker().pass()
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
})

test('of signers that write to the journal at once only the first has signed; the others hold up nothing', async () => {
  const tenant = await world.openShop([LTC])
  const { owner } = world.database
  const first = await world.request(tenant, '0.4')
  world.now = new Date(world.now.getTime() + 1_000)
  const other = await world.payout(tenant, '0.4')
  const path = join(world.folder, 'payouts.jsonl')
  // Each writes where the journal ended when it looked, and sees only then that it was not alone.
  await appendFile(path, '', { mode: 0o600 })
  const before = await readFile(path)
  const written = async (): Promise<Buffer> => {
    const stopped = world.sign({
      reached: (point) => (point === 'after_journal' ? Promise.reject(new Error('cut')) : Promise.resolve()),
    })
    await expect(stopped).rejects.toThrow('cut')
    const line = (await readFile(path)).subarray(before.length)
    await writeFile(path, before)
    return line
  }
  const lines = [await written()]
  await world.approve(tenant, first.id)
  await owner.query('update network_fee set milli_per_vbyte = 2000 where network = $1', [world.network])
  lines.push(await written())
  await owner.query('update network_fee set milli_per_vbyte = 1000 where network = $1', [world.network])
  await world.sign()
  for (const line of lines) await appendFile(path, line)
  world.now = new Date(world.now.getTime() + 31 * 60_000)
  const tracker = world.tracker()
  await tracker.pass()
  await owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [world.network])
  await world.sign()
  const signed = 'select number from payout_transaction where payout_id = $1 order by number'
  expect((await owner.query(signed, [first.id])).rows).toEqual([{ number: 1 }, { number: 2 }])
  for (let block = 0; block < 3; block++) {
    await tracker.pass()
    await world.money.mine(1)
    await world.sign()
  }
  await tracker.pass()
  for (const payout of [first, other]) {
    const { status, amount, networkFee } = await world.load(tenant, payout.id)
    expect(status).toBe('confirmed')
    expect(await world.paidTo(payout.destination)).toEqual([amount - networkFee])
  }
  // A line that stands elsewhere than it was written, and not for that reason, is damage.
  const content = await readFile(path)
  await writeFile(path, Buffer.concat([content, content]))
  await expect(PayoutJournal.open(world.folder)).rejects.toThrow('is damaged')
  await writeFile(path, content)
})

test('coins that a forgotten payout spends are given to no other', async () => {
  const tenant = await world.openShop([LTC, LTC / 2n])
  const forgotten = await world.payout(tenant, '0.6')
  await world.sign()
  const { owner } = world.database
  // As in a backup from before it was asked for, but for the ledger, which nobody may cut.
  for (const table of ['payout_change', 'payout_input', 'payout_transaction', 'payout_approval', 'payout']) {
    await owner.query(`delete from ${table} where ${table === 'payout' ? 'id' : 'payout_id'} = $1`, [
      forgotten.id,
    ])
  }
  await acceptLostPayout(owner, { id: forgotten.id, network: world.network }, world.now)
  const next = await world.payout(tenant, '0.3')
  await world.sign()
  const { rows } = await owner.query<{ raw: Buffer }>(
    'select raw from payout_transaction where payout_id = $1',
    [next.id],
  )
  const lines = (await readFile(`${world.folder}/payouts.jsonl`, 'utf8')).trim().split('\n')
  const inputsOf = (id: string): string[] =>
    lines
      .map((line) => JSON.parse(line))
      .filter((entry) => entry.payout_id === id)
      .flatMap((entry) => entry.inputs.map((input: { txid: string }) => input.txid))
  expect(rows).toHaveLength(1)
  expect(inputsOf(next.id).filter((txid) => inputsOf(forgotten.id).includes(txid))).toEqual([])
})

test('a payout that a restored database forgot comes back from the journal, also from lines cut short', async () => {
  const tenant = await world.openShop([LTC, LTC])
  const restore = await world.backUp()
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  await world.tracker().pass()
  await restore()
  const again = await world.payout(tenant, '0.5')
  await world.sign()
  await world.tracker().pass()
  expect((await world.load(tenant, again.id)).status).toBe('approved')
  // As a line of an earlier release, and as one that somebody changed.
  const path = `${world.folder}/payouts.jsonl`
  const journal = await readFile(path, 'utf8')
  // Nor did that one say where a line stands.
  const earlier = journal.replaceAll(/"at":\d+,?/g, '').replaceAll(',}', '}')
  const changed = (change: (line: { payout_id: string; intent?: { amount: string } }) => unknown) =>
    earlier
      .split('\n')
      .map((line) => (line.includes(payout.id) ? JSON.stringify(change(JSON.parse(line))) : line))
      .join('\n')
  await writeFile(
    path,
    changed(({ intent: _, ...line }) => line),
  )
  expect(await world.recover()).toEqual({ [payout.id]: 'unknown' })
  await writeFile(
    path,
    changed((line) => ({ ...line, intent: { ...line.intent, amount: '1' } })),
  )
  expect(await world.recover()).toEqual({ [payout.id]: 'unknown' })
  await writeFile(path, journal)
  expect(await world.recover()).toEqual({ [payout.id]: 'recovered' })
  for (let turn = 0; turn < 3; turn++) {
    await world.sign()
    await world.tracker().pass()
    await world.money.mine(1)
  }
  for (const { id, destination } of [payout, again]) {
    const done = await world.load(tenant, id)
    expect(done.status).toBe('confirmed')
    expect(await world.paidTo(destination)).toEqual([done.amount - done.networkFee])
  }
  const { available, reserved } = await world.balances(tenant)
  expect({ available, reserved }).toEqual({ available: LTC, reserved: 0n })
  expect(await world.coinsOnChain(tenant)).toBe(available)
}, 120_000)

test('a payout brought back from the journal is signed again for a higher fee while it matches the journal', async () => {
  const tenant = await world.openShop([LTC])
  const restore = await world.backUp()
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  await restore()
  expect(await world.recover()).toEqual({ [payout.id]: 'recovered' })
  world.logged.length = 0
  await world.sign()
  expect(world.logged.join('')).not.toContain('not what was approved')
  const { owner } = world.database
  const signed = async () =>
    (await owner.query('select from payout_transaction where payout_id = $1', [payout.id])).rowCount
  world.now = new Date(world.now.getTime() + 31 * 60_000)
  const tracker = world.tracker()
  await tracker.pass()
  await owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [world.network])
  const raise = (by: number) =>
    owner.query('update payout set network_fee_max = network_fee_max + $2 where id = $1', [payout.id, by])
  await raise(1)
  await world.sign()
  expect([await signed(), world.logged.join('')]).toEqual([
    1,
    expect.stringContaining('not what was approved'),
  ])
  await raise(-1)
  const first = await world.load(tenant, payout.id)
  await world.sign()
  expect(await signed()).toBe(2)
  await tracker.pass()
  await world.money.mine(1)
  await tracker.pass()
  const done = await world.load(tenant, payout.id)
  expect(done.status).toBe('confirmed')
  expect(done.txid).not.toBe(first.txid)
  expect(done.networkFee).toBeGreaterThan(first.networkFee)
  expect(done.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
  expect(await world.paidTo(payout.destination)).toEqual([payout.amount - done.networkFee])
  expect(await world.coinsOnChain(tenant)).toBe((await world.balances(tenant)).available)
})

test('a payout dies only when its coin is spent elsewhere, deep enough; then its money and coins are free', async () => {
  const tenant = await world.openShop([LTC, LTC / 2n])
  const payout = await world.payout(tenant, '1.2')
  await world.sign()
  let spender: Spender | null = null
  const tracker = world.tracker((chain) => ({
    hasBlock: (block) => chain.hasBlock(block),
    feeRate: () => chain.feeRate(),
    tipHeight: () => chain.tipHeight(),
    find: (sought) => chain.find(sought),
    spenderOf: async () => spender,
    hasInBlock: (txid, block) => chain.hasInBlock(txid, block),
    staleTransactions: (txid, height) => chain.staleTransactions(txid, height),
    broadcast: async () => ({ kind: 'lacks_inputs' }),
    // Of the two coins one was spent by somebody who has the seed, too.
    isUnspent: async (txid, index) => {
      const { rows } = await world.database.owner.query<{ amount: bigint }>(
        'select amount from transfer where txid = $1 and output_index = $2',
        [txid, index],
      )
      return rows[0]?.amount !== LTC
    },
  }))
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await world.money.mine(1)
  await tracker.pass()
  await world.sign()
  await tracker.pass()
  // While no block shows by what, it may be a transaction of ours that the books have forgotten.
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(world.logged.join('')).toContain('no block of the node shows by what')
  spender = { txid: 'ff'.repeat(32), outputs: [], sequences: [], lockTime: 0 }
  await tracker.pass()
  await world.sign()
  await tracker.pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'input_spent_elsewhere',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: (LTC * 3n) / 2n, reserved: 0n })
  expect(await world.coinsOnChain(tenant)).toBe(LTC / 2n)
})

test('a payout whose row allows less than the fee that it was signed at is an alarm, and holds up no other', async () => {
  const [changed, other] = [await world.openShop([LTC]), await world.openShop([LTC])]
  const payouts = [await world.payout(changed, '0.5'), await world.payout(other, '0.5')] as const
  await world.sign()
  await world.database.owner.query('update payout set network_fee = 1, network_fee_max = 1 where id = $1', [
    payouts[0].id,
  ])
  const tracker = world.tracker()
  await tracker.pass()
  await tracker.pass()
  expect((await world.load(changed, payouts[0].id)).status).toBe('approved')
  expect((await world.load(other, payouts[1].id)).status).toBe('submitted')
  const alarms = world.logged.filter((line) => line.includes(payouts[0].id) && line.includes('contradicts'))
  expect(alarms).toHaveLength(1)
  await world.money.mine(1)
  await tracker.pass()
  expect((await world.load(other, payouts[1].id)).status).toBe('confirmed')
  expect(await world.paidTo(payouts[0].destination)).toHaveLength(1)
  expect(await world.balances(changed)).toMatchObject({ reserved: LTC / 2n })
})

test('more than one transaction holds is refused; if coins leave later, the payout fails and gives back', async () => {
  const tenant = await world.openShop([LTC])
  const { owner } = world.database
  await owner.query(
    `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
       first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
       announced_review, ledger_bucket, ledger_postings)
     select merchant_id, id || n, livemode, invoice_id, network, encode(sha256((id || n)::bytea), 'hex'), n, asset, 100000,
       status, first_seen_at, detected_at, confirmed_at, 1, false, false, true, false, 'available', 1
     from transfer, generate_series(1, 1500) as n where merchant_id = $1`,
    [tenant.merchantId],
  )
  const from = { kind: 'deposit', from: 'chain', to: 'available', invoiceId: null, paymentId: null } as const
  await withTransaction(owner, tenant, (tx) =>
    insertLedgerTransfers(tx, tenant, [
      {
        ...from,
        id: `dep:${tenant.merchantId}`,
        asset: 'LTC',
        amount: 150_000_000n,
        usdCents: null,
        createdAt: world.now,
      },
    ]),
  )
  const wanted = { asset: 'LTC', address: world.newAddress() } as const
  expect(await world.ask(tenant, { ...wanted, amount: '2.5' })).toMatchObject({
    kind: 'invalid',
    param: 'amount',
    message: expect.stringContaining('1.9989454 LTC'),
  })
  const first = await world.payout(tenant, '1')
  world.now = new Date(world.now.getTime() + 1_000)
  const second = await world.payout(tenant, '1.4')
  await world.sign()
  await world.tracker().pass()
  await world.money.mine(1)
  await world.tracker().pass()
  expect((await world.load(tenant, first.id)).status).toBe('confirmed')
  await world.endRefused()
  expect(await world.load(tenant, second.id)).toMatchObject({
    status: 'failed',
    failureCode: 'too_many_coins',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: 150_000_000n, reserved: 0n })
})

test('an approved payout whose deposit the chain takes back fails; one that a payment may cover waits', async () => {
  const tenant = await world.openShop([LTC, LTC / 2n])
  const { owner, pools } = world.database
  const payout = await world.payout(tenant, '1.2')
  type Row = { id: string; txid: string; output: number }
  const { rows } = await owner.query<Row>(
    'select invoice_id as id, txid, output_index as output from transfer where merchant_id = $1 and amount = $2',
    [tenant.merchantId, LTC],
  )
  const [deposit] = rows
  if (deposit === undefined) throw new Error('there is no deposit')
  const place = {
    network: world.network,
    asset: world.asset,
    txid: deposit.txid,
    outputIndex: deposit.output,
  }
  const tell = async (state: 'mempool' | 'reorged') => {
    const fact = {
      ...place,
      amount: LTC,
      minimumConfirmations: 1,
      firstSeenMs: 0,
      knownIn: 'x',
      state,
    } as const
    const deps = { pool: pools.watcher, clock: () => world.now }
    await recordTransfers(deps, { tenant, invoiceId: deposit.id, facts: [fact], tipHeight: 0 })
  }
  // As the watcher records it: in a block, which then is gone.
  await owner.query(`update transfer set block_hash = 'x', block_time = now() where txid = $1`, [
    deposit.txid,
  ])
  await tell('mempool')
  await world.endRefused()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await tell('reorged')
  await world.sign()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'insufficient_funds',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: LTC / 2n, reserved: 0n, shortfall: 0n })
  expect(await world.coinsOnChain(tenant)).toBe(LTC / 2n)
})

test('however many payouts of one merchant wait, the next merchant’s is signed', async () => {
  const [many, other] = [await world.openShop([LTC]), await world.openShop([LTC])]
  const first = await world.payout(many, '0.5')
  // More than one turn looks at.
  await world.database.owner.query(
    `insert into payout (merchant_id, id, livemode, status, asset, network, amount, network_fee, network_fee_max,
       destination_id, destination, requested_by, approved_by, approved_at, created_at)
     select merchant_id, id || '_' || n, livemode, status, asset, network, amount, network_fee, network_fee_max,
       destination_id, destination, requested_by, approved_by, approved_at, created_at
     from payout, generate_series(1, 510) as n where id = $1`,
    [first.id],
  )
  // Ids sort by time.
  world.now = new Date(world.now.getTime() + 1_000)
  await world.database.owner.query(
    `insert into payout_refusal (merchant_id, payout_id, livemode, code, created_at)
     select merchant_id, id, livemode, 'x', now() from payout where merchant_id = $1 and id <> $2`,
    [many.merchantId, first.id],
  )
  const payout = await world.payout(other, '0.5')
  await world.sign()
  const { rows } = await world.database.owner.query('select from payout_transaction where payout_id = $1', [
    payout.id,
  ])
  expect(rows).toHaveLength(1)
  await world.database.owner.query('delete from payout_refusal where merchant_id = $1', [many.merchantId])
  await world.database.owner.query('delete from payout where merchant_id = $1 and id <> $2', [
    many.merchantId,
    first.id,
  ])
})

test('a payout that cannot be signed is one alarm, and holds up no other', async () => {
  const [bad, other] = [await world.openShop([LTC]), await world.openShop([LTC])]
  const payouts = [await world.payout(bad, '0.5'), await world.payout(other, '0.5')] as const
  const { owner } = world.database
  const setIndex = (change: string) =>
    owner.query(`update deposit_address set idx = ${change} where merchant_id = $1`, [bad.merchantId])
  // No key has such a number.
  await setIndex('-1 - idx')
  const signer = await world.signer()
  await signPayouts(signer)
  await signPayouts(signer)
  const signed = async () => {
    const { rows } = await owner.query<{ id: string }>(
      'select payout_id as id from payout_transaction where payout_id = any($1) order by array_position($1, payout_id)',
      [payouts.map(({ id }) => id)],
    )
    return rows.map(({ id }) => id)
  }
  expect(await signed()).toEqual([payouts[1].id])
  expect(world.logged.filter((line) => line.includes('what is to be signed cannot be'))).toHaveLength(1)
  await setIndex('-1 - idx')
  await signPayouts(signer)
  expect(await signed()).toEqual([payouts[0].id, payouts[1].id])
})

test('a payout that cannot be followed is one alarm, and holds up no other', async () => {
  const [bad, other] = [await world.openShop([LTC]), await world.openShop([LTC])]
  const payouts = [await world.payout(bad, '0.5'), await world.payout(other, '0.5')] as const
  await world.sign()
  const { owner } = world.database
  await owner.query(`create function refuse_change() returns trigger language plpgsql as $$
    begin raise exception 'this row is spoiled'; end $$`)
  await owner.query(`create trigger refuse_change before update on payout for each row
    when (old.id = '${payouts[0].id}') execute function refuse_change()`)
  const tracker = world.tracker()
  await tracker.pass()
  await tracker.pass()
  const statuses = async () => [
    (await world.load(bad, payouts[0].id)).status,
    (await world.load(other, payouts[1].id)).status,
  ]
  expect(await statuses()).toEqual(['approved', 'submitted'])
  expect(world.logged.filter((line) => line.includes('a payout cannot be followed'))).toHaveLength(1)
  await owner.query('drop trigger refuse_change on payout')
  await tracker.pass()
  expect(await statuses()).toEqual(['submitted', 'submitted'])
})

test('a payout whose blocks the node has pruned is an alarm, and holds up no other', async () => {
  const proxy = await startRpcProxy(world.money.rpcUrl)
  const rpc = new RpcClient(proxy.url, 'the test')
  const [old, young] = [await world.openShop([LTC]), await world.openShop([LTC])]
  const { hash: pruned } = await world.watch()
  const first = await world.payout(old, '0.5')
  await world.sign()
  await world.tracker().pass()
  await world.money.mine(1)
  const { height } = await world.watch()
  const second = await world.payout(young, '0.5')
  await world.sign()
  proxy.lie('getblock', (told, { params }) => {
    if (params[0] === pruned) throw new Error('Block not available (pruned data)')
    return told
  })
  const tracker = world.trackerOf([{ name: 'pruned', chain: new UtxoPayoutClient(rpc, 'test') }])
  for (let pass = 0; pass < 2; pass++) {
    await tracker.pass()
    await world.money.mine(1)
  }
  await tracker.pass()
  expect((await world.load(young, second.id)).status).toBe('confirmed')
  expect((await world.load(old, first.id)).status).toBe('submitted')
  const alarms = world.logged.filter((line) => line.includes(first.id) && line.includes('pruned'))
  expect(alarms).toHaveLength(1)
  // Nor does it where the node that would be asked in its place is away.
  const late = await world.openShop([LTC])
  const third = await world.payout(late, '0.5')
  await world.sign()
  await world.database.owner.query('update network_state set height = $1', [height])
  await world.database.owner.query('update network_state set hash = $2 where network = $1 and height = $3', [
    world.network,
    await world.rpc.callRaw('getblockhash', [height]),
    height,
  ])
  const nowhere = new RpcClient('http://127.0.0.1:9', 'the test')
  const alone = world.trackerOf([
    { name: 'pruned', chain: new UtxoPayoutClient(rpc, 'test') },
    { name: 'away', chain: new UtxoPayoutClient(nowhere, 'test') },
  ])
  await expect(alone.pass()).rejects.toThrow()
  await alone.pass()
  expect((await world.load(late, third.id)).status).toBe('submitted')
  await nowhere.close()
  // Another node that keeps them is asked in its place.
  const both = world.trackerOf([
    { name: 'pruned', chain: new UtxoPayoutClient(rpc, 'test') },
    { name: 'whole', chain: new UtxoPayoutClient(world.rpc, 'test') },
  ])
  await both.pass()
  await world.money.mine(1)
  await both.pass()
  expect((await world.load(old, first.id)).status).toBe('confirmed')
  await rpc.close()
  await proxy.close()
})

test('with one node away a payout goes through the second; it is confirmed or given up only by both', async () => {
  const proxy = await startRpcProxy(world.money.rpcUrl)
  const rpcs = [new RpcClient('http://127.0.0.1:9', 'the test'), new RpcClient(proxy.url, 'the test')]
  const [dead, proxied] = rpcs.map((rpc) => new UtxoPayoutClient(rpc, 'test'))
  if (dead === undefined || proxied === undefined) throw new Error('no payout clients')
  const honest = new UtxoPayoutClient(world.rpc, 'test')
  const trackerOf = (first: UtxoPayoutClient, second: UtxoPayoutClient) =>
    world.trackerOf([
      { name: 'first', chain: first },
      { name: 'second', chain: second },
    ])
  const watch = async () => {
    const height = await honest.tipHeight()
    const hash = await world.rpc.callRaw('getblockhash', [height])
    await world.database.owner.query('update network_state set height = $1, hash = $2', [height, hash])
  }
  const tenant = await world.openShop([LTC])
  await watch()
  const payout = await world.payout(tenant, '0.5')
  await world.sign()
  await trackerOf(dead, proxied).pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  await world.money.mine(1)
  await watch()
  // A node that never heard of the payout, and says that something else spent its coin.
  const txids = await world.database.owner.query<{ txid: string }>(
    'select txid from payout_transaction where payout_id = $1',
    [payout.id],
  )
  proxy.lie('getblock', (told, { params }) =>
    params[1] === 1
      ? {
          ...(told as object),
          tx: (told as { tx: string[] }).tx.filter((txid) => txid !== txids.rows[0]?.txid),
        }
      : told,
  )
  proxy.lie('sendrawtransaction', () => {
    throw new Error('bad-txns-inputs-missingorspent')
  })
  for (const second of [honest, dead]) {
    const tracker = trackerOf(proxied, second)
    for (let pass = 0; pass < 2; pass++) {
      await tracker.pass()
      await world.money.mine(1)
    }
    await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
    expect(await world.balances(tenant)).toMatchObject({ reserved: LTC / 2n })
  }
  expect(world.logged.join('')).toContain('it is not given up until all say so')
  await trackerOf(honest, dead).pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  // It has the payout's block, and says that the payout is not in it.
  await trackerOf(honest, proxied).pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  proxy.tellTheTruth()
  await trackerOf(honest, proxied).pass()
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
  const made = await world.payout(tenant, '0.25')
  await world.sign()
  await world.money.mine(1)
  await watch()
  const { rows } = await world.database.owner.query<{ txid: string }>(
    'select txid from payout_transaction where payout_id = $1',
    [made.id],
  )
  // A node that makes up a block's list of transactions, and that its coin is spent: nobody has sent this one.
  proxy.lie('gettxout', () => null)
  proxy.lie('getblock', (told, { params }) =>
    params[1] === 1 ? { ...(told as object), tx: [...(told as { tx: string[] }).tx, rows[0]?.txid] } : told,
  )
  const tracker = trackerOf(proxied, honest)
  for (let pass = 0; pass < 3; pass++) await tracker.pass()
  expect((await world.load(tenant, made.id)).status).toBe('submitted')
  expect(await world.paidTo(made.destination)).toEqual([])
  const waits = world.logged.filter(
    (line) => line.includes(made.id) && line.includes('waits for another provider to confirm'),
  )
  expect(waits).toHaveLength(1)
  await trackerOf(honest, proxied).pass()
  await world.money.mine(1)
  proxy.tellTheTruth()
  await trackerOf(honest, proxied).pass()
  expect((await world.load(tenant, made.id)).status).toBe('confirmed')
  for (const rpc of rpcs) await rpc.close()
  await proxy.close()
})

test('only the signer’s process can write what is signed; none can change an approval or what it approves', async () => {
  const { pools } = world.database
  const refused = (role: 'api' | 'watcher' | 'delivery' | 'signer', statement: string) =>
    expect(pools[role].query(statement), `${role}: ${statement}`).rejects.toThrow(/permission denied/)
  for (const role of ['api', 'watcher', 'delivery'] as const) {
    for (const table of [
      'payout_transaction',
      'payout_input',
      'payout_change',
      'payout_refusal',
      'sweep_transaction',
      'account_nonce',
    ]) {
      // The watcher gives up what a token's contract would refuse; a refusal moves no money.
      const mayRefuse = role === 'watcher' && table === 'payout_refusal'
      if (!mayRefuse) await refused(role, `insert into ${table} default values`)
      await refused(role, `update ${table} set livemode = true`)
    }
  }
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
    await refused(role, 'update sweep set amount = 1')
    await refused(role, `update sweep set address = ''`)
    await refused(role, 'delete from sweep_transfer')
    await refused(role, 'delete from account_nonce')
  }
  await refused('api', 'update hot_wallet set nonce = 0')
  await refused('signer', 'update hot_wallet set nonce = 0')
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
    await refused(role, 'update payout_approval set livemode = true')
    await refused(role, 'delete from payout_approval')
    await refused(role, 'update payout_approval_key set id = true')
    await refused(role, 'delete from payout_transaction')
  }
  await refused('api', 'update payout set amount = 1')
  await refused('api', `update payout set destination = ''`)
  for (const change of [`address = ''`, 'usable_at = created_at', 'removed_at = null, livemode = true'])
    await refused('api', `update payout_destination set ${change}`)
  await refused('signer', `update payout set status = 'approved'`)
})

// The last one: it takes signatures out of the journal again.
test('payouts signed in live mode, or for one merchant, never hold up test mode or another merchant', async () => {
  const [many, other] = [await world.openShop([LTC]), await world.openShop([LTC])]
  const path = join(world.folder, 'payouts.jsonl')
  const before = await readFile(path, 'utf8')
  const signed = JSON.parse(before.split('\n')[0] ?? '')
  const { owner } = world.database
  world.now = new Date(world.now.getTime() + 2 * 3_600_000)
  await world.tracker().pass()
  const first = await world.payout(many, '0.5')
  world.now = new Date(world.now.getTime() + 1_000)
  const second = await world.request(other, '0.5')
  const signBeside = async (network: string, count: number) => {
    const lines = Array.from({ length: count }, (_, place) => {
      const intent = { ...signed.intent, merchant_id: many.merchantId }
      const line = {
        ...signed,
        payout_id: `po_${network}${place}`,
        network,
        intent,
        inputs: [{ ...signed.inputs[0], output_index: place }],
      }
      return `${JSON.stringify({ ...line, at: undefined, signed_at: world.now.getTime() })}\n`
    })
    await writeFile(path, before + lines.join(''))
    await world.sign()
    const now = (await readFile(path, 'utf8')).slice((before + lines.join('')).length)
    await writeFile(path, before)
    for (const table of ['payout_transaction', 'payout_input', 'payout_change'])
      await owner.query(`delete from ${table} where payout_id = any($1)`, [[first.id, second.id]])
    return now
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).payout_id)
  }
  expect(await signBeside('bitcoin-live', 200)).toEqual([first.id])
  expect(world.logged.join('')).not.toContain('as many payouts were signed')
  await world.approve(other, second.id)
  expect(await signBeside('bitcoin-test', 150)).toEqual([second.id])
  expect(world.logged.filter((line) => line.includes('as many payouts were signed'))).toHaveLength(1)
  await owner.query('delete from lost_payout')
})
