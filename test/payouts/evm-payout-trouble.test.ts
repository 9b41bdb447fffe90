import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { encodeEvmAddress, parseEvmAddress } from '../../src/chain/evm/address.ts'
import { EvmRpcError } from '../../src/chain/evm/evm-rpc.ts'
import { inspectHotWallets, inspectLongWaits } from '../../src/doctor/inspect-signer.ts'
import type { SigningPoint } from '../../src/payouts/sign/signing-context.ts'
import { acceptLostPayout } from '../../src/payouts/store/lost-payouts.ts'
import { readGasBalance } from '../../src/payouts/store/read-gas-balance.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { exposeMetrics } from '../../src/watcher/expose-metrics.ts'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n
const USDC = 1_000_000n

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
})
afterAll(() => world?.close())

/** Sweeps are in their blocks, and the payout is signed and with the node. */
const submit = (tenant: Parameters<EvmPayoutWorld['until']>[0], id: string) =>
  world.until(tenant, id, 'submitted')

/** A payout of ether that was just swept for: the next signature is the payout's own. */
async function sweptPayout(amount = ETHER) {
  const tenant = await world.openShop('ETH_BASE', [amount])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  return { tenant, payout }
}

test('a hot wallet low on gas is an alarm for the operator, and payouts in USDC wait until it has some', async () => {
  const tenant = await world.openShop('USDC_BASE', [10n * USDC])
  const payout = await world.payout(tenant, 'USDC_BASE', '10')
  for (let turn = 0; turn < 3; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(await world.signedFor(payout.id)).toEqual({ payout: [], sweeps: [] })
  expect(world.logged.some((line) => line.includes('low on gas'))).toBe(true)
  const address = encodeEvmAddress(world.hot)
  expect(await inspectHotWallets(world.database.owner, [])).toMatchObject([
    { kind: 'fault', text: expect.stringContaining(address) },
  ])
  await world.fuelHotWallet()
  await world.until(tenant, payout.id, 'confirmed')
  expect(await inspectHotWallets(world.database.owner, [])).toMatchObject([{ kind: 'ok' }])
  expect(await world.holds('USDC_BASE', payout.destination)).toBe(10n * USDC)
})

test('a signer whose clock runs ahead of what was read says so, and signs once they agree', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  world.now = new Date(world.now.getTime() + 7 * 60_000)
  await world.sign()
  expect(await world.signedFor(payout.id)).toEqual({ payout: [], sweeps: [] })
  expect(world.logged.filter((line) => line.includes('read more than 5 minutes ago'))).toHaveLength(1)
  await world.until(tenant, payout.id, 'confirmed')
})

test('ether of merchants in the hot wallet pays no gas for anybody’s USDC', async () => {
  const { owner } = world.database
  const { tenant, payout } = await sweptPayout()
  const shop = await world.openShop('USDC_BASE', [10n * USDC])
  const waiting = await world.payout(shop, 'USDC_BASE', '10')
  // All ether of the wallet but what was swept for the merchant is gone.
  const { rows } = await owner.query<{ arrived: bigint }>(
    'select amount - cost as arrived from sweep where payout_id = $1',
    [payout.id],
  )
  const before = await world.holds('ETH_BASE', world.hot)
  await world.anvil.rpc('anvil_setBalance', [encodeEvmAddress(world.hot), hex(rows[0]?.arrived ?? 0n)])
  await owner.query(`update payout set status = 'requested' where id = $1`, [payout.id])
  await world.tracker().pass()
  await world.sign()
  expect(await world.signedFor(waiting.id)).toEqual({ payout: [], sweeps: [] })
  await world.anvil.rpc('anvil_setBalance', [encodeEvmAddress(world.hot), hex(before)])
  await owner.query(`update payout set status = 'approved' where id = $1`, [payout.id])
  await world.until(shop, waiting.id, 'confirmed')
  await world.until(tenant, payout.id, 'confirmed')
})

test('what waits too long is signed again under its nonce for a higher fee within its approval, paid once', async () => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  await world.tracker().pass()
  const first = await world.load(tenant, payout.id)
  expect(first.status).toBe('submitted')
  const { baseFeePerGas } = await world.anvil.rpc<{ baseFeePerGas: string }>('eth_getBlockByNumber', [
    'latest',
    false,
  ])
  await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [
    hex((BigInt(baseFeePerGas) * 21n) / 10n + 10n ** 9n),
  ])
  await world.anvil.mine(1)
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toHaveLength(1)
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  await world.tracker().pass()
  await world.sign()
  await world.sign()
  await world.tracker().pass()
  const second = await world.load(tenant, payout.id)
  expect(second.txid).not.toBe(first.txid)
  expect(second.networkFee).toBeGreaterThan(first.networkFee)
  expect(second.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  expect((await world.signedFor(payout.id)).payout).toHaveLength(2)
})

test('a payout whose network takes more than was approved waits, and after a day fails with its money back', async () => {
  const { tenant, payout } = await sweptPayout()
  await world.setHotWallet('base_fee = $1', [payout.networkFeeMax])
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toEqual([])
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  await world.setHotWallet('updated_at = $1', [world.now])
  await world.sign()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'fee_above_limit',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
  // What was swept for it is there for the next one.
  const next = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, next.id, 'confirmed')
  expect((await world.signedFor(next.id)).sweeps).toEqual([])
})

test.each(['took it and answered an error', 'took it and did not answer', 'answered and did not take it'])(
  'a node that %s is asked again with the same bytes, and the payout is paid once',
  async (fault) => {
    const { tenant, payout } = await sweptPayout()
    await world.sign()
    const tracker = world.tracker((chain) => ({
      ...boundChain(chain),
      broadcast: async (raw) => {
        if (fault === 'answered and did not take it') return { kind: 'known' }
        await chain.broadcast(raw)
        if (fault === 'took it and did not answer') throw new ChainUnavailable('a timeout')
        return { kind: 'refused', reason: 'internal error' }
      },
    }))
    await tracker.pass().catch((error: unknown) => {
      if (!(error instanceof ChainUnavailable)) throw error
    })
    const done = await world.until(tenant, payout.id, 'confirmed')
    expect(await world.signedFor(payout.id)).toMatchObject({ payout: [done.txid] })
    expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  },
)

class Crash extends Error {}

test.each(['before_journal', 'after_journal', 'after_commit'] as const)(
  'a signer that dies %s of a sweep and its payout leaves one of each, with the journaled bytes',
  async (dies: SigningPoint) => {
    const tenant = await world.openShop('USDC_BASE', [10n * USDC])
    const payout = await world.payout(tenant, 'USDC_BASE', '10')
    const reached = async (point: SigningPoint) => {
      if (point === dies) throw new Crash(point)
    }
    for (let step = 0; step < 2; step++) {
      await world.tracker().pass()
      await world.sign({ reached }).catch((error: unknown) => {
        if (!(error instanceof Crash)) throw error
      })
      await world.sign()
      await world.tracker().pass()
      await world.anvil.mine(1)
    }
    const done = await world.until(tenant, payout.id, 'confirmed')
    expect(await world.signedFor(payout.id)).toEqual({ payout: [done.txid], sweeps: [expect.any(String)] })
    expect(await world.holds('USDC_BASE', payout.destination)).toBe(10n * USDC)
  },
)

test('a payout or sweep that a reorganisation took out of its block goes in again, same bytes, once', async () => {
  const { tenant, payout } = await sweptPayout()
  const { sweeps } = await world.signedFor(payout.id)
  await world.anvil.reorganise(1, (txid) => sweeps.includes(txid))
  await world.tracker().pass()
  const submitted = await submit(tenant, payout.id)
  await world.anvil.mine(1)
  await world.tracker().pass()
  await world.anvil.reorganise(1, (txid) => txid === submitted.txid)
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(0n)
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(done.txid).toBe(submitted.txid)
  expect(await world.signedFor(payout.id)).toEqual({ payout: [done.txid], sweeps })
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
})

test('a payout changed after its approval is neither swept for nor paid, and its money serves the next', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  const thief = '0x000000000000000000000000000000000000dEaD'
  await world.database.owner.query('update payout set destination = $2 where id = $1', [payout.id, thief])
  await world.tracker().pass()
  await world.sign()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'approval_invalid',
  })
  expect(await world.signedFor(payout.id)).toEqual({ payout: [], sweeps: [] })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
  const next = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, next.id, 'confirmed')
})

test('an id that something else was signed for gets no new signature; the chain decides about the first', async () => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  const { owner } = world.database
  const { payout: signed } = await world.signedFor(payout.id)
  await owner.query('delete from account_nonce where intent_id = $1', [payout.id])
  for (const table of ['payout_transaction', 'payout_approval'])
    await owner.query(`delete from ${table} where payout_id = $1`, [payout.id])
  await owner.query(
    `update payout set status = 'requested', amount = amount - 1, event_count = 1 where id = $1`,
    [payout.id],
  )
  await owner.query(
    'delete from event_awaiting where event_id in (select id from event where resource_id = $1 and sequence > 1)',
    [payout.id],
  )
  await owner.query('delete from event where resource_id = $1 and sequence > 1', [payout.id])
  await world.approve(tenant, payout.id)
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toEqual(signed)
  expect(
    world.logged.some((line) => line.includes(payout.id) && line.includes('not what was approved')),
  ).toBe(true)
  // It happened; what it took from the books a person has to say, and nobody else waits for that.
  for (let turn = 0; turn < 2; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.anvil.mine(3)
  }
  await world.tracker().pass()
  expect((await world.signedFor(payout.id)).payout).toEqual(signed)
  expect(await world.holds('ETH_BASE', payout.destination)).toBeGreaterThan(0n)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
  const another = await sweptPayout()
  await world.until(another.tenant, another.payout.id, 'confirmed')
})

/** The database as it was after the approval, before anything of the payout itself was signed. */
async function forgetSignature(payoutId: string): Promise<void> {
  const { owner } = world.database
  await owner.query('delete from payout_transaction where payout_id = $1', [payoutId])
  await owner.query('delete from account_nonce where intent_id = $1', [payoutId])
  await owner.query(`update payout set status = 'approved', txid = null, submitted_at = null where id = $1`, [
    payoutId,
  ])
}

test.each([
  [
    'whose approval is not the API’s',
    `update payout_approval set signature = decode(repeat('00', 64), 'hex') where payout_id = $1`,
  ],
  ['whose approval is gone', 'delete from payout_approval where payout_id = $1'],
  [
    'that was refused once',
    `insert into payout_refusal (merchant_id, payout_id, livemode, code, created_at)
     select merchant_id, id, livemode, 'approval_invalid', now() from payout where id = $1`,
  ],
])('a payout %s keeps its money where the journal has signed it, and is confirmed', async (_how, change) => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  await world.tracker().pass()
  await forgetSignature(payout.id)
  await world.database.owner.query(change, [payout.id])
  await world.anvil.mine(3)
  await world.tracker().pass()
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
})

test("a payout whose signature differs from the journal's is not given up, and neither is such a sweep", async () => {
  const { owner } = world.database
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(4)
  const { rows: kept } = await owner.query('select txid, raw from payout_transaction where payout_id = $1', [
    payout.id,
  ])
  const other = `txid = '0x' || repeat('ab', 32), raw = decode('02c0', 'hex')`
  await owner.query(`update payout_transaction set ${other} where payout_id = $1`, [payout.id])
  await owner.query(`update payout set status = 'approved', txid = null, submitted_at = null where id = $1`, [
    payout.id,
  ])
  for (let turn = 0; turn < 3; turn++) {
    await world.tracker().pass()
    await world.sign()
  }
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
  expect(world.logged.some((line) => line.includes(payout.id) && line.includes('not in the journal'))).toBe(
    true,
  )
  expect(
    world.logged.some((line) => line.includes(payout.id) && line.includes('the books do not know')),
  ).toBe(true)
  const { rows: sweeps } = await owner.query<{ id: string; txid: string }>(
    `select t.sweep_id as id, t.txid from sweep_transaction t join sweep s on s.id = t.sweep_id where s.payout_id = $1`,
    [payout.id],
  )
  const [sweep] = sweeps
  await owner.query(
    `insert into journal_question (merchant_id, intent_id, livemode, network, asked_at)
     select merchant_id, id, livemode, network, now() from sweep where id = $1`,
    [sweep?.id],
  )
  await owner.query(`update sweep_transaction set txid = '0x' || repeat('cd', 32) where sweep_id = $1`, [
    sweep?.id,
  ])
  await world.sign()
  const { rows: open } = await owner.query('select answered_at from journal_question where intent_id = $1', [
    sweep?.id,
  ])
  expect(open).toEqual([{ answered_at: null }])
  await owner.query('update sweep_transaction set txid = $2 where sweep_id = $1', [sweep?.id, sweep?.txid])
  await owner.query('update payout_transaction set txid = $2, raw = $3 where payout_id = $1', [
    payout.id,
    kept[0]?.txid,
    kept[0]?.raw,
  ])
  await world.until(tenant, payout.id, 'confirmed')
})

test('a request without an answer holds up no other payout, comes last, and is answered once it can be', async () => {
  const { owner } = world.database
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  const earlier = new Date(world.now.getTime() - 1_000)
  await owner.query(
    `insert into journal_question (merchant_id, intent_id, livemode, network, asked_at)
     select merchant_id, id, livemode, network, $2 from payout where id = $1`,
    [payout.id, earlier],
  )
  await owner.query('delete from payout_transaction where payout_id = $1', [payout.id])
  await owner.query(
    `update account_nonce set intent_id = 'po_00000000000000000000000000' where intent_id = $1`,
    [payout.id],
  )
  const other = await world.openShop('ETH_BASE', [ETHER])
  const second = await world.payout(other, 'ETH_BASE', '1')
  for (let turn = 0; turn < 3; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.signedFor(second.id)).payout).toHaveLength(1)
  const question = async () => {
    const sql = 'select asked_at, answered_at from journal_question where intent_id = $1'
    return (await owner.query(sql, [payout.id])).rows
  }
  expect(await question()).toEqual([{ asked_at: world.now, answered_at: null }])
  await owner.query(
    `update account_nonce set intent_id = $1 where intent_id = 'po_00000000000000000000000000'`,
    [payout.id],
  )
  await world.sign()
  expect(await question()).toEqual([{ asked_at: world.now, answered_at: world.now }])
  await world.until(tenant, payout.id, 'confirmed')
  await world.until(other, second.id, 'confirmed')
})

test('a sweep that was changed after it was signed is not signed again', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '2')
  await world.tracker().pass()
  await world.sign()
  await world.database.owner.query('update sweep set amount = amount * 2 where payout_id = $1', [payout.id])
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  await world.tracker().pass()
  await world.sign()
  expect((await world.signedFor(payout.id)).sweeps).toHaveLength(2)
  expect(world.logged.some((line) => line.includes('a sweep is not what it was'))).toBe(true)
  await world.database.owner.query('update sweep set amount = amount / 2 where payout_id = $1', [payout.id])
  await world.until(tenant, payout.id, 'confirmed')
})

test.each([
  ['for nothing', 0n],
  ['for less to the same destination', ETHER / 2n],
])('a payout whose nonce went %s is dead once that is final', async (_, paid) => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  const from = encodeEvmAddress(world.hot)
  await world.anvil.rpc('anvil_impersonateAccount', [from])
  const to = paid === 0n ? from : payout.destination
  await world.anvil.rpc('eth_sendTransaction', [{ from, to, value: hex(paid) }])
  await world.anvil.mine(1)
  await world.tracker().pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await world.anvil.mine(2)
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'nonce_used_elsewhere',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(paid)
})

test.each([
  ['was never asked', ''],
  [
    'had answered before',
    `insert into journal_question (merchant_id, intent_id, livemode, network, asked_at, answered_at)
     select merchant_id, id, livemode, network, $2, $2 from payout where id = $1`,
  ],
])(
  'a payout whose mined replacement a restored database lacks waits for the signer, which %s, to report',
  async (_when, answered) => {
    const { tenant, payout } = await sweptPayout()
    await world.sign()
    world.now = new Date(world.now.getTime() + 4 * 60_000)
    await world.tracker().pass()
    await world.sign()
    const { rows } = await world.database.owner.query<{ number: number; txid: string; raw: Buffer }>(
      'select number, txid, raw from payout_transaction where payout_id = $1 order by number',
      [payout.id],
    )
    const [, second] = rows
    expect(rows).toHaveLength(2)
    await world.anvil.rpc('anvil_dropAllTransactions')
    await world.anvil.rpc('eth_sendRawTransaction', [`0x${second?.raw.toString('hex')}`])
    await world.anvil.mine(3)
    await world.database.owner.query('delete from payout_transaction where txid = $1', [second?.txid])
    if (answered !== '')
      await world.database.owner.query(answered, [payout.id, new Date(world.now.getTime() - 10 * 60_000)])
    for (let pass = 0; pass < 3; pass++) await world.tracker().pass()
    expect((await world.load(tenant, payout.id)).status).not.toBe('failed')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
    await world.sign()
    await world.tracker().pass()
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: second?.txid })
  },
)

test('a node that has dropped its receipts makes no dead payout of one that was paid', async () => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  const { rows } = await world.database.owner.query<{ raw: Buffer }>(
    'select raw from payout_transaction where payout_id = $1',
    [payout.id],
  )
  await world.anvil.rpc('eth_sendRawTransaction', [`0x${rows[0]?.raw.toString('hex')}`])
  await world.anvil.mine(3)
  const proxy = await startRpcProxy(world.anvil.url)
  proxy.lie('eth_getTransactionReceipt', () => null)
  proxy.lie('eth_sendRawTransaction', () => {
    throw new Error('nonce too low')
  })
  const transaction = world.clientAt(proxy.url)
  try {
    const tracker = world.tracker(() => transaction)
    for (let pass = 0; pass < 3; pass++) await tracker.pass()
  } finally {
    await transaction.close()
    await proxy.close()
  }
  expect(proxy.calls).toContain('eth_getTransactionReceipt')
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds('ETH_BASE', payout.destination)).toBeGreaterThan(0n)
})

/** Every transaction of a block after `height` is unknown to one of the nodes behind the proxy: to that which `asks` picks. */
function behindOneUrl(proxy: RpcProxy, height: number, picks: () => boolean): void {
  const isLater = (at: string) => Number(at) > height
  proxy.lie('eth_getTransactionReceipt', (result) => {
    const receipt = result as { blockNumber: string } | null
    return receipt !== null && isLater(receipt.blockNumber) && picks() ? null : result
  })
  proxy.lie('eth_getBlockByNumber', (result, { params: [at] }) =>
    String(at).startsWith('0x') && isLater(String(at)) && picks() ? null : result,
  )
}

test.each([
  ['the one behind has every receipt', () => true],
  ['they take turns', (turn: number) => turn % 2 === 0],
])(
  'a payout that is paid is never given up where one URL has two nodes at different heights: %s',
  async (_how, picks) => {
    const { tenant, payout } = await sweptPayout()
    await world.sign()
    const height = await world.anvil.height()
    const { rows } = await world.database.owner.query<{ raw: Buffer }>(
      'select raw from payout_transaction where payout_id = $1',
      [payout.id],
    )
    await world.anvil.rpc('eth_sendRawTransaction', [`0x${rows[0]?.raw.toString('hex')}`])
    await world.anvil.mine(6)
    const proxy = await startRpcProxy(world.anvil.url)
    let turn = 0
    behindOneUrl(proxy, height, () => picks(turn++))
    const transaction = world.clientAt(proxy.url)
    try {
      const tracker = world.tracker(() => transaction)
      for (let pass = 0; pass < 6; pass++) {
        await tracker.pass()
        await world.sign()
        expect((await world.load(tenant, payout.id)).failureCode).toBeNull()
      }
      proxy.tellTheTruth()
      await tracker.pass()
    } finally {
      await transaction.close()
      await proxy.close()
    }
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  },
)

test('a forgotten payout, accepted as lost, holds no nonce back; of the two that have it one happens', async () => {
  const { payout: forgotten } = await sweptPayout()
  await world.sign()
  const { owner } = world.database
  const { rows } = await owner.query<{ raw: Buffer }>(
    'select raw from payout_transaction where payout_id = $1',
    [forgotten.id],
  )
  // As in a backup from before it was asked for, but for the ledger, which nobody may cut.
  await owner.query('delete from account_nonce where intent_id = $1', [forgotten.id])
  await owner.query(
    'delete from sweep_transaction where sweep_id in (select id from sweep where payout_id = $1)',
    [forgotten.id],
  )
  await owner.query(
    'delete from sweep_transfer where sweep_id in (select id from sweep where payout_id = $1)',
    [forgotten.id],
  )
  for (const table of ['sweep', 'payout_gas', 'payout_transaction', 'payout_approval'])
    await owner.query(`delete from ${table} where payout_id = $1`, [forgotten.id])
  await owner.query('delete from payout where id = $1', [forgotten.id])
  const { tenant, payout: next } = await sweptPayout()
  await world.sign()
  expect(await world.signedFor(next.id)).toEqual({ payout: [], sweeps: [] })
  await acceptLostPayout(owner, { id: forgotten.id, network: world.network }, world.now)
  await world.until(tenant, next.id, 'confirmed')
  await expect(
    world.anvil.rpc('eth_sendRawTransaction', [`0x${rows[0]?.raw.toString('hex')}`]),
  ).rejects.toThrow(/nonce too low/)
  expect(await world.holds('ETH_BASE', forgotten.destination)).toBe(0n)
})

/** Code that always reverts with these words (Solidity's `Error(string)`). */
function revertingWith(words: string): string {
  const word = (value: number) => value.toString(16).padStart(64, '0')
  const text = Buffer.from(words).toString('hex').padEnd(64, '0')
  // It copies what stands behind its first twelve bytes to memory, and reverts with that.
  return `0x6064600c60003960646000fd08c379a0${word(32)}${word(words.length)}${text}`
}

test('a contract that takes no ether is no destination: the payout fails and its money comes back', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1', world.token ?? '')
  await world.until(tenant, payout.id, 'failed')
  expect(await world.load(tenant, payout.id)).toMatchObject({ failureCode: 'destination_refuses' })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
})

test.each([
  ['jumps nowhere', '0x600056'],
  ['fills its stack', '0x5b365f56'],
  ['is no code', '0x0c'],
  ['never ends', '0x5b5f56'],
  // What a contract says is its owner's to choose, and no word of the node's.
  ['says "too many requests"', revertingWith('too many requests')],
  ['says "method is not supported"', revertingWith('method is not supported')],
  ['says "block range is too large"', revertingWith('block range is too large')],
])(
  'a contract whose code %s is no destination, and nobody else’s payout waits for it',
  async (_what, code) => {
    const { address, addressBytes } = newEvmAddress()
    await world.anvil.rpc('anvil_setCode', [address, code])
    const shops = [
      await world.openShop('ETH_BASE', [ETHER]),
      await world.openShop('ETH_BASE', [ETHER]),
    ] as const
    const payout = await world.payout(shops[0], 'ETH_BASE', '1', encodeEvmAddress(addressBytes))
    const other = await world.payout(shops[1], 'ETH_BASE', '1')
    await world.until(shops[1], other.id, 'confirmed')
    expect(await world.until(shops[0], payout.id, 'failed')).toMatchObject({
      failureCode: 'destination_refuses',
    })
    expect(await world.balances(shops[0])).toMatchObject({ available: ETHER, reserved: 0n })
  },
)

test('a payout whose destination a node cannot judge waits, with an alarm, and no other waits for it', async () => {
  const shops = [
    await world.openShop('ETH_BASE', [ETHER]),
    await world.openShop('ETH_BASE', [ETHER]),
  ] as const
  const payout = await world.payout(shops[0], 'ETH_BASE', '1')
  const other = await world.payout(shops[1], 'ETH_BASE', '1')
  const judged = encodeEvmAddress(parseEvmAddress(payout.destination) ?? new Uint8Array())
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    gasOf: (payment) =>
      encodeEvmAddress(payment.to) === judged
        ? Promise.reject(
            new EvmRpcError('the node', 'eth_estimateGas', { code: -32_000, message: 'no idea' }),
          )
        : chain.gasOf(payment),
  }))
  for (let turn = 0; turn < 6; turn++) {
    await tracker.pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.load(shops[1], other.id)).status).not.toBe('approved')
  expect((await world.load(shops[0], payout.id)).status).toBe('approved')
  const alarms = world.logged.filter((line) => line.includes('refuses a question about one payout'))
  expect(alarms).toHaveLength(1)
  await world.until(shops[0], payout.id, 'confirmed')
})

test('a node that refuses a payout with a different message each time is logged once', async () => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  let looks = 0
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    broadcast: () => {
      looks += 1
      return Promise.resolve({ kind: 'refused', reason: `baseFee: ${looks} at 0x${looks}a` })
    },
  }))
  for (let turn = 0; turn < 3; turn++) await tracker.pass()
  expect(looks).toBeGreaterThanOrEqual(3)
  const told = world.logged.filter((line) => line.includes(payout.id) && line.includes('does not take'))
  expect(told).toHaveLength(1)
  await world.until(tenant, payout.id, 'confirmed')
})

test('what holds up the hot wallet’s queue, or waits too long, is in doctor, log and metric until it ends', async () => {
  const { tenant, payout } = await sweptPayout()
  await world.sign()
  const { owner, pools } = world.database
  const metrics = createMetrics(world.log)
  exposeMetrics({
    metrics,
    pool: pools.watcher,
    networks: [world.network],
    clock: () => world.now,
    auditKey: null,
  })
  const told = async () => {
    const findings = await inspectLongWaits(owner, () => world.now)
    return findings.map(({ kind, text }) => `${kind} ${text}`).filter((text) => text.includes(payout.id))
  }
  const late = async () => {
    const { values } = (await metrics.registry.getSingleMetric('paylink_payouts_late')?.get()) ?? {
      values: [],
    }
    return values.find(({ labels }) => labels.name === world.network)?.value
  }
  await world.anvil.mine(3)
  // Of a transaction that has less gas than every block asks for.
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    broadcast: () => Promise.resolve({ kind: 'refused', reason: 'intrinsic gas too low' }),
  }))
  const wait = async (minutes: number) => {
    world.now = new Date(world.now.getTime() + minutes * 60_000)
    await tracker.pass()
  }
  await wait(0)
  expect(await told()).toEqual([])
  const before = (await late()) ?? 0
  await wait(21)
  const inLine = expect.stringMatching(/^fault base-test: the hot wallet’s next transaction is in no block/)
  expect(await told()).toEqual([inLine])
  await wait(40)
  const approved = expect.stringMatching(/^fault base-test: payouts wait to be signed and sent: \d+, /)
  expect(await told()).toEqual([approved, inLine])
  // Beside what other tests have left.
  expect(await late()).toBeGreaterThanOrEqual(before + 2)
  const lines = world.logged.filter(
    (line) => line.includes(payout.id) && line.includes('longer than is usual'),
  )
  expect(lines).toHaveLength(2)
  await world.until(tenant, payout.id, 'confirmed')
  expect(await told()).toEqual([])
})

test('the hot wallet itself is no destination', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1', encodeEvmAddress(world.hot))
  await world.until(tenant, payout.id, 'failed')
  expect(await world.load(tenant, payout.id)).toMatchObject({ failureCode: 'destination_invalid' })
})

test('a contract wallet that needs more gas than an address without code is paid all the same', async () => {
  const { address, addressBytes } = newEvmAddress()
  // Writes down what it was paid: CALLVALUE, PUSH0, SSTORE.
  await world.anvil.rpc('anvil_setCode', [address, '0x345f55'])
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1', encodeEvmAddress(addressBytes))
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds('ETH_BASE', address)).toBe(payout.amount - done.networkFee)
  expect(done.networkFee).toBeGreaterThan(payout.networkFee)
})

/** An address with this code; without any it takes every payment. */
async function contract(code: string): Promise<string> {
  const { address } = newEvmAddress()
  await world.anvil.rpc('anvil_setCode', [address, code])
  return address
}
const STORES = '0x345f55'
const REVERTS = '0x5f5ffd'

test('a merchant whose payout reverted can burn gas at no other contract for a day', async () => {
  await world.fuelHotWallet()
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER, ETHER, ETHER])
  const [trap, wallet] = [await contract(STORES), await contract(STORES)]
  const burnt = await world.payout(tenant, 'ETH_BASE', '1', trap)
  await world.until(tenant, burnt.id, 'submitted')
  const second = await world.payout(tenant, 'ETH_BASE', '1', wallet)
  for (let turn = 0; turn < 3; turn++) {
    await world.tracker().pass()
    await world.sign()
  }
  // Two at a time would be two to revert.
  expect((await world.signedFor(second.id)).payout).toEqual([])
  await world.anvil.rpc('anvil_setCode', [trap, REVERTS])
  expect(await world.until(tenant, burnt.id, 'failed')).toMatchObject({ failureCode: 'reverted' })
  expect(await world.until(tenant, second.id, 'failed')).toMatchObject({ failureCode: 'reverted_lately' })
  // Without code it takes no more gas than any other address.
  await world.anvil.rpc('anvil_setCode', [trap, '0x'])
  await world.database.owner.query(
    `update payout_destination set removed_at = now() where merchant_id = $1 and removed_at is null`,
    [tenant.merchantId],
  )
  const again = await world.payout(tenant, 'ETH_BASE', '1', trap)
  expect(await world.until(tenant, again.id, 'failed')).toMatchObject({ failureCode: 'reverted_lately' })
  const plain = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, plain.id, 'confirmed')
  const other = await world.openShop('ETH_BASE', [ETHER])
  const theirs = await world.payout(other, 'ETH_BASE', '1', wallet)
  await world.until(other, theirs.id, 'confirmed')
  world.now = new Date(world.now.getTime() + 24 * 3_600_000)
  await world.tracker().pass()
  const later = await world.payout(tenant, 'ETH_BASE', '1', await contract(STORES))
  await world.until(tenant, later.id, 'confirmed')
})

test('a contract is paid only while the hot wallet has ether of its own for the gas', async () => {
  await world.fuelHotWallet()
  // Another merchant's ether, which may not pay for what this one's contract burns.
  const others = await sweptPayout()
  const { owner } = world.database
  await owner.query(`update payout set status = 'requested' where id = $1`, [others.payout.id])
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1', await contract(STORES))
  const hot = encodeEvmAddress(world.hot)
  const takeOwn = async (): Promise<bigint> => {
    await world.tracker().pass()
    const own = (await readGasBalance(world.database.owner, 'base-test'))?.own ?? 0n
    const held = await world.holds('ETH_BASE', world.hot)
    await world.anvil.rpc('anvil_setBalance', [hot, hex(held - own)])
    return own
  }
  const own = await takeOwn()
  for (let turn = 0; turn < 6; turn++) {
    await takeOwn()
    await world.tracker().pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.signedFor(payout.id)).payout).toEqual([])
  expect(world.logged.join('')).toContain('a payout to a contract waits')
  await world.pay('ETH_BASE', hot, own)
  await world.until(tenant, payout.id, 'confirmed')
  const late = await world.payout(tenant, 'ETH_BASE', '1', await contract(STORES))
  for (let turn = 0; turn < 6; turn++) {
    await takeOwn()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.load(tenant, late.id)).status).toBe('approved')
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  await takeOwn()
  expect(await world.until(tenant, late.id, 'failed')).toMatchObject({ failureCode: 'gas_not_covered' })
  // Nobody else's ether is there any more.
  await owner.query(`update payout set status = 'approved' where id = $1`, [others.payout.id])
  await world.until(others.tenant, others.payout.id, 'confirmed')
})

test('an address that is paid again after it was swept is swept again', async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const invoice = await world.deposit(tenant, 'ETH_BASE', ETHER)
  const first = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, first.id, 'confirmed')
  await world.payInvoice(tenant, { ...invoice, asset: 'ETH_BASE', amount: ETHER })
  const second = await world.payout(tenant, 'ETH_BASE', '1')
  const done = await world.until(tenant, second.id, 'confirmed')
  expect(await world.holds('ETH_BASE', second.destination)).toBe(second.amount - done.networkFee)
})

test('what Ethereum and the operator of Base take is part of the fee, of the payout and of each sweep', async () => {
  const each = 10n ** 15n
  // PUSH32 fee, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: the same answer to every question.
  const code = `0x7f${each.toString(16).padStart(64, '0')}5f5260205ff3`
  const oracle = '0x420000000000000000000000000000000000000F'
  await world.anvil.rpc('anvil_setCode', [oracle, code])
  await world.tracker().pass()
  const shop = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const payout = await world.payout(shop, 'ETH_BASE', '2')
  await world.until(shop, payout.id, 'confirmed')
  const { rows } = await world.database.owner.query<{ cost: bigint }>(
    'select cost from sweep where payout_id = $1',
    [payout.id],
  )
  expect(rows).toHaveLength(2)
  for (const { cost } of rows) expect(cost).toBeGreaterThan(2n * each)
  expect(payout.networkFee).toBeGreaterThan(6n * each)
  await world.anvil.rpc('anvil_setCode', [oracle, '0x'])
})

test('a chain that is not the mode’s own is signed for by nobody, whatever the database says of it', async () => {
  const { payout } = await sweptPayout()
  const { owner } = world.database
  const { rows } = await owner.query<{ chain_id: number }>('select chain_id from hot_wallet')
  await world.setHotWallet('chain_id = 8453')
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toEqual([])
  await world.setHotWallet('chain_id = $1', [rows[0]?.chain_id])
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toHaveLength(1)
})
