import { NO_ORIGIN, NOTHING_HAPPENED_YET } from '../../src/core/invoice/new-invoice.ts'
import type { Invoice, Payment } from '../../src/core/invoice/types.ts'

export const CREATED_AT_MS = Date.UTC(2026, 10, 21, 13, 5)
export const EXPIRES_AT_MS = CREATED_AT_MS + 60 * 60_000
export const NOW_MS = CREATED_AT_MS + 4 * 60_000
const RETURN_URL = 'https://shop.example/orders/1042?step=done'
export const TXID = '7f3c1f0b2a9d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071829304a5b6c7'

/** A Litecoin invoice over 49.99 USD, with what a test changes of it. */
export function litecoinInvoice(change: Partial<Invoice> = {}): Invoice {
  return {
    ...NO_ORIGIN,
    ...NOTHING_HAPPENED_YET,
    merchantId: 'mer_01jd8x5v7k0000000000000000',
    id: 'inv_01jd8x5v7k0000000000000001',
    livemode: false,
    asset: 'LTC',
    alsoAccepts: [],
    tokenRates: null,
    amount: 41_230_000n,
    usdCents: 4_999n,
    rate: { usdPerUnit: '121.24666667', quotedAt: '2026-11-21T13:05:00.000Z', sources: [] },
    toleranceUnder: 0n,
    toleranceOver: 0n,
    serviceFeeBps: 0,
    confirmations: { LTC: 6 },
    allowAssetSelection: false,
    customerEmail: null,
    externalReference: null,
    metadata: null,
    price: null,
    description: null,
    address: 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k8m7xzq',
    addressesBeside: {},
    createdAtMs: CREATED_AT_MS,
    expiresAtMs: EXPIRES_AT_MS,
    ...change,
  }
}

/** A payment of the whole amount in the mempool, with what a test changes of it. */
export function litecoinPayment(change: Partial<Payment> = {}): Payment {
  return {
    id: 'pay_01jd8x5v7k0000000000000002',
    network: 'litecoin-test',
    txid: TXID,
    outputIndex: 0,
    asset: 'LTC',
    amount: 41_230_000n,
    isBlockSum: false,
    transfers: 1,
    parts: null,
    status: 'detected',
    firstSeenMs: NOW_MS,
    detectedAtMs: NOW_MS,
    confirmedAtMs: null,
    block: null,
    finality: 6,
    late: false,
    dust: false,
    reviewReason: null,
    resolution: null,
    announced: { confirming: false, review: false },
    bucket: 'none',
    postings: 0,
    ...change,
  }
}

const BLOCK = { height: 100, hash: 'b'.repeat(64), timeMs: NOW_MS }

export const inBlock = (change: Partial<Payment> = {}): Payment =>
  litecoinPayment({ status: 'confirming', block: BLOCK, ...change })

export const final = (change: Partial<Payment> = {}): Payment =>
  litecoinPayment({ status: 'confirmed', block: BLOCK, confirmedAtMs: NOW_MS, ...change })

const told = litecoinInvoice().announced

/** One invoice for every page that a buyer can meet, by name. */
export const INVOICES_BY_PAGE = {
  awaiting: litecoinInvoice(),
  detected: litecoinInvoice({ payments: [litecoinPayment()] }),
  confirming: litecoinInvoice({ payments: [inBlock()] }),
  paid: litecoinInvoice({
    payments: [final()],
    paidAtMs: NOW_MS,
    announced: { ...told, detected: true, paid: true },
  }),
  underpaid: litecoinInvoice({ payments: [final({ amount: 16_492_000n })] }),
  underpaid_pending: litecoinInvoice({ payments: [litecoinPayment({ amount: 16_492_000n })] }),
  overpaid: litecoinInvoice({
    returnUrl: RETURN_URL,
    payments: [final({ amount: 65_968_000n })],
    paidAtMs: NOW_MS,
    announced: { ...told, detected: true, overpaid: true },
  }),
  expired: litecoinInvoice({ returnUrl: RETURN_URL, expiredAtMs: EXPIRES_AT_MS + 1_000 }),
  cancelled: litecoinInvoice({ cancelledAtMs: NOW_MS }),
  review_late: litecoinInvoice({
    expiredAtMs: EXPIRES_AT_MS + 1_000,
    payments: [final({ reviewReason: 'late' })],
  }),
  review_cancelled: litecoinInvoice({
    cancelledAtMs: NOW_MS,
    payments: [inBlock({ reviewReason: 'cancelled' })],
  }),
  review_reorged: litecoinInvoice({
    payments: [litecoinPayment({ status: 'reorged' })],
    paidAtMs: NOW_MS,
    announced: { ...told, detected: true, paid: true, reorged: true },
  }),
  awaiting_replaced: litecoinInvoice({ payments: [litecoinPayment({ status: 'replaced' })] }),
  awaiting_wrong_asset: litecoinInvoice({
    payments: [
      final({ reviewReason: 'wrong_asset', asset: 'USDC_BASE', network: 'base-test', amount: 49_990_000n }),
    ],
  }),
  paid_with_surplus: litecoinInvoice({
    payments: [final(), final({ txid: 'c'.repeat(64), reviewReason: 'after_settlement' })],
    paidAtMs: NOW_MS,
    announced: { ...told, detected: true, paid: true },
  }),
  accepted: litecoinInvoice({
    payments: [final({ amount: 40_000_000n, resolution: 'accepted' })],
    paidAtMs: NOW_MS,
    acceptedAtMs: NOW_MS,
    announced: { ...told, detected: true, paid: true },
  }),
} as const satisfies { readonly [page: string]: Invoice }
export type PageName = keyof typeof INVOICES_BY_PAGE
