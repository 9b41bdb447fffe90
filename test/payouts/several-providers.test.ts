import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { inspectNetworks } from '../../src/doctor/inspect-networks.ts'
import { inspectLostPayouts } from '../../src/doctor/inspect-signer.ts'
import { decidePayout } from '../../src/payouts/advance-payout.ts'
import type { EvmPayoutClient } from '../../src/payouts/broadcast/evm/evm-payout-client.ts'
import { acceptLostPayout } from '../../src/payouts/store/lost-payouts.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { keyring, seals } from '../support/payout-steps.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n
const USDC = 10n ** 6n
const GWEI = 10n ** 9n
/** Nobody listens there. */
const DEAD_URL = 'http://127.0.0.1:9'

let world: EvmPayoutWorld
/** The second provider, which lies when told to. */
let proxy: RpcProxy
let dead: EvmPayoutClient
let honest: EvmPayoutClient
let proxied: EvmPayoutClient
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  proxy = await startRpcProxy(world.anvil.url)
  dead = world.clientAt(DEAD_URL)
  honest = world.clientAt(world.anvil.url)
  proxied = world.clientAt(proxy.url)
})
afterAll(async () => {
  for (const transaction of [dead, honest, proxied]) await transaction?.close()
  await proxy?.close()
  await world?.close()
})
beforeEach(() => {
  proxy.tellTheTruth()
  world.logged.length = 0
})

type Block = { readonly number: string; readonly hash: string }

const trackerOf = (first: EvmPayoutClient, second: EvmPayoutClient) =>
  world.trackerOf([
    { name: 'first', chain: first },
    { name: 'second', chain: second },
  ])

/** What doctor says of the provider that payouts go through. */
async function told(): Promise<string[]> {
  const node = {
    network: world.network,
    chain: world.chain,
    livemode: false,
    rpcUrl: world.anvil.url,
    furtherUrls: [],
    rpcSetting: 'TEST_BASE_RPC_URL',
    zmqUrl: null,
    tokenContracts: { USDC: world.token },
    sandbox: null,
  } as const
  const findings = await inspectNetworks(world.database.owner, [node], () => world.now)
  return findings
    .filter(({ text }) => text.includes('payouts'))
    .map(({ kind, text }) => `${kind} ${text.replace(`${world.network}: `, '')}`)
}

/** A payout whose sweep is in a block and final, and which is signed and in a final block too, unknown to the database. */
async function paidUnnoticed() {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, payout.id, 'submitted')
  await world.anvil.mine(3)
  await world.watch()
  return { tenant, payout }
}

/** What took the nonce, by the word of a provider that lies. */
const INVENTED = `0x${'0'.repeat(64)}`

/** The proxy has never heard of these transactions, and shows others in their blocks that used up their nonces. */
function deny(txids: readonly string[]): void {
  const isDenied = (txid: unknown) => txids.includes(String(txid))
  proxy.lie('eth_getTransactionReceipt', (result, { params }) => (isDenied(params[0]) ? null : result))
  proxy.lie('eth_getBlockByNumber', (result) => {
    const block = result as { transactions: unknown[] } | null
    if (block === null) return null
    const other = (one: unknown) =>
      isDenied((one as { hash?: string }).hash) ? { ...(one as object), hash: INVENTED } : one
    return { ...block, transactions: block.transactions.map(other) }
  })
  const terms = { to: `0x${'11'.repeat(20)}`, value: '0x0', input: '0x', gas: '0x5208' }
  const price = { maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' }
  proxy.lie('eth_getTransactionByHash', (result, { params }) =>
    params[0] === INVENTED ? { ...terms, ...price } : result,
  )
  proxy.lie('eth_sendRawTransaction', () => {
    throw new Error('nonce too low')
  })
}

/** The proxy has these transactions, which nobody has sent, in a final block. */
async function makeUp(txids: readonly string[]): Promise<void> {
  expect(txids).toHaveLength(1)
  await world.anvil.mine(3)
  await world.watch()
  const { number, hash } = await world.anvil.rpc<Block>('eth_getBlockByNumber', ['finalized', false])
  const receipt = { blockNumber: number, blockHash: hash, status: '0x1' }
  proxy.lie('eth_getTransactionReceipt', (result, { params }) =>
    txids.includes(String(params[0])) ? receipt : result,
  )
}

/** What the log says of a payout or a sweep that waits for another provider. */
const waitsOf = (id: string): string[] =>
  world.logged.filter((line) => line.includes(id) && line.includes('waits for another provider to confirm'))

test("with one provider away a payout goes through the next, which doctor names, and needs a second's word", async () => {
  await world.watch()
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  const tracker = trackerOf(dead, proxied)
  for (let turn = 0; turn < 6; turn++) {
    await tracker.pass()
    await world.sign()
    await tracker.pass()
    await world.anvil.mine(1)
  }
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  expect(waitsOf(payout.id)).toHaveLength(1)
  const third = { name: 'third', chain: honest }
  await world.trackerOf([{ name: 'first', chain: dead }, { name: 'second', chain: proxied }, third]).pass()
  const done = await world.load(tenant, payout.id)
  expect(done.status).toBe('confirmed')
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  expect(await told()).toEqual([
    expect.stringMatching(
      /^notice payouts go through second, in place of the first provider: .*127\.0\.0\.1:9/,
    ),
  ])
  await trackerOf(honest, proxied).pass()
  expect(await told()).toEqual(['ok payouts go through first'])
})

test('a provider behind the watcher, or on another chain, takes nobody’s place', async () => {
  await world.anvil.mine(1)
  await world.watch()
  const height = `0x${(await world.anvil.height()).toString(16)}`
  proxy.lie('eth_getBlockByNumber', (block, { params }) => (params[0] === height ? null : block))
  const sent = proxy.calls.length
  await expect(trackerOf(dead, proxied).pass()).rejects.toThrow(/127\.0\.0\.1:9.*second does not know block/)
  expect(proxy.calls.slice(sent)).not.toContain('eth_getBalance')
  expect(await told()).toEqual([expect.stringMatching(/^fault payouts wait, no provider serves them: /)])
  proxy.tellTheTruth()
  proxy.lie('eth_chainId', () => '0x1')
  const stranger = world.clientAt(proxy.url)
  await expect(trackerOf(dead, stranger).pass()).rejects.toThrow(/is on another chain \(1\)/)
  await stranger.close()
  proxy.tellTheTruth()
  await trackerOf(dead, proxied).pass()
  expect(await told()).toEqual([expect.stringMatching(/^notice payouts go through second/)])
})

test.each(['says otherwise', 'does not answer'])(
  'a payout unknown to one provider, its nonce called used, keeps its money where another %s',
  async (other) => {
    const { tenant, payout } = await paidUnnoticed()
    const { payout: txids } = await world.signedFor(payout.id)
    deny(txids)
    const tracker = trackerOf(proxied, other === 'says otherwise' ? honest : dead)
    for (let pass = 0; pass < 3; pass++) await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
    expect(world.logged.join('')).toContain('it is not given up until all say so')
    proxy.tellTheTruth()
    await trackerOf(proxied, honest).pass()
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
  },
)

test.each(['says otherwise', 'does not answer'])(
  'a payout and its sweep in a block one provider invents are neither confirmed nor dropped: another %s',
  async (other) => {
    const tenant = await world.openShop('ETH_BASE', [ETHER])
    const payout = await world.payout(tenant, 'ETH_BASE', '1')
    await world.tracker().pass()
    await world.sign()
    const tracker = trackerOf(proxied, other === 'says otherwise' ? honest : dead)
    await makeUp((await world.signedFor(payout.id)).sweeps)
    for (let pass = 0; pass < 3; pass++) await tracker.pass()
    const { rows } = await world.database.owner.query(
      'select s.id, s.final_at, s.status from sweep s where s.payout_id = $1',
      [payout.id],
    )
    expect(rows).toEqual([expect.objectContaining({ status: 'done', final_at: null })])
    expect(waitsOf(rows[0]?.id)).toHaveLength(1)
    expect(await told()).toEqual([
      expect.stringMatching(
        /^notice payouts go through first, waiting for another provider to confirm \d+, of them \w+_/,
      ),
    ])
    proxy.tellTheTruth()
    await tracker.pass()
    await world.anvil.mine(3)
    await tracker.pass()
    await world.sign()
    await makeUp((await world.signedFor(payout.id)).payout)
    for (let pass = 0; pass < 3; pass++) await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
    expect(waitsOf(payout.id)).toHaveLength(1)
    proxy.tellTheTruth()
    const done = await world.until(tenant, payout.id, 'confirmed')
    expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  },
)

test('a payout waits for a provider that is behind or has it in another block, then is confirmed by itself', async () => {
  const { tenant, payout } = await paidUnnoticed()
  const tracker = trackerOf(honest, proxied)
  proxy.lie('eth_getBlockByNumber', (block, { params }) => (params[0] === 'finalized' ? null : block))
  for (let pass = 0; pass < 3; pass++) await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  proxy.tellTheTruth()
  const elsewhere = await world.anvil.rpc<Block>('eth_getBlockByNumber', ['0x1', false])
  proxy.lie('eth_getTransactionReceipt', (receipt) => ({
    ...(receipt as object),
    blockHash: elsewhere.hash,
    blockNumber: elsewhere.number,
  }))
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  expect(waitsOf(payout.id)).toHaveLength(1)
  proxy.tellTheTruth()
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
})

test('a sweep unknown to one provider keeps its deposits, and a payout that it calls reverted its money', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(3)
  await world.watch()
  // Its deposit is in a block with a receipt that the node keeps.
  await world.database.owner.query('update transfer set block_height = 1 where merchant_id = $1', [
    tenant.merchantId,
  ])
  deny((await world.signedFor(payout.id)).sweeps)
  const tracker = trackerOf(proxied, honest)
  for (let pass = 0; pass < 3; pass++) await tracker.pass()
  const sweepsOf = () =>
    world.database.owner.query('select status from sweep where payout_id = $1', [payout.id])
  expect((await sweepsOf()).rows).toEqual([{ status: 'planned' }])
  expect(world.logged.join('')).toContain('it is not given up until all say so')
  proxy.tellTheTruth()
  await world.until(tenant, payout.id, 'submitted')
  await world.anvil.mine(3)
  await world.watch()
  proxy.lie('eth_getTransactionReceipt', (receipt) =>
    receipt === null ? null : { ...(receipt as object), status: '0x0' },
  )
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  proxy.tellTheTruth()
  await tracker.pass()
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
})

test('a payout that every provider says is dead gives its money back, once all of them answer', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  await world.sign()
  const from = encodeEvmAddress(world.hot)
  await world.anvil.rpc('anvil_impersonateAccount', [from])
  await world.anvil.rpc('eth_sendTransaction', [{ from, to: from, value: '0x0' }])
  await world.anvil.mine(3)
  await world.watch()
  await trackerOf(honest, dead).pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  await trackerOf(honest, proxied).pass()
  await world.sign()
  await trackerOf(honest, proxied).pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'nonce_used_elsewhere',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
})

/** A payout of one ether that failed after what it needs was swept: that stays in the hot wallet, beside the money of others. */
async function leaveInHotWallet(tenant: Tenant): Promise<void> {
  const failed = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.database.owner.query(
    `insert into payout_refusal (merchant_id, payout_id, livemode, code, created_at)
     values ($1, $2, false, 'fee_above_limit', now())`,
    [tenant.merchantId, failed.id],
  )
  await world.anvil.mine(3)
  await world.endRefused()
  expect((await world.load(tenant, failed.id)).status).toBe('failed')
}

test('after a restore that lost payouts their network signs nothing until they are back; each is paid once', async () => {
  await world.fuelHotWallet()
  const tenant = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const others = await world.openShop('USDC_BASE', [USDC])
  await leaveInHotWallet(tenant)
  const restore = await world.backUp()
  const first = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, first.id, 'confirmed')
  const second = await world.payout(others, 'USDC_BASE', '1')
  await world.until(others, second.id, 'confirmed')
  await restore()
  world.logged.length = 0
  const again = await world.payout(tenant, 'ETH_BASE', '1')
  for (let turn = 0; turn < 4; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect(await world.signedFor(again.id)).toEqual({ payout: [], sweeps: [] })
  expect(world.logged.join('')).toContain('paylink signer recover')
  expect(await inspectLostPayouts(world.database.owner)).toMatchObject([
    { kind: 'fault', text: expect.stringContaining('base-test: the database does not know 2') },
  ])
  expect(await world.recover()).toEqual({ [first.id]: 'recovered', [second.id]: 'recovered' })
  expect(await inspectLostPayouts(world.database.owner)).toEqual([])
  for (const [of, { id, destination }] of [
    [tenant, first],
    [others, second],
  ] as const) {
    const done = await world.until(of, id, 'confirmed')
    expect(await world.holds(done.asset === 'ETH_BASE' ? 'ETH_BASE' : 'USDC_BASE', destination)).toBe(
      done.amount - done.networkFee,
    )
  }
  // Paid by its own sweep, and not by what the first one had used up.
  const paid = await world.until(tenant, again.id, 'confirmed')
  expect(await world.holds('ETH_BASE', again.destination)).toBe(paid.amount - paid.networkFee)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await world.balances(others)).toMatchObject({ available: 0n, reserved: 0n })
  const asked = new Set(SWEEP_CHECKS.map(({ name }) => name))
  const audit = (await runAudit(world.database.owner, [])).filter(({ name }) => asked.has(name))
  expect(audit).toHaveLength(asked.size)
  expect(audit.flatMap(({ findings }) => findings)).toEqual([])
})

test.each(['requested', 'rejected'])(
  "a paid payout that is only %s in a restored database is not paid again out of others' money",
  async (status) => {
    await world.fuelHotWallet(3n * ETHER)
    const tenant = await world.openShop('ETH_BASE', [ETHER])
    await leaveInHotWallet(tenant)
    const paid = await world.request(tenant, 'ETH_BASE', '1')
    const restore = await world.backUp()
    await world.approve(tenant, paid.id)
    await world.until(tenant, paid.id, 'confirmed')
    await restore()
    const by = { source: 'available', by: 'key_b', requestId: 'req_test' } as const
    if (status === 'rejected') {
      const deps = { pool: world.database.pools.api, clock: () => world.now, keyring, seals }
      await decidePayout(deps, { ...by, tenant, payoutId: paid.id, decision: 'reject' })
      const again = await world.payout(tenant, 'ETH_BASE', '1')
      for (let turn = 0; turn < 4; turn++) {
        await world.tracker().pass()
        await world.sign()
        await world.anvil.mine(1)
      }
      expect(await world.signedFor(again.id)).toEqual({ payout: [], sweeps: [] })
      expect(await world.recover()).toEqual({ [paid.id]: 'contradicts' })
      await acceptLostPayout(world.database.owner, { id: paid.id, network: world.network }, world.now)
    } else {
      await world.sign()
      expect(await inspectLostPayouts(world.database.owner)).toMatchObject([{ kind: 'fault' }])
      expect(await world.recover()).toEqual({ [paid.id]: 'recovered' })
      expect(await inspectLostPayouts(world.database.owner)).toEqual([])
      await world.until(tenant, paid.id, 'confirmed')
      expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    }
  },
)

test("a deposit to a swept address after the backup is not taken for the lost payout's, and is paid out", async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const invoice = await world.deposit(tenant, 'ETH_BASE', ETHER)
  const restore = await world.backUp()
  const lost = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, lost.id, 'confirmed')
  await restore()
  world.now = new Date(world.now.getTime() + 1_000)
  await world.payInvoice(tenant, { ...invoice, asset: 'ETH_BASE', amount: 2n * ETHER })
  expect(await world.recover()).toEqual({ [lost.id]: 'recovered' })
  await world.until(tenant, lost.id, 'confirmed')
  const next = await world.payout(tenant, 'ETH_BASE', '2')
  const done = await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds('ETH_BASE', next.destination)).toBe(next.amount - done.networkFee)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
})

test('what one provider breaks off in the middle of a look the next one does from the beginning', async () => {
  await world.watch()
  proxy.lie('eth_maxPriorityFeePerGas', () => {
    throw new Error('internal error')
  })
  const counted = await startRpcProxy(world.anvil.url)
  const second = world.clientAt(counted.url)
  await trackerOf(proxied, second).pass()
  await second.close()
  await counted.close()
  expect(counted.calls[0]).toBe('eth_chainId')
  expect(counted.calls).toContain('eth_getBalance')
  await expect(trackerOf(dead, dead).pass()).rejects.toThrow(ChainUnavailable)
})

test('a provider that suggests any tip has a payout pay no more than the network ever takes', async () => {
  proxy.lie('eth_maxPriorityFeePerGas', () => `0x${(1_000n * GWEI).toString(16)}`)
  expect((await proxied.accountOf(Buffer.alloc(20, 1))).tip).toBe(5n * GWEI)
})
