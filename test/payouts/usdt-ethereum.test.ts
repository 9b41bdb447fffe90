import { secp256k1 } from '@noble/curves/secp256k1.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { encodeEvmAddress, evmAddressOf } from '../../src/chain/evm/address.ts'
import { delegatedTo, sweeperOf } from '../../src/chain/evm/sweeper.ts'
import { signTransaction } from '../../src/chain/evm/transaction.ts'
import { signSweeperDelegation } from '../../src/payouts/sign/evm/sign-evm.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'

const ASSET = 'USDT_ETHEREUM'
const USDT = 1_000_000n
const ETHER = 10n ** 18n

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('ethereum', { withUsdt: true })
  await world.fuelHotWallet(10n * ETHER)
}, 180_000)
afterAll(() => world?.close())

const checked = new Set(SWEEP_CHECKS.map(({ name }) => name))
async function findings() {
  const results = await runAudit(world.database.owner, [])
  return results.filter(({ name, findings }) => checked.has(name) && findings.length > 0)
}
const codeAt = (address: Uint8Array | string) =>
  world.anvil.rpc<string>('eth_getCode', [
    typeof address === 'string' ? address : encodeEvmAddress(address),
    'latest',
  ])
const sentByHotWallet = async () =>
  Number(await world.anvil.rpc<string>('eth_getTransactionCount', [encodeEvmAddress(world.hot), 'latest']))
const sweepsOf = async (payoutId: string) =>
  (
    await world.database.owner.query<{ amount: bigint; delegation_nonce: number | null; status: string }>(
      'select amount, delegation_nonce, status from sweep where payout_id = $1 order by amount',
      [payoutId],
    )
  ).rows

const issuer = (...call: Parameters<EvmPayoutWorld['asTether']>) => world.asTether(...call)

test('the first payout puts the sweeper there, once for all, and the deposit arrives whole', async () => {
  const tenant = await world.openShop(ASSET, [])
  const { address } = await world.deposit(tenant, ASSET, 30n * USDT)
  expect(await codeAt(sweeperOf(world.hot))).toBe('0x')
  const payout = await world.payout(tenant, ASSET, '20')
  const done = await world.until(tenant, payout.id, 'confirmed', 20)
  expect(done.networkFee).toBe(0n)
  expect(await world.holds(ASSET, payout.destination)).toBe(20n * USDT)
  expect(await world.holds(ASSET, world.hot)).toBe(10n * USDT)
  expect(await codeAt(address)).toBe(delegatedTo(sweeperOf(world.hot)))
  expect(await sweepsOf(payout.id)).toMatchObject([
    { amount: 0n, delegation_nonce: null, status: 'done' },
    { amount: 30n * USDT, delegation_nonce: 0, status: 'done' },
  ])
  expect(await findings()).toEqual([])
  const next = await world.openShop(ASSET, [5n * USDT])
  const second = await world.payout(next, ASSET, '5')
  await world.until(next, second.id, 'confirmed')
  expect(await sweepsOf(second.id)).toMatchObject([{ amount: 5n * USDT, delegation_nonce: 0 }])
  expect(await findings()).toEqual([])
})

test('a later payment to the same address needs no delegation, and its ether takes the next nonce', async () => {
  const tenant = await world.openShop(ASSET, [])
  const { invoiceId, address } = await world.deposit(tenant, ASSET, 8n * USDT)
  const first = await world.payout(tenant, ASSET, '8')
  await world.until(tenant, first.id, 'confirmed')
  await world.payInvoice(tenant, { invoiceId, address, asset: ASSET, amount: 3n * USDT })
  await world.payInvoice(tenant, { invoiceId, address, asset: 'ETH', amount: ETHER })
  const second = await world.payout(tenant, ASSET, '3')
  const ether = await world.payout(tenant, 'ETH', '0.5')
  await world.until(tenant, second.id, 'confirmed')
  await world.until(tenant, ether.id, 'confirmed')
  expect(await sweepsOf(second.id)).toMatchObject([{ amount: 3n * USDT, delegation_nonce: null }])
  const { rows } = await world.database.owner.query('select nonce from sweep where payout_id = $1', [
    ether.id,
  ])
  expect(rows).toEqual([{ nonce: 1 }])
  expect(await findings()).toEqual([])
})

test('ether and USDT of one address take one nonce after the other, whichever is asked for first', async () => {
  const tenant = await world.openShop(ASSET, [])
  const { invoiceId, address } = await world.deposit(tenant, ASSET, 8n * USDT)
  await world.payInvoice(tenant, { invoiceId, address, asset: 'ETH', amount: ETHER })
  await world.payInvoice(tenant, { invoiceId, address, asset: 'USDC_ETHEREUM', amount: 4n * USDT })
  const payouts = [
    await world.payout(tenant, 'ETH', '0.5'),
    await world.payout(tenant, ASSET, '8'),
    await world.payout(tenant, 'USDC_ETHEREUM', '4'),
  ]
  for (const { id } of payouts) await world.until(tenant, id, 'confirmed', 20)
  const { rows } = await world.database.owner.query<{ nonce: number }>(
    `select coalesce(nonce, delegation_nonce) as nonce from sweep
     where address = decode($1, 'hex') and asset <> 'USDC_ETHEREUM' order by 1`,
    [address.slice(2)],
  )
  expect(rows).toEqual([{ nonce: 0 }, { nonce: 1 }])
  expect(await findings()).toEqual([])
})

test('two watchers that plan a sweep of ether and one of USDT at a time give one nonce once', async () => {
  const tenant = await world.openShop(ASSET, [])
  const { invoiceId, address } = await world.deposit(tenant, ASSET, 8n * USDT)
  await world.payInvoice(tenant, { invoiceId, address, asset: 'ETH', amount: ETHER })
  const ether = await world.request(tenant, 'ETH', '0.5')
  const usdt = await world.payout(tenant, ASSET, '8')
  let isOther = false
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    nonceOf: async (account, at) => {
      const nonce = await chain.nonceOf(account, at)
      if (encodeEvmAddress(account) === address && !isOther) {
        isOther = true
        await world.approve(tenant, ether.id)
        await world.tracker().pass()
      }
      return nonce
    },
  }))
  await tracker.pass()
  expect(isOther).toBe(true)
  for (const { id } of [ether, usdt]) await world.until(tenant, id, 'confirmed', 20)
  expect(await findings()).toEqual([])
})

test('a sweep of ether whose nonce a delegation took fails, and its ether is paid out by the next payout', async () => {
  const tenant = await world.openShop(ASSET, [])
  const { address } = await world.deposit(tenant, 'ETH', ETHER)
  const payout = await world.payout(tenant, 'ETH', '0.5')
  await world.tracker().pass()
  await world.sign()
  const { rows } = await world.database.owner.query<{ idx: number }>(
    'select idx from deposit_address where merchant_id = $1',
    [tenant.merchantId],
  )
  const account = world.accounts.spenders.get('evm-test')
  if (account === undefined) throw new Error('the account is not there')
  // As of an earlier sweep that never came into a block: whoever saw it may carry it later.
  const delegation = signSweeperDelegation(account, rows[0]?.idx ?? 0, { chainId: 31_337n, nonce: 0n })
  const stranger = secp256k1.keygen()
  const strangers = encodeEvmAddress(evmAddressOf(stranger.publicKey))
  await world.anvil.send({ to: strangers, value: ETHER })
  await world.anvil.mine(1)
  const { raw } = signTransaction(
    {
      ...{ chainId: 31_337n, nonce: 0n, gas: 100_000n, value: 0n, data: new Uint8Array() },
      ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n, to: world.hot, delegation },
    },
    stranger.secretKey,
  )
  await world.anvil.rpc('eth_sendRawTransaction', [`0x${raw.toString('hex')}`])
  await world.anvil.mine(1)
  expect(await codeAt(address)).toBe(delegatedTo(sweeperOf(world.hot)))
  const failed = await world.until(tenant, payout.id, 'failed', 20)
  expect(failed.failureCode).toBe('sweep_failed')
  const next = await world.payout(tenant, 'ETH', '0.5')
  await world.until(tenant, next.id, 'confirmed', 20)
  expect(await findings()).toEqual([])
})

test.each([
  [
    'blocks the deposit',
    (address: string) => issuer('blacklist(address,bool)', address, 1n),
    'deposit_frozen',
  ],
  [
    'blocks the hot wallet',
    () => issuer('blacklist(address,bool)', encodeEvmAddress(world.hot), 1n),
    'token_refuses',
  ],
  ['pauses it', () => issuer('pause(bool)', 1n), 'token_refuses'],
  ['takes a fee', () => issuer('setParams(uint256,uint256)', 100n, 10n * USDT), 'token_refuses'],
])(
  'where the issuer %s, a payout fails before any gas is spent, and others go on',
  async (_what, act, code) => {
    const tenant = await world.openShop(ASSET, [])
    const { address } = await world.deposit(tenant, ASSET, 6n * USDT)
    const other = await world.openShop('ETH', [ETHER])
    const sent = await sentByHotWallet()
    await act(address)
    const payout = await world.payout(tenant, ASSET, '6')
    const failed = await world.until(tenant, payout.id, 'failed')
    expect(failed.failureCode).toBe(code)
    expect(await sentByHotWallet()).toBe(sent)
    expect(await world.balances(tenant)).toMatchObject({ available: 6n * USDT, reserved: 0n })
    const ether = await world.payout(other, 'ETH', '0.5')
    await world.until(other, ether.id, 'confirmed')
    for (const blocked of [address, encodeEvmAddress(world.hot)])
      await issuer('blacklist(address,bool)', blocked, 0n)
    await issuer('pause(bool)', 0n)
    await issuer('setParams(uint256,uint256)', 0n, 0n)
    const next = await world.payout(tenant, ASSET, '6')
    await world.until(tenant, next.id, 'confirmed')
    expect(await findings()).toEqual([])
  },
)

test('a fee that begins after a sweep was signed fails that sweep, and the next one takes all of it', async () => {
  const tenant = await world.openShop(ASSET, [9n * USDT])
  const payout = await world.payout(tenant, ASSET, '9')
  await world.tracker().pass()
  await world.sign()
  await issuer('setParams(uint256,uint256)', 100n, 10n * USDT)
  const failed = await world.until(tenant, payout.id, 'failed')
  expect(failed.failureCode).toBe('sweep_failed')
  await issuer('setParams(uint256,uint256)', 0n, 0n)
  expect(await findings()).toEqual([])
  const next = await world.payout(tenant, ASSET, '9')
  await world.until(tenant, next.id, 'confirmed')
  // What reverted has delegated the address all the same (EIP-7702).
  expect(await sweepsOf(next.id)).toMatchObject([
    { amount: 9n * USDT, delegation_nonce: null, status: 'done' },
  ])
  expect(await findings()).toEqual([])
})

test('a sweep that a reorganisation takes back happens again, and once', async () => {
  const tenant = await world.openShop(ASSET, [7n * USDT])
  await world.anvil.mine(3)
  const before = await world.holds(ASSET, world.hot)
  const payout = await world.payout(tenant, ASSET, '7')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'done' }])
  await world.anvil.reorganise(1, () => true)
  expect(await world.holds(ASSET, world.hot)).toBe(before)
  await world.until(tenant, payout.id, 'confirmed', 20)
  expect(await world.holds(ASSET, payout.destination)).toBe(7n * USDT)
  expect(await world.holds(ASSET, world.hot)).toBe(before)
  expect((await sweepsOf(payout.id)).map(({ amount }) => amount)).toEqual([7n * USDT])
  expect(await findings()).toEqual([])
})

test.each([
  ['the node knows no delegation', { kind: 'problem', problem: 'the chain knows no EIP-7702' }],
  ['other code stands at the sweeper’s address', { kind: 'problem', problem: 'other code than our own' }],
] as const)('where %s, one line says so, and only what needs it waits a day', async (_what, state) => {
  const tenant: Tenant = await world.openShop(ASSET, [4n * USDT])
  const other = await world.openShop('USDC_ETHEREUM', [4n * USDT])
  const payouts = [
    await world.payout(tenant, ASSET, '4'),
    await world.payout(other, 'USDC_ETHEREUM', '4'),
  ] as const
  const tracker = world.tracker((chain) => ({ ...boundChain(chain), sweeperOf: async () => state }))
  const sent = world.logged.length
  for (let turn = 0; turn < 8; turn++) {
    await tracker.pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect((await world.load(tenant, payouts[0].id)).status).toBe('approved')
  expect((await world.load(other, payouts[1].id)).status).toBe('confirmed')
  expect(world.logged.slice(sent).filter((line) => line.includes(state.problem))).toHaveLength(1)
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  await tracker.pass()
  await world.endRefused()
  expect(await world.load(tenant, payouts[0].id)).toMatchObject({
    status: 'failed',
    failureCode: 'sweeper_missing',
  })
})

test('what a hostile database asks for again the signer signs once a day: the sweeper’s creation', async () => {
  const { owner } = world.database
  const tenant = await world.openShop(ASSET, [4n * USDT])
  const payout = await world.payout(tenant, ASSET, '4')
  // Nothing that the sweeper moves is planned yet.
  const tracker = world.tracker((chain) => ({
    ...boundChain(chain),
    sweeperOf: async () => ({ kind: 'settling' }) as const,
  }))
  await tracker.pass()
  // Three times is asked for what stands there.
  for (const letter of ['a', 'b', 'c'])
    await owner.query(
      `insert into sweep (merchant_id, id, livemode, payout_id, network, asset, address, key_index, amount, status, created_at)
       select p.merchant_id, 'swp_' || left(substr(p.id, 4), -1) || $2, p.livemode, p.id, p.network, p.asset, d.program, d.idx,
         0, 'planned', p.created_at
       from payout p join deposit_address d on d.merchant_id = p.merchant_id where p.id = $1`,
      [payout.id, letter],
    )
  const signed = async () => {
    const { rows } = await owner.query(
      `select from sweep_transaction t join sweep s on s.id = t.sweep_id where s.payout_id = $1 and s.amount = 0`,
      [payout.id],
    )
    return rows.length
  }
  const turns = async () => {
    for (let turn = 0; turn < 3; turn++) {
      await world.sign()
      await tracker.pass()
      await world.anvil.mine(1)
    }
  }
  const pass = async (hours: number) => {
    world.now = new Date(world.now.getTime() + hours * 60 * 60_000)
    await tracker.pass()
  }
  await turns()
  const before = await signed()
  // By its journal it has done so lately, and by the watcher's seal one came into a block.
  await pass(20)
  await turns()
  expect(await signed()).toBe(before)
  await pass(5)
  await turns()
  expect(await signed()).toBe(before + 1)
  await pass(25)
  await world.tracker().pass()
  // Beside what the sweeper moves it is not signed at all.
  await world.until(tenant, payout.id, 'confirmed')
  expect(await signed()).toBe(before + 1)
})
