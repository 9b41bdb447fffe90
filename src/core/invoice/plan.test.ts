import { expect, test } from 'vitest'
import { makeInvoice } from '../../../test/support/invoice.ts'
import { ASSETS, type AssetId } from '../assets.ts'
import { parsePrice } from '../money.ts'
import { readPaymentRules } from '../payment-rules.ts'
import { type AssetSupport, planInvoice } from './plan.ts'
import { planReopening } from './reopen.ts'
import { planSwitch } from './switch.ts'

const price = { price: 10n ** 14n, evidence: { usdPerUnit: '100', quotedAt: '', sources: [] } }
const runs =
  (...assets: AssetId[]) =>
  (asset: AssetId): AssetSupport => ({
    isConfigured: assets.includes(asset),
    parameters: assets.includes(asset) ? 'main' : null,
    halted: false,
  })
const context = {
  livemode: true,
  rules: readPaymentRules({}),
  supportOf: runs('LTC'),
  priceOf: () => price,
  currencyRateOf: () => null,
  nowMs: 0,
} as const
const tenDollars = { kind: 'usd', usdAmount: '10', asset: 'LTC' } as const

test('a network that is known is enough: no plan asks how its node does', () => {
  expect(planInvoice(tenDollars, context)).toMatchObject({
    kind: 'planned',
    deposit: { network: 'litecoin-live', keyspace: 'litecoin-live' },
  })
})

test('the caller’s mistakes are reported before what is unavailable', () => {
  const nothing = { ...context, priceOf: () => null, supportOf: runs() }
  expect(planInvoice({ ...tenDollars, usdAmount: '0.10' }, { ...nothing, livemode: false })).toEqual({
    kind: 'refused',
    code: 'amount_too_small',
    param: 'usd_amount',
  })
  expect(planInvoice(tenDollars, nothing)).toEqual({
    kind: 'refused',
    code: 'asset_not_accepted',
    param: 'asset',
  })
})

test('an accepted coin without a network, on a halted one, or without a price is unavailable', () => {
  const test = { ...context, livemode: false }
  expect(planInvoice({ ...tenDollars, asset: 'SOL' }, test)).toMatchObject({ code: 'asset_unavailable' })
  const halted = { ...test, supportOf: () => ({ isConfigured: true, parameters: 'main', halted: true }) }
  expect(planInvoice(tenDollars, halted)).toMatchObject({ code: 'asset_unavailable' })
  expect(planInvoice(tenDollars, { ...test, priceOf: () => null })).toMatchObject({
    code: 'rate_unavailable',
  })
})

test('a coin whose node never answered is accepted where configured, and unavailable until it answers', () => {
  const away = {
    ...context,
    supportOf: () => ({ isConfigured: true, parameters: null, halted: false }),
  }
  expect(planInvoice(tenDollars, away)).toMatchObject({ code: 'asset_unavailable', asset: 'LTC' })
})

test('without an asset the default coin is taken', () => {
  const plan = planInvoice({ ...tenDollars, asset: null }, { ...context, livemode: false })
  expect(plan).toMatchObject({ kind: 'planned', terms: { asset: 'LTC' } })
})

const dollarTokens = ['USDC_BASE', 'USDC_ETHEREUM', 'USDC_ARBITRUM', 'USDT_ETHEREUM'] as const
const anyUsdc = {
  ...context,
  rules: readPaymentRules({ accepted_assets: dollarTokens }),
  supportOf: runs(...dollarTokens),
} as const

test('a token without its network begins on the cheapest, and counts on every one that is worth its fee', () => {
  const termsOf = (usdAmount: string, changes = {}) =>
    planInvoice({ kind: 'usd', usdAmount, asset: 'USDC' }, { ...anyUsdc, ...changes })
  expect(termsOf('2000')).toMatchObject({
    terms: {
      asset: 'USDC_BASE',
      alsoAccepts: ['USDC_ETHEREUM', 'USDC_ARBITRUM'],
      confirmations: { USDC_BASE: 'safe', USDC_ETHEREUM: 'safe', USDC_ARBITRUM: 'safe' },
    },
  })
  // Of ten dollars, at a hundred dollars each, a sweep on Ethereum would leave too little.
  expect(termsOf('10')).toMatchObject({ terms: { asset: 'USDC_BASE', alsoAccepts: [] } })
  // A halted network is neither begun on nor taken.
  const halted = (asset: AssetId) => ({ ...runs(...dollarTokens)(asset), halted: asset === 'USDC_BASE' })
  expect(termsOf('2000', { supportOf: halted })).toMatchObject({
    terms: { asset: 'USDC_ARBITRUM', alsoAccepts: ['USDC_ETHEREUM'] },
  })
  const without = readPaymentRules({ accepted_assets: ['LTC'] })
  expect(termsOf('2000', { rules: without })).toMatchObject({ code: 'asset_not_accepted' })
})

test('an asset with its network counts alone, unless the rules say that any network will do', () => {
  const request = { kind: 'usd', usdAmount: '2000', asset: 'USDC_ARBITRUM' } as const
  expect(planInvoice(request, anyUsdc)).toMatchObject({ terms: { alsoAccepts: [] } })
  const rules = readPaymentRules({ accepted_assets: dollarTokens, any_network: true })
  expect(planInvoice(request, { ...anyUsdc, rules })).toMatchObject({
    terms: { asset: 'USDC_ARBITRUM', alsoAccepts: ['USDC_BASE', 'USDC_ETHEREUM'] },
  })
  // One that was created for any network is so again when it is reopened, on the network that its buyer chose.
  const before = makeInvoice({ asset: 'USDC_ARBITRUM', alsoAccepts: ['USDC_BASE'], usdCents: 200_000n })
  const market = { ...anyUsdc, hasAddressFor: () => true, networkFacts: { tipHeightOf: () => null } }
  expect(planReopening(before, null, market, 0)).toMatchObject({
    terms: { asset: 'USDC_ARBITRUM', alsoAccepts: ['USDC_BASE', 'USDC_ETHEREUM'] },
  })
  const ether = { kind: 'usd', usdAmount: '10', asset: 'ETH' } as const
  expect(planInvoice(ether, { ...context, livemode: false, rules, supportOf: runs('ETH') })).toMatchObject({
    code: 'asset_not_accepted',
  })
})

const issuers = ['USDC_BASE', 'USDC_ARBITRUM', 'USDT_ARBITRUM', 'USDC_SOLANA', 'PYUSD_SOLANA'] as const
const dollarPrices: { readonly [symbol: string]: string } = { USDC: '0.9998', USDT: '1.0003', PYUSD: '0.97' }
const priced = (usdPerUnit: string) => ({
  price: parsePrice(usdPerUnit) ?? 0n,
  evidence: { usdPerUnit, quotedAt: '2026-11-21T12:00:00.000Z', sources: [] },
})
const inDollars = {
  ...context,
  rules: readPaymentRules({ accepted_assets: issuers }),
  supportOf: runs(...issuers),
  priceOf: (asset: AssetId) => priced(dollarPrices[ASSETS[asset].symbol] ?? '1'),
}

test('dollars are taken in every token near one, at its locked rate, at an address of each family', () => {
  const plan = planInvoice({ kind: 'usd', usdAmount: '25', asset: 'USD' }, inDollars)
  expect(plan).toMatchObject({
    terms: {
      asset: 'USDC_BASE',
      // PYUSD, three cents off, is left out.
      alsoAccepts: ['USDC_ARBITRUM', 'USDC_SOLANA', 'USDT_ARBITRUM'],
      amount: 25_005_002n,
      usdCents: 2_500n,
      tokenRates: { USDC: { usdPerUnit: '0.9998' }, USDT: { usdPerUnit: '1.0003' } },
    },
    deposit: { keyspace: 'evm-live' },
    depositsBeside: [{ keyspace: 'solana-live', network: 'solana-live', form: 'solana' }],
  })
})

test('at par a dollar is a dollar, with the prices that made sure of it as evidence', () => {
  const rules = readPaymentRules({ accepted_assets: issuers, stablecoins_at_par: true })
  expect(planInvoice({ kind: 'usd', usdAmount: '25', asset: 'USD' }, { ...inDollars, rules })).toMatchObject({
    terms: { amount: 25_000_000n, tokenRates: { USDC: { usdPerUnit: '1' }, USDT: { usdPerUnit: '1' } } },
  })
})

test('dollars are refused in one line where no token is near one, and a coin amount of them always', () => {
  const request = { kind: 'usd', usdAmount: '25', asset: 'USD' } as const
  const rules = readPaymentRules({ accepted_assets: issuers, stablecoins_at_par: true })
  const priceOf = (asset: AssetId) => (ASSETS[asset].symbol === 'USDC' ? null : priced('0.93'))
  expect(planInvoice(request, { ...inDollars, rules, priceOf })).toEqual({
    kind: 'unavailable',
    code: 'rate_unavailable',
    asset: 'USDC_BASE',
    reason:
      "The sources of USDC's price do not agree. USDT is at 0.93 US dollars, outside 0.98 to 1.02. PYUSD is at 0.93 US dollars, outside 0.98 to 1.02.",
  })
  expect(planInvoice({ kind: 'coin', amount: '25', asset: 'USD' }, inDollars)).toMatchObject({
    code: 'parameter_invalid',
    param: 'amount',
  })
})

test('choosing another token changes nothing that is due; a reopened invoice asks for dollars again', () => {
  const plan = planInvoice({ kind: 'usd', usdAmount: '25', asset: 'USD' }, inDollars)
  if (plan.kind !== 'planned') throw new Error('it is planned')
  const invoice = makeInvoice({ ...plan.terms, livemode: true, expiresAtMs: 1 })
  const market = { ...inDollars, hasAddressFor: () => true, networkFacts: { tipHeightOf: () => null } }
  const switched = planSwitch(invoice, 'USDT_ARBITRUM', market, 0)
  expect(switched).toMatchObject({
    deposit: { keyspace: 'evm-live' },
    next: {
      asset: 'USDT_ARBITRUM',
      alsoAccepts: ['USDC_BASE', 'USDC_ARBITRUM', 'USDC_SOLANA'],
      amount: 24_992_503n,
      rate: { usdPerUnit: '1.0003' },
    },
  })
  expect(planSwitch(invoice, 'USDC_SOLANA', market, 0)).toMatchObject({
    deposit: { keyspace: 'solana-live' },
    next: { asset: 'USDC_SOLANA', amount: 25_005_002n },
  })
  expect(planReopening(invoice, null, market, 0)).toMatchObject({
    terms: { asset: 'USDC_BASE', usdCents: 2_500n },
  })
})
