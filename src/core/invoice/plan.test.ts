import { expect, test } from 'vitest'
import type { AssetId } from '../assets.ts'
import { readPaymentRules } from '../payment-rules.ts'
import { type AssetSupport, planInvoice } from './plan.ts'

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
