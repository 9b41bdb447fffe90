import { getTransferSolInstruction } from '@solana-program/system'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { nonceOfTransaction } from '../../src/chain/solana/durable-nonce.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { NATIVE_MINT } from '../../src/core/chain/solana-mints.ts'
import { SOLANA_FEE_MIN } from '../../src/core/payout/solana-fee.ts'
import {
  openSignerAccounts,
  signerOf,
  signWithBlockhash,
  signWithNonce,
} from '../../src/payouts/sign/solana/solana-accounts.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { lever } from '../support/solana-payer.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const SOL = 1_000_000_000n
const HALF = SOL / 2n
/** A blockhash is good for 150 blocks. */
const LONG_AFTER = 400
const TURNS_MAX = 100

let world: SolanaPayoutWorld
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
})
afterAll(() => world?.close())

let proxy: RpcProxy | null = null
afterEach(async () => {
  await proxy?.close()
  proxy = null
})

/** A tracker that asks the node through a proxy. */
async function trackerOver(lying: RpcProxy) {
  const rpc = new SolanaRpc(lying.url, 'the test')
  return { tracker: world.tracker(world.broadcaster(rpc)), close: () => rpc.close() }
}

/** Turns until it is signed, without its being sent. */
async function untilSigned(payoutId: string) {
  for (let turn = 0; turn < 20; turn++) {
    await world.tracker().pass()
    await world.sign()
    const [signed] = await world.signedOf(payoutId)
    if (signed !== undefined) return signed
    await world.solana.mine(1)
    world.now = new Date(world.now.getTime() + 1_000)
  }
  throw new Error('it was not signed')
}

/** The watcher stands at the newest block. */
async function watch(): Promise<void> {
  const slot = await world.rpc.slot('confirmed')
  const { blockhash } = (await world.rpc.blockHead(slot)) ?? {}
  await world.database.owner.query('update network_state set height = $1, hash = $2', [slot, blockhash])
}

/** The node calls every transaction final, with this error if any. */
function callFinal(at: RpcProxy, err: string | null): void {
  const final = { slot: 1, confirmations: null, err, confirmationStatus: 'finalized' }
  at.lie('getSignatureStatuses', (told) => {
    const { value, ...rest } = told as { value: unknown[] }
    return { ...rest, value: value.map(() => final) }
  })
}

/** What the log says of a payout or a sweep that waits for another provider. */
const waitsOf = (id: string): string[] =>
  world.logged.filter((line) => line.includes(id) && line.includes('waits for another provider to confirm'))

/** Once, whole, and the same in the books as on the chain. */
async function expectPaidOnce(tenant: Tenant, payoutId: string): Promise<void> {
  const payout = await world.load(tenant, payoutId)
  expect(payout.status).toBe('confirmed')
  expect(await world.holds(payout.destination)).toBe(payout.amount - payout.networkFee)
  expect((await world.signedOf(payoutId)).map(({ txid }) => txid)).toEqual([payout.txid])
  expect(await world.balances(tenant)).toMatchObject({ reserved: 0n })
}

class Crash extends Error {}

test('before the chain is read nothing can be requested; an operator learns that the fee payer is empty', async () => {
  const tenant = await world.openShop([SOL])
  const refused = await world.ask(tenant, { asset: 'SOL', amount: '0.5', address: world.newAddress() })
  expect(refused.kind).toBe('unavailable')
  await world.turn()
  expect(world.logged.join('')).toContain('the fee payer of payouts on Solana runs low')
  await world.fund()
  expect((await world.signerAccounts()).reading?.feePayerLamports).toBe(SOL)
})

test('what twelve buyers paid is swept into the vault and paid out whole, once; the fee payer is paid back', async () => {
  const amounts = Array.from({ length: 12 }, (_, index) => SOL / 10n + BigInt(index))
  const tenant = await world.openShop(amounts)
  const total = amounts.reduce((sum, each) => sum + each, 0n)
  const payout = await world.payout(tenant, `1.${(total - SOL).toString().padStart(9, '0')}`)
  expect(payout).toMatchObject({ amount: total, networkFee: SOLANA_FEE_MIN })
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds(payout.destination)).toBe(total - SOLANA_FEE_MIN)
  expect(done.networkFee).toBe(SOLANA_FEE_MIN)
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  const { vault, reading } = await world.signerAccounts()
  expect(await world.holds(vault)).toBe(reading?.rentExempt)
  expect((await world.signedOf(payout.id)).map(({ txid }) => txid)).toEqual([done.txid])
})

test('many small deposits are swept batch by batch; another merchant’s sweep waits for one batch at most', async () => {
  const beingSwept = async () => {
    const { rows } = await world.database.owner.query<{ indexes: string[] }>(
      `select indexes::text[] from solana_chore where ended_at is null and kind = 'sweep'`,
    )
    return rows.flatMap(({ indexes }) => indexes)
  }
  const many = await world.openShop(Array.from({ length: 110 }, () => SOL / 100n))
  const large = await world.payout(many, '1.1')
  await world.tracker().pass()
  const batch = await beingSwept()
  expect(batch).toHaveLength(100)
  const few = await world.openShop([SOL])
  const small = await world.payout(few, '0.5')
  await world.tracker().pass()
  expect((await beingSwept()).filter((index) => !batch.includes(index))).toHaveLength(1)
  for (const { tenant, id } of [
    { tenant: few, id: small.id },
    { tenant: many, id: large.id },
  ]) {
    await world.until(tenant, id, 'confirmed')
    await expectPaidOnce(tenant, id)
  }
})

test('six payouts at once are each paid once, though fewer nonces carry them', async () => {
  const tenant = await world.openShop([SOL, SOL])
  const payouts = []
  for (let count = 0; count < 6; count++) payouts.push(await world.payout(tenant, '0.3'))
  for (const { id } of payouts) await world.until(tenant, id, 'confirmed')
  for (const { id } of payouts) await expectPaidOnce(tenant, id)
  const { rows } = await world.database.owner.query<{ raw: Buffer }>('select raw from payout_transaction')
  // Accounts that move on in one block hold the same value.
  const used = rows.map(({ raw }) => nonceOfTransaction(raw)).map(({ account, value }) => account + value)
  expect(new Set(used).size).toBe(used.length)
})

test('a payout is good for as long as it takes, and less than an address must hold cannot be asked for', async () => {
  const tenant = await world.openShop([SOL])
  const crumbs = await world.ask(tenant, { asset: 'SOL', amount: '0.0005', address: world.newAddress() })
  expect(crumbs.kind).toBe('too_small')
  const payout = await world.payout(tenant, '0.5')
  await untilSigned(payout.id)
  await world.solana.mine(LONG_AFTER)
  await world.until(tenant, payout.id, 'confirmed')
  await expectPaidOnce(tenant, payout.id)
})

test('a node that took the transaction and says that it failed, or nonsense, makes no second payment', async () => {
  const tenant = await world.openShop([SOL, SOL])
  const lies = [
    () => {
      throw new Error('Internal error')
    },
    () => 42,
  ]
  for (const [index, lie] of lies.entries()) {
    const payout = await world.payout(tenant, '0.5')
    await untilSigned(payout.id)
    proxy = await startRpcProxy(world.solana.url)
    proxy.lie('sendTransaction', lie)
    const { tracker, close } = await trackerOver(proxy)
    // An error is about this payout alone; what is no answer at all ends the look.
    if (index === 0) {
      await tracker.pass()
      expect(world.logged.filter((line) => line.includes(payout.id)).join('')).toContain('refuses a question')
    } else await expect(tracker.pass()).rejects.toThrow()
    await close()
    await proxy.close()
    proxy = null
    await world.until(tenant, payout.id, 'confirmed')
    await expectPaidOnce(tenant, payout.id)
  }
})

test.each(['before_journal', 'after_journal', 'after_commit'] as const)(
  'a signer that dies %s and the next one pay once, with the same bytes where any were signed',
  async (point) => {
    const tenant = await world.openShop([SOL])
    const payout = await world.payout(tenant, '0.5')
    let died = false
    for (let turn = 0; turn < 20 && !died; turn++) {
      await world.tracker().pass()
      const reached = async (at: string) => {
        if (at === point) throw new Crash(at)
      }
      died = await world.sign({ reached }).then(
        () => false,
        (error: unknown) => error instanceof Crash,
      )
      await world.solana.mine(1)
      world.now = new Date(world.now.getTime() + 1_000)
    }
    expect(died).toBe(true)
    expect(await world.signedOf(payout.id)).toHaveLength(point === 'after_commit' ? 1 : 0)
    await world.until(tenant, payout.id, 'confirmed')
    await expectPaidOnce(tenant, payout.id)
  },
)

test('a fork that takes a payout away, even when it was final, is answered with the same bytes', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  const { txid } = await world.until(tenant, payout.id, 'confirmed')
  await lever(world.solana.url, 'sandbox_drop', [txid])
  expect(await world.holds(payout.destination)).toBe(0n)
  await world.turn()
  await world.turn()
  await expectPaidOnce(tenant, payout.id)
})

test('a database that was set back learns of the payout that was made, and makes none again', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  const before = await untilSigned(payout.id)
  await world.tracker().pass()
  await world.solana.mine(1)
  await world.database.owner.query('delete from payout_transaction where payout_id = $1', [payout.id])
  await world.database.owner.query(
    `update payout set status = 'approved', txid = null, submitted_at = null where id = $1`,
    [payout.id],
  )
  await world.until(tenant, payout.id, 'confirmed')
  expect(await world.signedOf(payout.id)).toEqual([before])
  await expectPaidOnce(tenant, payout.id)
})

test('what is not what was approved is not signed, and its money comes back', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  const elsewhere = world.newAddress()
  await world.database.owner.query('update payout set destination = $2 where id = $1', [payout.id, elsewhere])
  const failed = await world.until(tenant, payout.id, 'failed')
  expect(failed.failureCode).toBe('approval_invalid')
  expect(await world.signedOf(payout.id)).toEqual([])
  expect(await world.holds(elsewhere)).toBe(0n)
  expect(await world.balances(tenant)).toMatchObject({ available: SOL, reserved: 0n })
})

test('a payout whose nonce was moved on elsewhere fails once that is final, and its money comes back', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  const { raw } = await untilSigned(payout.id)
  const feePayer = await signerOf(world.accounts.solana.signerAccountKey('solana-test', 'fee_payer'))
  const other = await signWithNonce(
    feePayer,
    [getTransferSolInstruction({ source: feePayer, destination: feePayer.address, amount: 1n })],
    nonceOfTransaction(raw),
  )
  await world.rpc.sendTransaction(other.raw)
  await lever(world.solana.url, 'sandbox_setlag', [0, 3])
  await world.solana.mine(1)
  const tracker = world.tracker()
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await world.solana.mine(3)
  await lever(world.solana.url, 'sandbox_setlag', [0, 0])
  // A node that no longer has what happened proves nothing by that.
  proxy = await startRpcProxy(world.solana.url)
  proxy.lie('getSignaturesForAddress', () => [])
  const asked = await trackerOver(proxy)
  await asked.tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  // Nor does a stranger's transaction, over a nonce of its own with the same value, that names ours.
  proxy.lie('getSignaturesForAddress', (told) => told)
  const stranger = world.newAddress()
  proxy.lie('getTransaction', (told) => {
    const { transaction, ...rest } = told as { transaction: { message: { accountKeys: string[] } } }
    const accountKeys = [stranger, ...transaction.message.accountKeys.slice(1)]
    return { ...rest, transaction: { ...transaction, message: { ...transaction.message, accountKeys } } }
  })
  await asked.tracker.pass()
  await asked.close()
  expect(proxy.calls).toContain('getTransaction')
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await tracker.pass()
  await world.sign()
  await tracker.pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'nonce_used_elsewhere',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: SOL, reserved: 0n })
})

test('a payout that the chain executed and that failed there is not sent again', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  await untilSigned(payout.id)
  proxy = await startRpcProxy(world.solana.url)
  callFinal(proxy, 'x')
  const { tracker, close } = await trackerOver(proxy)
  await tracker.pass()
  await close()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'failed_on_chain',
  })
  expect(proxy.calls).not.toContain('sendTransaction')
})

test('a payout that would fail on chain frees its nonce: after half an hour it runs, fails and gives back', async () => {
  const tenant = await world.openShop([SOL])
  const failing = await world.payout(tenant, '1')
  await untilSigned(failing.id)
  // What is missing from the vault now is missing when it is executed.
  const { reading, vault } = await world.signerAccounts()
  if (reading === null) throw new Error('nothing was read')
  const keys = await openSignerAccounts(world.accounts.solana, 'solana-test')
  const taken = (await world.holds(vault)) - reading.rentExempt
  const move = getTransferSolInstruction({
    source: keys.vault,
    destination: keys.feePayer.address,
    amount: taken,
  })
  const latest = await world.rpc.latestBlockhash()
  const { raw } = await signWithBlockhash(keys.feePayer, [move], { ...reading, ...latest })
  await world.rpc.sendTransaction(raw)
  const turns = async () => {
    for (let turn = 0; turn < 3; turn++) {
      await world.solana.mine(1)
      await world.tracker().pass()
    }
  }
  await turns()
  expect((await world.load(tenant, failing.id)).status).toBe('approved')
  world.now = new Date(world.now.getTime() + 31 * 60_000)
  await turns()
  expect(await world.load(tenant, failing.id)).toMatchObject({ failureCode: 'failed_on_chain' })
  expect(await world.holds(failing.destination)).toBe(0n)
  expect(await world.balances(tenant)).toMatchObject({ available: SOL, reserved: 0n })
  await world.solana.pay(vault, taken)
  await world.solana.mine(1)
  const next = await world.payout(tenant, '1')
  await world.until(tenant, next.id, 'confirmed')
  await expectPaidOnce(tenant, next.id)
})

test("with one node away SOL is paid through the second; one node's word on failed or final moves no money", async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  await untilSigned(payout.id)
  proxy = await startRpcProxy(world.solana.url)
  const dead = new SolanaRpc('http://127.0.0.1:9', 'the test')
  const proxied = new SolanaRpc(proxy.url, 'the test')
  await watch()
  callFinal(proxy, 'x')
  for (const second of [world.rpc, dead]) {
    await world.tracker(world.broadcaster(proxied, second)).pass()
    expect((await world.load(tenant, payout.id)).status).toBe('approved')
  }
  expect(world.logged.join('')).toContain('it is not given up until all say so')
  proxy.tellTheTruth()
  // Nobody has sent it.
  callFinal(proxy, null)
  for (const second of [world.rpc, dead]) {
    world.logged.length = 0
    const tracker = world.tracker(world.broadcaster(proxied, second))
    for (let pass = 0; pass < 3; pass++) await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
    expect(waitsOf(payout.id)).toHaveLength(1)
  }
  proxy.tellTheTruth()
  const tracker = world.tracker(world.broadcaster(dead, proxied))
  await tracker.pass()
  await world.solana.mine(1)
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  await world.tracker(world.broadcaster(world.rpc, proxied)).pass()
  await expectPaidOnce(tenant, payout.id)
  await world.database.owner.query('update network_state set hash = $1', ['another'])
  await expect(world.tracker(world.broadcaster(dead, proxied)).pass()).rejects.toThrow(/does not know block/)
  await watch()
  await dead.close()
  await proxied.close()
})

test('a sweep into the vault that one node makes up is not booked, and is sent by the next', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  const signedSweep = async () => {
    const { rows } = await world.database.owner.query<{ id: string; done: boolean }>(
      `select id, ended_at is not null as done from solana_chore where kind = 'sweep' and txid is not null
       order by id desc limit 1`,
    )
    return rows[0]
  }
  const before = await signedSweep()
  for (let turn = 0; turn < 10 && (await signedSweep())?.id === before?.id; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.solana.mine(1)
    world.now = new Date(world.now.getTime() + 1_000)
  }
  const sweep = await signedSweep()
  expect(sweep?.id).not.toBe(before?.id)
  await watch()
  proxy = await startRpcProxy(world.solana.url)
  callFinal(proxy, null)
  const proxied = new SolanaRpc(proxy.url, 'the test')
  const tracker = world.tracker(world.broadcaster(proxied, world.rpc))
  for (let pass = 0; pass < 3; pass++) await tracker.pass()
  expect(await signedSweep()).toEqual({ id: sweep?.id, done: false })
  expect(waitsOf(sweep?.id ?? '')).toHaveLength(1)
  await proxied.close()
  await world.until(tenant, payout.id, 'confirmed')
  await expectPaidOnce(tenant, payout.id)
})

test('SOL whose payout a restored database forgot is not paid again; the journal brings the payout back', async () => {
  const tenant = await world.openShop([SOL])
  const restore = await world.backUp()
  const payout = await world.payout(tenant, '0.7')
  await world.until(tenant, payout.id, 'confirmed')
  await restore()
  const again = await world.payout(tenant, '0.3')
  for (let turn = 0; turn < 4; turn++) await world.turn()
  expect(await world.signedOf(again.id)).toEqual([])
  expect(await world.recover()).toEqual({ [payout.id]: 'recovered' })
  for (const { id } of [payout, again]) await world.until(tenant, id, 'confirmed')
  for (const { id } of [payout, again]) await expectPaidOnce(tenant, id)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
})

test('what is not in the books yet stays on its address, and what is there is paid out', async () => {
  const tenant = await world.openShop([])
  const owner = await world.deposit(tenant, SOL)
  await world.solana.pay(owner, HALF)
  await world.solana.mine(1)
  const payout = await world.payout(tenant, '0.7')
  await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds(owner)).toBe(HALF)
  await expectPaidOnce(tenant, payout.id)
  const { rows } = await world.database.owner.query<{ invoice_id: string }>(
    'select invoice_id from deposit_address where merchant_id = $1',
    [tenant.merchantId],
  )
  const place = { network: 'solana-test', asset: 'SOL', txid: 'late', output: 1 } as const
  await world.record(tenant, { ...place, invoiceId: rows[0]?.invoice_id ?? '', amount: HALF })
  const next = await world.payout(tenant, '0.7')
  await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds(owner)).toBe(0n)
  await expectPaidOnce(tenant, next.id)
})

test('a lamport that comes again and again delays no payout, and what makes its address exist stays', async () => {
  const tenant = await world.openShop([])
  const owner = await world.deposit(tenant, SOL)
  const payout = await world.payout(tenant, '0.9')
  for (
    let turn = 0;
    turn < TURNS_MAX && (await world.load(tenant, payout.id)).status !== 'confirmed';
    turn++
  ) {
    await world.solana.pay(owner, 1n)
    await world.turn()
    // By then a sweep that came too late for the first of them is signed.
    if (turn === 10) await world.solana.mine(LONG_AFTER)
  }
  await expectPaidOnce(tenant, payout.id)
  const { reading } = await world.signerAccounts()
  expect(await world.holds(owner)).toBeGreaterThanOrEqual(reading?.rentExempt ?? SOL)
  expect(await world.holds(owner)).toBeLessThan((reading?.rentExempt ?? 0n) + 100n)
})

test('what was swept and is not in a database that was set back is found on the chain, and paid out', async () => {
  const tenant = await world.openShop([SOL, HALF])
  const { owner } = world.database
  const ofTenant = `kind = 'sweep' and indexes && (select array_agg(idx) from deposit_address where merchant_id = $1)`
  const first = await world.payout(tenant, '1.2')
  await untilSigned(first.id)
  await owner.query('delete from payout_transaction where payout_id = $1', [first.id])
  const lost = await owner.query(`delete from solana_chore where ${ofTenant}`, [tenant.merchantId])
  expect(lost.rowCount).toBe(1)
  await world.until(tenant, first.id, 'confirmed')
  await expectPaidOnce(tenant, first.id)
  // One transaction that emptied two addresses; now it is known as one that did not happen.
  const denied = await owner.query(`update solana_chore set landed = false where landed and ${ofTenant}`, [
    tenant.merchantId,
  ])
  expect(denied.rowCount).toBe(2)
  const second = await world.payout(tenant, '0.3')
  await world.until(tenant, second.id, 'confirmed')
  await expectPaidOnce(tenant, second.id)
})

test('while the first nonce, which brings the vault’s part, waits, nothing is swept; then all is paid out', async () => {
  const other = await SolanaPayoutWorld.open()
  try {
    await other.fund()
    const tenant = await other.openShop([SOL])
    const payout = await other.payout(tenant, '1')
    for (let turn = 0; turn < 4; turn++) {
      await other.broadcaster().refreshNetwork()
      const missed =
        await other.database.owner.query(`update solana_chore set ended_at = now(), landed = false
        where kind = 'nonce' and vault_lamports > 0 and ended_at is null`)
      expect(missed.rowCount).toBe(1)
      await other.sign()
      await other.broadcaster().refreshNetwork()
      await other.solana.mine(1)
    }
    const done = await other.until(tenant, payout.id, 'confirmed')
    expect(await other.holds(payout.destination)).toBe(SOL - done.networkFee)
  } finally {
    await other.close()
  }
})

test("a payout to the vault, a signer's or the chain’s own account is not signed, and its money comes back", async () => {
  const tenant = await world.openShop([SOL])
  const { vault, feePayer, nonceAccounts } = await world.signerAccounts()
  for (const to of [vault, feePayer, nonceAccounts[0], 'SysvarC1ock11111111111111111111111111111111']) {
    const payout = await world.payout(tenant, '0.5', to)
    const failed = await world.until(tenant, payout.id, 'failed')
    expect(failed.failureCode).toBe('destination_invalid')
  }
  expect(await world.balances(tenant)).toMatchObject({ available: SOL, reserved: 0n })
})

test("a payout to a program, a mint or a program's account is not signed; one to a wallet with money is", async () => {
  const tenant = await world.openShop([SOL])
  const [table = ''] = Object.keys(await world.solana.payer.makeTable([world.solana.payer.signer.address]))
  for (const to of ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', NATIVE_MINT, table]) {
    const held = await world.holds(to)
    expect(held, to).toBeGreaterThan(0n)
    const payout = await world.payout(tenant, '0.5', to)
    const failed = await world.until(tenant, payout.id, 'failed')
    expect([to, failed.failureCode]).toEqual([to, 'destination_refuses'])
    await world.turn()
    expect(await world.signedOf(payout.id)).toEqual([])
    expect(await world.holds(to)).toBe(held)
  }
  expect(await world.balances(tenant)).toMatchObject({ available: SOL, reserved: 0n })
  const wallet = world.newAddress()
  await world.solana.pay(wallet, HALF)
  await world.solana.mine(1)
  const payout = await world.payout(tenant, '0.5', wallet)
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds(wallet)).toBe(SOL - done.networkFee)
})

test("one node of two by which a destination is a program's ends no payout", async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  proxy = await startRpcProxy(world.solana.url)
  const proxied = new SolanaRpc(proxy.url, 'the test')
  const owner = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
  proxy.lie('getMultipleAccounts', (answer, { params: [addresses] }) => {
    if (!(addresses as string[]).includes(payout.destination)) return answer
    const account = {
      data: ['', 'base64'],
      executable: false,
      lamports: 1_000_000,
      owner,
      rentEpoch: 0,
      space: 0,
    }
    return { ...(answer as object), value: (addresses as string[]).map(() => account) }
  })
  await watch()
  const tracker = world.tracker(world.broadcaster(proxied, world.rpc))
  const pass = async () => {
    await watch()
    await tracker.pass()
    await world.sign()
  }
  for (let turn = 0; turn < 4; turn++) await pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(world.logged.join('')).toContain('waits for another provider')
  proxy.tellTheTruth()
  await proxied.close()
  await world.until(tenant, payout.id, 'confirmed')
})

test('the auditor asks the chain what vault and addresses hold, and finds what is less than the books say', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  await world.until(tenant, payout.id, 'confirmed')
  const unswept = await world.deposit(tenant, HALF)
  const { vault } = await world.signerAccounts()
  const held = await world.holds(vault)
  const { owner } = world.database
  const change = async (sql: string) => expect((await owner.query(sql, [tenant.merchantId])).rowCount).toBe(1)
  const deposits = (by: string) =>
    change(
      `update transfer set amount = amount ${by} where merchant_id = $1 and amount between ${HALF} and ${HALF} + 1`,
    )
  const sweep = (what: string) =>
    change(`update solana_chore set ${what} where kind = 'sweep' and indexes && (
      select array_agg(idx) from deposit_address where merchant_id = $1)`)
  expect(await world.audited()).toEqual([])
  await deposits('+ 1')
  expect(await world.audited()).toEqual([
    `solana-test SOL ${unswept}: holds ${HALF} and ${HALF + 1n} stand in the books`,
  ])
  await deposits('- 1')
  await sweep('lamports = array[lamports[1] + 1]')
  expect(await world.audited()).toEqual([
    `solana-test SOL ${vault}: holds ${held} and ${held + 1n} stand in the books`,
  ])
  await sweep('lamports = array[lamports[1] - 1], landed = false')
  expect(await world.audited()).toContainEqual(`SOL on solana-test: swept 0, signed payouts ${HALF}`)
  await sweep('landed = true')
  expect(await world.audited()).toEqual([])
})

test('nobody is paid with the money of another merchant', async () => {
  const rich = await world.openShop([3n * SOL])
  const first = await world.payout(rich, '0.5')
  await world.until(rich, first.id, 'confirmed')
  const { vault } = await world.signerAccounts()
  const held = await world.holds(vault)
  // In the books, and never on the chain.
  const poor = await world.openShop([])
  await world.deposit(poor, SOL, { isPaid: false })
  const second = await world.payout(poor, '0.5')
  for (let turn = 0; turn < 6; turn++) await world.turn()
  expect((await world.load(poor, second.id)).status).toBe('approved')
  expect(await world.signedOf(second.id)).toEqual([])
  expect(await world.holds(vault)).toBe(held)
  expect(world.logged.join('')).toContain('a deposit address holds less than was paid to it')
})
