import { describe, expect, test } from 'vitest'
import type { AssetId } from '../assets.ts'
import type { Invoice } from '../invoice/types.ts'
import { type CardPurchase, cardAsset, cardWaiting, isOpenOffer, stillStands } from './card-purchase.ts'
import { PROVIDER_UPDATES, type ProviderUpdate, updatesBefore } from './provider-update.ts'

const NOW = 1_000_000_000
const PURCHASE: CardPurchase = {
  id: 'card_1',
  invoiceId: 'inv_1',
  provider: 'coinbase',
  asset: 'USDC_BASE',
  amount: 100n,
  address: '0xabc',
  place: 'DE',
  answer: { kind: 'offered', quote: null, minimum: null, amount: 100n },
  createdAtMs: NOW,
  freshUntilMs: NOW + 240_000,
  leftAtMs: null,
  update: null,
}

describe('what a card buys', () => {
  const all = () => true
  const requested = (
    asset: AssetId,
    picked: boolean,
    others: AssetId[],
    sells: (asset: AssetId) => boolean = all,
    alsoAccepts: AssetId[] = [],
  ) => cardAsset({ asset, alsoAccepts }, { picked, others, sells })

  test('is USDC on Base unless the buyer picked another coin that is sold', () => {
    expect(requested('LTC', false, ['BTC', 'USDC_BASE'])).toBe('USDC_BASE')
    expect(requested('USDC_BASE', false, ['LTC'])).toBe('USDC_BASE')
    expect(requested('LTC', true, ['BTC', 'USDC_BASE'])).toBe('LTC')
    expect(requested('LTC', true, ['USDC_BASE'], (asset) => asset !== 'LTC')).toBe('USDC_BASE')
    expect(requested('USDC_POLYGON', false, [], all, ['USDC_BASE'])).toBe('USDC_BASE')
  })

  test('is the invoice’s own coin where USDC cannot be had, and nothing where that is not sold either', () => {
    expect(requested('LTC', false, [])).toBe('LTC')
    expect(requested('LTC', false, ['USDC_BASE'], (asset) => asset !== 'USDC_BASE')).toBe('LTC')
    expect(requested('LTC', false, ['BTC'], (asset) => asset !== 'LTC')).toBeNull()
    expect(requested('USDC_BASE', true, [], () => false)).toBeNull()
  })
})

describe('an answer stands', () => {
  test('for the very same question, while it is fresh', () => {
    expect(stillStands(PURCHASE, PURCHASE, NOW)).toBe(true)
    expect(stillStands(PURCHASE, PURCHASE, PURCHASE.freshUntilMs)).toBe(false)
    for (const change of [{ asset: 'LTC' }, { amount: 99n }, { address: '0xdef' }, { place: 'FR' }] as const)
      expect(stillStands(PURCHASE, { ...PURCHASE, ...change }, NOW)).toBe(false)
  })

  test('after leaving only for the same press, for its page opens once', () => {
    const left = { ...PURCHASE, leftAtMs: NOW }
    expect(isOpenOffer(left, NOW + 19_999)).toBe(true)
    expect(isOpenOffer(left, NOW + 20_000)).toBe(false)
  })
})

describe('the page waits for a provider', () => {
  const left = { ...PURCHASE, leftAtMs: NOW, update: 'pending' } as const

  test('from leaving on, for an hour', () => {
    expect(cardWaiting([], { payments: [] }, NOW)).toBeNull()
    expect(cardWaiting([PURCHASE], { payments: [] }, NOW)).toBeNull()
    const { id: purchaseId, provider, asset } = PURCHASE
    const waiting = { purchaseId, leftAtMs: NOW, provider, update: 'pending', asset }
    expect(cardWaiting([left], { payments: [] }, NOW + 3_600_000)).toEqual(waiting)
    expect(cardWaiting([left], { payments: [] }, NOW + 3_600_001)).toBeNull()
  })

  test('that has the buyer’s payment, before one that the buyer left for later', () => {
    const later = { ...PURCHASE, id: 'card_2', leftAtMs: NOW + 60_000 }
    const shown = (update: ProviderUpdate, nowMs: number) =>
      cardWaiting([later, { ...left, update }], { payments: [] }, nowMs)?.purchaseId
    expect(PROVIDER_UPDATES.map((update) => [update, shown(update, NOW + 120_000)])).toEqual([
      ['abandoned', 'card_2'],
      ['pending', 'card_1'],
      ['completed', 'card_1'],
      ['failed', 'card_2'],
    ])
    expect(shown('pending', NOW + 3_600_001)).toBe('card_2')
  })
})

test('what a wallet paid beside a purchase under way does not end its wait; what may be its coins does', () => {
  const { asset, amount } = PURCHASE
  const left = { ...PURCHASE, leftAtMs: NOW, update: 'pending' } as const
  const afterPaying = (
    update: ProviderUpdate | null,
    paid: { asset: typeof asset | 'SOL'; amount: bigint },
  ) => {
    const payments = [{ ...paid, firstSeenMs: NOW }] as unknown as Invoice['payments']
    return cardWaiting([{ ...left, update }], { payments }, NOW + 1_000)
  }
  expect(afterPaying('pending', { asset, amount: amount / 100n })).not.toBeNull()
  expect(afterPaying('completed', { asset: 'SOL', amount })).not.toBeNull()
  expect(afterPaying('completed', { asset, amount: (amount * 40n) / 100n })).toBeNull()
  expect(afterPaying('completed', { asset, amount: amount / 100n })).not.toBeNull()
  expect(afterPaying('pending', { asset, amount: (amount * 97n) / 100n })).toBeNull()
  expect(afterPaying(null, { asset, amount: amount / 100n })).toBeNull()
})

test('news of one transaction only goes forward, and what ended stays ended', () => {
  expect(Object.fromEntries(PROVIDER_UPDATES.map((update) => [update, updatesBefore(update)]))).toEqual({
    abandoned: [],
    pending: ['abandoned'],
    failed: ['abandoned', 'pending'],
    completed: ['abandoned', 'pending', 'failed'],
  })
})
