import { expect, test } from 'vitest'
import { ASSET_IDS, type AssetId } from './assets.ts'
import {
  acceptedAssets,
  confirmationsFor,
  confirmationTiersOf,
  defaultAsset,
  minimumOf,
  readPaymentRules,
  toleranceFor,
} from './payment-rules.ts'

const defaults = readPaymentRules(undefined)
const only =
  (...assets: AssetId[]) =>
  (asset: AssetId) =>
    assets.includes(asset)

test('without a document every rule is its default', () => {
  expect(defaults).toMatchObject({
    acceptedAssets: null,
    defaultAsset: null,
    windowMinutes: 60,
    toleranceUnder: { basisPoints: 0, capCents: 0n },
    toleranceOver: { basisPoints: 0, capCents: 0n },
    minimums: {},
    reopenExpired: false,
    solanaFundedAddresses: false,
  })
})

test('whatever is not understood in a document is the default', () => {
  const nonsense: unknown[] = [
    null,
    7,
    'x',
    [],
    { accepted_assets: 'BTC', default_asset: 'DOGE', window_minutes: 61 },
  ]
  const inside = {
    tolerance_under: { basis_points: -1, cap_cents: 1.5 },
    confirmations: { LTC: [1, 2] },
    minimums: { BTC: '-5' },
  }
  for (const document of [...nonsense, inside]) expect(readPaymentRules(document)).toEqual(defaults)
})

test('what is on by default is accepted, in live mode where its network runs, unless the merchant chose', () => {
  expect(acceptedAssets(defaults, false, only())).toEqual([
    'BTC',
    'LTC',
    'ETH',
    'ETH_BASE',
    'USDC_BASE',
    'SOL',
  ])
  expect(acceptedAssets(defaults, true, only('USDC_BASE', 'USDC_ETHEREUM'))).toEqual(['USDC_BASE'])
  expect(acceptedAssets(defaults, true, only('LTC', 'SOL'))).toEqual(['LTC', 'SOL'])
  expect(acceptedAssets(readPaymentRules({ accepted_assets: ['SOL', 'LTC', 'XXX'] }), true, only())).toEqual([
    'LTC',
    'SOL',
  ])
})

test('the default coin is USDC on Base, or the first accepted one whose network runs here', () => {
  expect(defaultAsset(defaults, ASSET_IDS, only('USDC_BASE', 'BTC'))).toBe('USDC_BASE')
  expect(defaultAsset(defaults, ASSET_IDS, only('LTC', 'BTC'))).toBe('BTC')
  expect(defaultAsset(defaults, ['SOL', 'LTC'], only('LTC', 'BTC'))).toBe('LTC')
  expect(defaultAsset(defaults, ASSET_IDS, only())).toBe('USDC_BASE')
  expect(defaultAsset(defaults, ['USDC_ETHEREUM'], only())).toBe('USDC_ETHEREUM')
  expect(defaultAsset(defaults, [], only('BTC'))).toBeNull()
  const chosen = readPaymentRules({ default_asset: 'SOL' })
  expect(defaultAsset(chosen, ASSET_IDS, only('BTC'))).toBe('SOL')
  expect(defaultAsset(chosen, ['BTC'], only('BTC'))).toBe('BTC')
})

test('a merchant can raise an asset’s minimum and never lower it', () => {
  expect(minimumOf(defaults, 'BTC')).toBe(330n)
  expect(minimumOf(readPaymentRules({ minimums: { BTC: '1000' } }), 'BTC')).toBe(1000n)
  expect(minimumOf(readPaymentRules({ minimums: { BTC: '1' } }), 'BTC')).toBe(330n)
})

test('confirmations follow what the invoice is worth; an unknown worth takes the highest', () => {
  const of = (asset: AssetId, cents: bigint | null, parameters = 'main') =>
    confirmationsFor(defaults, asset, cents, parameters)[asset]
  expect([99_999n, 100_000n, 999_999n, 1_000_000n, null].map((cents) => of('BTC', cents))).toEqual([
    1, 3, 3, 6, 6,
  ])
  expect([99_999n, 100_000n, 999_999n, 1_000_000n, null].map((cents) => of('LTC', cents))).toEqual([
    6, 12, 12, 24, 24,
  ])
  for (const asset of ['ETH', 'ETH_BASE', 'USDC_BASE'] as const) {
    expect([99_999n, 100_000n, 999_999n, 1_000_000n, null].map((cents) => of(asset, cents))).toEqual([
      'safe',
      'safe',
      'safe',
      'finalized',
      'finalized',
    ])
    expect(of(asset, 100n, 'regtest')).toBe('safe')
  }
  expect([of('SOL', 100n), of('SOL', null)]).toEqual(['finalized', 'finalized'])
  expect(of('LTC', null, 'regtest')).toBe(1)
  expect(of('BTC', null, 'signet')).toBe(6)
  const own = readPaymentRules({ confirmations: { LTC: [2, 4, 8] } })
  expect(confirmationsFor(own, 'LTC', 100_000n, 'main')).toEqual({ LTC: 4 })
  const marked = readPaymentRules({ confirmations: { ETH: [2, 'safe', 'finalized'], LTC: ['safe', 6, 6] } })
  expect([100n, 100_000n, null].map((cents) => confirmationsFor(marked, 'ETH', cents, 'main').ETH)).toEqual([
    2,
    'safe',
    'finalized',
  ])
  expect(confirmationTiersOf(marked, 'LTC')).toEqual([6, 12, 24])
})

test('a tolerance is the smaller of its percentage and its cap, and nothing where nobody knows the worth', () => {
  const tolerance = { basisPoints: 100, capCents: 50n }
  expect(toleranceFor(tolerance, 1_000_000n, 1_000n)).toBe(10_000n)
  expect(toleranceFor(tolerance, 1_000_000n, 100_000n)).toBe(500n)
  expect(toleranceFor(tolerance, 1_000_000n, null)).toBe(0n)
  expect(toleranceFor({ basisPoints: 100, capCents: 0n }, 1_000_000n, 1_000n)).toBe(0n)
})
