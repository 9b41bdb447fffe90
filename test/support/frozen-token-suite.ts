import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { EvmRpcError } from '../../src/chain/evm/evm-rpc.ts'
import { isSweptByDelegation } from '../../src/core/assets.ts'
import type { EvmChain } from '../../src/core/chain/evm-networks.ts'
import { inspectFrozenDeposits } from '../../src/doctor/inspect-signer.ts'
import { listFrozenDeposits } from '../../src/payouts/store/frozen-deposits.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newEvmAddress } from './anvil.ts'
import { putBefore, type UPGRADES, upgradeToken } from './evm-contracts.ts'
import { boundChain, type EvmAsset, EvmPayoutWorld, isUsdt } from './evm-payout-world.ts'
import { askForFees } from './fee-payouts.ts'
import { startRpcProxy } from './rpc-proxy.ts'

const USDC = 1_000_000n
/** Of `transfer(address,uint256)`. */
const TRANSFER = '0xa9059cbb'

let world: EvmPayoutWorld

const checked = new Set(SWEEP_CHECKS.map(({ name }) => name))
async function findings() {
  const results = await runAudit(world.database.owner, [])
  return results.filter(({ name, findings }) => checked.has(name) && findings.length > 0)
}

async function frozenOf(tenant: Tenant) {
  const listed = await withTransaction(world.database.pools.api, tenant, (tx) =>
    listFrozenDeposits(tx, tenant, 20),
  )
  return listed.map(({ invoiceId, amount }) => ({ invoiceId, amount }))
}

/** Transactions of the hot wallet that a block has: each costs gas. */
const sentByHotWallet = async () =>
  Number(await world.anvil.rpc<string>('eth_getTransactionCount', [encodeEvmAddress(world.hot), 'latest']))

/**
 * What a token of a network owes to merchants while its issuer has frozen an address, or all of them. `short`: what
 * depends on the token, without what nodes say of it.
 */
export function describeFrozenToken(chain: EvmChain, token: EvmAsset, form: 'full' | 'short' = 'full'): void {
  describe(`${token}, whose issuer freezes it`, () => {
    beforeAll(async () => {
      world = await EvmPayoutWorld.open(chain, { withUsdt: isUsdt(token) })
      await world.guardToken(token)
      await putBefore(world.anvil, world.contractOf(token), 'UpgradedToken')
      await world.fuelHotWallet()
    }, 180_000)
    afterAll(() => world?.close())
    afterEach(() => freeze(null, false))

    const freeze = (who: Uint8Array | string | null, isFrozen = true) => world.freeze(who, isFrozen, token)
    describeIssuersBlocks(token, freeze)
    describeUpgrades(token)
    if (form === 'full') describeWordsOfNodes(token, freeze)
  })
}

type Freeze = (who: Uint8Array | string | null, isFrozen?: boolean) => Promise<void>

/** What must hold of every token. */
function describeIssuersBlocks(token: EvmAsset, freeze: Freeze): void {
  test('one deposit frozen by its issuer holds up no payout of the others, and no gas is spent on it', async () => {
    const tenant = await world.openShop(token, [])
    const frozen = await world.deposit(tenant, token, 60n * USDC)
    await world.deposit(tenant, token, 30n * USDC)
    await world.deposit(tenant, token, 10n * USDC)
    await freeze(frozen.address)
    const sent = await sentByHotWallet()
    const most = await world.payout(tenant, token, '70')
    const done = await world.until(tenant, most.id, 'failed')
    expect(done).toMatchObject({ failureCode: 'deposit_frozen' })
    expect(await world.balances(tenant)).toMatchObject({ available: 100n * USDC, reserved: 0n })
    expect(await sentByHotWallet()).toBe(sent)
    expect(await frozenOf(tenant)).toEqual([{ invoiceId: frozen.invoiceId, amount: 60n * USDC }])
    const told = (await inspectFrozenDeposits(world.database.owner)).map(({ text }) => text)
    expect(told.filter((text) => text.includes(frozen.address))).toHaveLength(1)
    const all = await world.ask(tenant, { asset: token, amount: null, address: newEvmAddress().address })
    expect(all).toMatchObject({ payout: { amount: 40n * USDC } })
    if (all.kind === 'requested') await world.reject(tenant, all.payout.id)
    const payouts = [await world.payout(tenant, token, '35'), await world.payout(tenant, token, '5')]
    for (const { id } of payouts) await world.until(tenant, id, 'confirmed', 20)
    for (const { destination, amount } of payouts) expect(await world.holds(token, destination)).toBe(amount)
    expect(await world.balances(tenant)).toMatchObject({ available: 60n * USDC, reserved: 0n })
    await freeze(frozen.address, false)
    world.now = new Date(world.now.getTime() + 11 * 60_000)
    await world.tracker().pass()
    expect(await frozenOf(tenant)).toEqual([])
    const rest = await world.payout(tenant, token, '60')
    await world.until(tenant, rest.id, 'confirmed')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    expect(await findings()).toEqual([])
  })

  const DESTINATION = newEvmAddress()

  test.each([
    ['the destination', DESTINATION.addressBytes, 'destination_refuses'],
    ['the hot wallet', null, 'token_refuses'],
    ['every address', new Uint8Array(20), 'token_refuses'],
  ])('where the issuer blocks %s, a payout fails before any gas is spent', async (_who, blocked, code) => {
    const tenant = await world.openShop(token, [USDC])
    await freeze(blocked ?? world.hot)
    const sent = await sentByHotWallet()
    const payout = await world.payout(tenant, token, '1', DESTINATION.address)
    const failed = await world.until(tenant, payout.id, 'failed')
    expect(failed.failureCode).toBe(code)
    expect(await sentByHotWallet()).toBe(sent)
    expect(await world.balances(tenant)).toMatchObject({ available: USDC, reserved: 0n })
    await freeze(blocked ?? world.hot, false)
    const next = await world.payout(tenant, token, '1')
    await world.until(tenant, next.id, 'confirmed', 20)
  })
}

/** What an issuer's upgrade of the token's contract may do to one merchant, and to no other. */
function describeUpgrades(token: EvmAsset): void {
  const upgrade = (kind: keyof typeof UPGRADES) => upgradeToken(world.anvil, world.contractOf(token), kind)

  test.each(['fee', 'says no', 'halved'] as const)(
    'an upgrade (%s) takes nothing of what other merchants have in the hot wallet',
    async (kind) => {
      const other = await world.openShop(token, [40n * USDC])
      const first = await world.payout(other, token, '10')
      await world.until(other, first.id, 'confirmed', 20)
      const theirs = await world.holds(token, world.hot)
      const tenant = await world.openShop(token, [])
      const { address } = await world.deposit(tenant, token, 20n * USDC)
      await upgrade(kind)
      const { id } = await world.payout(tenant, token, '20')
      for (let turn = 0; turn < 6; turn++) {
        await world.tracker().pass()
        await world.sign()
        await world.tracker().pass()
        await world.anvil.mine(1)
      }
      const during = await world.load(tenant, id)
      await upgrade('none')
      expect(await world.holds(token, world.hot)).toBeGreaterThanOrEqual(theirs)
      const rest = await world.payout(other, token, '30')
      await world.until(other, rest.id, 'confirmed', 20)
      expect(await world.holds(token, rest.destination)).toBe(30n * USDC)
      expect(during).toMatchObject(
        kind === 'halved'
          ? { status: 'approved' }
          : { status: 'failed', failureCode: kind === 'fee' ? 'sweep_failed' : 'token_refuses' },
      )
      if (kind === 'fee' && !isSweptByDelegation(token)) {
        expect(world.logged.join('')).toContain('brought less than it moved')
        expect(await world.balances(tenant)).toMatchObject({ available: 20n * USDC, reserved: 0n })
        // Somebody makes up for it: what came meanwhile is in the hot wallet, and nobody's.
        await world.pay(token, address, 20n * USDC)
        await world.anvil.mine(1)
      }
      const again = kind === 'halved' ? during : await world.payout(tenant, token, '20')
      await world.until(tenant, again.id, 'confirmed', 20)
      expect(await world.holds(token, again.destination)).toBe(20n * USDC)
    },
  )
}

/** What one node or another says of a token, and what follows for payouts. */
function describeWordsOfNodes(token: EvmAsset, freeze: Freeze): void {
  test('a deposit that one provider of two calls frozen ends no payout, and is not called frozen', async () => {
    const tenant = await world.openShop(token, [])
    const { address } = await world.deposit(tenant, token, 60n * USDC)
    const from = address.toLowerCase()
    const proxy = await startRpcProxy(world.anvil.url)
    proxy.lie('eth_call', (answer, { params: [call] }) => {
      const asked = call as { from?: string; data?: string }
      if (asked.from?.toLowerCase() !== from || !asked.data?.startsWith(TRANSFER)) return answer
      throw new Error('execution reverted: frozen')
    })
    try {
      const tracker = world.trackerOf([
        { name: 'the first', chain: world.clientAt(proxy.url) },
        { name: 'the second', chain: world.clientAt(world.anvil.url) },
      ])
      const payout = await world.payout(tenant, token, '60')
      for (let turn = 0; turn < 4; turn++) {
        await tracker.pass()
        await world.sign()
        await world.anvil.mine(1)
      }
      expect((await world.load(tenant, payout.id)).status).toBe('approved')
      expect(await frozenOf(tenant)).toEqual([])
      await world.until(tenant, payout.id, 'confirmed')
    } finally {
      await proxy.close()
    }
  })

  test('a deposit that its issuer let go of, and that a payout swept, is withheld from no later payout', async () => {
    const tenant = await world.openShop(token, [])
    const frozen = await world.deposit(tenant, token, 60n * USDC)
    await freeze(frozen.address)
    const first = await world.payout(tenant, token, '60')
    await world.until(tenant, first.id, 'failed')
    await freeze(frozen.address, false)
    const next = await world.payout(tenant, token, '60')
    await world.until(tenant, next.id, 'confirmed')
    world.now = new Date(world.now.getTime() + 11 * 60_000)
    await world.tracker().pass()
    expect(await frozenOf(tenant)).toEqual([])
    await world.deposit(tenant, token, 10n * USDC)
    const all = await world.ask(tenant, { asset: token, amount: null, address: newEvmAddress().address })
    expect(all).toMatchObject({ payout: { amount: 10n * USDC } })
  })

  test('fees are paid out, all of them, while a larger deposit is frozen', async () => {
    const tenant = await world.openShop(token, [])
    const openPaid = async (amount: bigint) => {
      const terms = { asset: token, amount, serviceFeeBps: 1_000 }
      const { address, id: invoiceId } = await world.openInvoice(tenant, terms)
      await world.payInvoice(tenant, { invoiceId, address, asset: token, amount })
      return address
    }
    const frozen = await openPaid(60n * USDC)
    await openPaid(40n * USDC)
    await freeze(frozen)
    const most = await world.payout(tenant, token, '70')
    await world.until(tenant, most.id, 'failed')
    const { address } = newEvmAddress()
    const asked = await askForFees(world.database, tenant, { asset: token, address, now: world.now })
    if (asked.kind !== 'requested') throw new Error(asked.kind)
    await world.approve(tenant, asked.payout.id)
    await world.until(tenant, asked.payout.id, 'confirmed')
    expect(await world.holds(token, address)).toBe(10n * USDC)
    const rest = await world.ask(tenant, { asset: token, amount: null, address: newEvmAddress().address })
    expect(rest).toMatchObject({ payout: { amount: 30n * USDC } })
  })

  test('a node that calls a revert otherwise, as Nethermind does, holds up no payouts over a frozen deposit', async () => {
    const tenant = await world.openShop(token, [])
    const frozen = await world.deposit(tenant, token, 60n * USDC)
    await freeze(frozen.address)
    const proxy = await startRpcProxy(world.anvil.url)
    const chain = world.clientAt(proxy.url)
    try {
      proxy.lie('eth_call', (result) => {
        if (result === undefined) throw new Error('VM execution error.')
        return result
      })
      const payout = await world.payout(tenant, token, '60')
      const tracker = world.trackerOf([{ name: 'the node', chain }])
      await tracker.pass()
      await tracker.pass()
      await world.sign()
      await tracker.pass()
      expect(await world.load(tenant, payout.id)).toMatchObject({ failureCode: 'deposit_frozen' })
    } finally {
      await chain.close()
      await proxy.close()
    }
  })

  test('servers behind one URL that disagree about a deposit do not make it look frozen', async () => {
    const tenant = await world.openShop(token, [30n * USDC])
    const doubtful = await world.deposit(tenant, token, 60n * USDC)
    const frozen = await world.deposit(tenant, token, USDC)
    await freeze(frozen.address)
    const proxy = await startRpcProxy(world.anvil.url)
    const chain = world.clientAt(proxy.url)
    try {
      // The server that answers calls has not seen the block of the deposit, and the one that answers balances has.
      proxy.lie('eth_call', (result, { params }) => {
        if (result === undefined) throw new Error('execution reverted: frozen')
        const [{ from, data }] = params as [{ from?: string; data: string }]
        const isMoved = data.startsWith(TRANSFER) && BigInt(`0x${data.slice(-64)}`) > 0n
        if (from?.toLowerCase() !== doubtful.address.toLowerCase() || !isMoved) return result
        throw new Error('execution reverted: ERC20: transfer amount exceeds balance')
      })
      const tracker = world.trackerOf([{ name: 'the node', chain }])
      const payout = await world.payout(tenant, token, '90')
      for (let turn = 0; turn < 2; turn++) {
        await tracker.pass()
        await world.sign()
      }
      expect((await world.load(tenant, payout.id)).status).toBe('approved')
      expect(await frozenOf(tenant)).toEqual([{ invoiceId: frozen.invoiceId, amount: USDC }])
      expect(world.logged.filter((line) => line.includes('contradicts itself'))).toHaveLength(1)
      proxy.tellTheTruth()
      await world.until(tenant, payout.id, 'confirmed')
    } finally {
      await chain.close()
      await proxy.close()
    }
  })

  test('a deposit about which the node refuses a question holds up no payout of the others, and fails none', async () => {
    const tenant = await world.openShop(token, [30n * USDC, 10n * USDC])
    const other = await world.openShop(token, [5n * USDC])
    const doubtful = await world.deposit(tenant, token, 60n * USDC)
    const payouts = [
      { of: tenant, payout: await world.payout(tenant, token, '40') },
      { of: other, payout: await world.payout(other, token, '5') },
    ]
    const rest = await world.payout(tenant, token, '60')
    const tracker = world.tracker((chain) => ({
      ...boundChain(chain),
      failureOf: (call) =>
        encodeEvmAddress(call.from) === doubtful.address
          ? Promise.reject(
              new EvmRpcError('the node', 'eth_call', { code: -32_000, message: 'header not found' }),
            )
          : chain.failureOf(call),
    }))
    for (let turn = 0; turn < 8; turn++) {
      await tracker.pass()
      await world.sign()
      await tracker.pass()
      await world.anvil.mine(1)
    }
    for (const { of, payout } of payouts)
      expect((await world.load(of, payout.id)).status, payout.id).toBe('confirmed')
    expect((await world.load(tenant, rest.id)).status).toBe('approved')
    const told = world.logged.filter(
      (line) => line.includes(doubtful.address.toLowerCase()) && line.includes('refuses a question'),
    )
    expect(told).toHaveLength(1)
    await world.until(tenant, rest.id, 'confirmed')
  })

  test('of two payouts requested together, the one that the frozen deposit leaves enough for is paid', async () => {
    const tenant = await world.openShop(token, [40n * USDC])
    const frozen = await world.deposit(tenant, token, 60n * USDC)
    await freeze(frozen.address)
    const [large, small] = [await world.payout(tenant, token, '60'), await world.payout(tenant, token, '40')]
    await world.until(tenant, small.id, 'confirmed')
    expect(await world.load(tenant, large.id)).toMatchObject({ failureCode: 'deposit_frozen' })
    expect(await findings()).toEqual([])
  })
}
