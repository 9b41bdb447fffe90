import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AssetId } from '../../src/core/assets.ts'
import type { EvmChain } from '../../src/core/chain/evm-networks.ts'
import type { EvmNetwork } from '../../src/core/chain/evm-registry.ts'
import type { Anvil } from '../support/anvil.ts'
import type { EvmAsset } from '../support/evm-payout-world.ts'

/** BNB Smart Chain, whose dollars have eighteen decimals, as data alone: no line of the program knows it. */
const GWEI = 1_000_000_000n
const CHAIN = 'bnb'
const NETWORK: EvmNetwork = {
  title: 'BNB Smart Chain',
  main: {
    name: 'main',
    title: 'BNB Smart Chain',
    chainId: 56,
    rpcUrl: 'https://56.rpc.thirdweb.com',
    explorer: 'https://bscscan.com',
  },
  publicProviders: ['https://56.rpc.thirdweb.com', 'https://bsc-rpc.publicnode.com'],
  testnet: {
    name: 'bsc-testnet',
    title: 'BNB Smart Chain Testnet',
    chainId: 97,
    rpcUrl: 'https://97.rpc.thirdweb.com',
    explorer: 'https://testnet.bscscan.com',
  },
  sandboxChainId: 31_356,
  currency: { name: 'BNB', symbol: 'BNB', decimals: 18 },
  headAgeMsMax: 120_000,
  probeIntervalMs: 500,
  reorgDepthMax: 960,
  safeTag: 'safe',
  dataFee: 'none',
  tip: { usual: GWEI / 10n, min: 0n, max: 10n * GWEI },
  gasPriceMax: 1_000n * GWEI,
}
const OWN = {
  ...{ networkName: NETWORK.title, chain: CHAIN, keyFamily: 'evm', decimals: 18, isOnByDefault: false },
}
const ASSETS_OF_BNB = {
  BNB_BNB: {
    ...{ ...OWN, name: 'BNB', symbol: 'BNB', priceSymbol: 'ETH' },
    ...{ minimum: 10n ** 13n, dustBelow: 10n ** 12n, sumIndex: -900, token: null },
  },
  USDC_BNB: {
    ...{ ...OWN, name: 'USDC', symbol: 'USDC', priceSymbol: 'USDC' },
    ...{ minimum: 10n ** 13n, dustBelow: 10n ** 12n, sumIndex: -901 },
    token: {
      contracts: { live: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', test: null },
      standard: 'eip20',
      outputIndex: 1,
    },
  },
}
const ASSET = 'USDC_BNB' as AssetId

/** Every module anew, on registries that have a network more; other files get theirs as they were. */
async function openWithBnb() {
  vi.resetModules()
  Object.assign((await import('../../src/core/chain/evm-registry.ts')).EVM_NETWORKS, { [CHAIN]: NETWORK })
  Object.assign((await import('../../src/core/asset-registry.ts')).ASSET_REGISTRY, ASSETS_OF_BNB)
  return {
    ...(await import('../support/watched-chain.ts')),
    ...(await import('../support/evm-driver.ts')),
    ...(await import('../support/evm-payout-world.ts')),
    ...(await import('../../src/audit/run-audit.ts')),
  }
}
let bnb: Awaited<ReturnType<typeof openWithBnb>>
beforeAll(async () => {
  bnb = await openWithBnb()
}, 120_000)
afterAll(() => {
  vi.resetModules()
})

/** Puts a proxy before a test token, which has six decimals: it says eighteen, and leaves all else to what was there. */
async function sayEighteen(anvil: Anvil, token: string): Promise<void> {
  const behind = `0x${'be'.repeat(20)}`
  await anvil.rpc('anvil_setCode', [behind, await anvil.rpc('eth_getCode', [token, 'latest'])])
  const decimals = '5f3560e01c63313ce56714603b57'
  const call = `365f5f375f5f365f73${'be'.repeat(20)}5af43d5f5f3e6037573d5ffd5b3d5ff3`
  await anvil.rpc('anvil_setCode', [token, `0x${decimals}${call}5b60125f5260205ff3`])
}

test('a token of eighteen decimals on a network of data alone is detected, reorganised and paid once', async () => {
  const driver = bnb.evmDriver(ASSET)
  const watched = await bnb.WatchedChain.open({
    ...driver,
    amount: 10n ** 18n,
    start: async () => {
      const driven = await driver.start()
      await sayEighteen(driven.anvil, driven.token.contract)
      return driven
    },
  })
  try {
    const before = await watched.availableBalance()
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    await watched.chain.pay(invoice.address, 10n ** 18n)
    await watched.chain.mine(1)
    await watched.untilStatus(invoice.id, 'confirming')
    await watched.chain.reorganise(1)
    await watched.chain.mine(3)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.availableBalance()).toBe(before + 10n ** 18n)
    const audit = await bnb.runAudit(watched.database.owner, [])
    expect(audit.filter(({ findings }) => findings.length > 0)).toEqual([])
  } finally {
    await watched.close()
  }
})

test('its deposits are swept by delegation and paid out, and the books agree', async () => {
  const world = await bnb.EvmPayoutWorld.open(CHAIN as EvmChain)
  try {
    await world.fuelHotWallet(10n ** 19n)
    const asset = ASSET as EvmAsset
    const tenant = await world.openShop(asset, [3n * 10n ** 14n, 10n ** 14n])
    const payout = await world.payout(tenant, asset, '0.0004')
    await world.until(tenant, payout.id, 'confirmed', 20)
    expect(await world.holds(asset, payout.destination)).toBe(4n * 10n ** 14n)
    const coin = 'BNB_BNB' as EvmAsset
    const other = await world.openShop(coin, [10n ** 18n])
    const own = await world.payout(other, coin, '0.5')
    const done = await world.until(other, own.id, 'confirmed', 20)
    expect(await world.holds(coin, own.destination)).toBe(own.amount - done.networkFee)
    const audit = await bnb.runAudit(world.database.owner, [])
    expect(audit.filter(({ name, findings }) => /sweep|hot/.test(name) && findings.length > 0)).toEqual([])
  } finally {
    await world.close()
  }
})
