import type { CardPurchase } from '../../src/core/card/card-purchase.ts'
import { INVOICES_BY_PAGE, NOW_MS } from './checkout-invoice.ts'

/** What providers offer for the checkout's example invoice. */

export const CARD_OFFER: CardPurchase = {
  id: 'card_01jd8x5v7k0000000000000003',
  invoiceId: 'inv_card',
  provider: 'coinbase',
  asset: 'LTC',
  amount: 41_230_000n,
  address: INVOICES_BY_PAGE.awaiting.address,
  place: 'US-CA',
  answer: {
    kind: 'offered',
    quote: { total: { amount: '52.63', currency: 'USD' }, fees: { amount: '2.64', currency: 'USD' } },
    minimum: { amount: '5.00', currency: 'USD' },
    amount: 41_230_000n,
  },
  createdAtMs: NOW_MS,
  freshUntilMs: NOW_MS + 240_000,
  leftAtMs: null,
  update: null,
}

export const CARD_MINIMUM = { amount: '20.00', currency: 'EUR' }

export const CARD_OFFERS: readonly CardPurchase[] = [
  CARD_OFFER,
  {
    ...CARD_OFFER,
    provider: 'moonpay',
    answer: { kind: 'offered', quote: null, minimum: CARD_MINIMUM, amount: 41_230_000n },
  },
]
