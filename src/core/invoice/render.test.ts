import { expect, test } from 'vitest'
import { gone, inBlock, makeInvoice } from '../../../test/support/invoice.ts'
import { PAYMENT_ASSET_IDS } from '../assets.ts'
import { eventBody } from '../event/envelope.ts'
import { advanceInvoice } from './advance.ts'
import { renderInvoice } from './render.ts'
import type { Invoice, TransferFact } from './types.ts'

const BODY_BYTES_MAX = 64 * 1024
/** Six bytes in JSON, more than any other character takes. */
const WIDE = '\u0001'
const HOUR_MS = 3_600_000

function apply(invoice: Invoice, facts: readonly TransferFact[]): Invoice {
  const newPaymentIds = facts.map((_, index) => `pay_${String(index).padStart(26, '0')}`)
  const nowMs = invoice.createdAtMs + HOUR_MS
  const advance = advanceInvoice(invoice, { kind: 'transfers', facts, newPaymentIds, nowMs })
  if (advance.kind === 'refused') throw new Error(advance.code)
  return advance.next
}

const bodyOf = (data: unknown): string =>
  eventBody({
    id: 'evt_00000000000000000000000000',
    type: 'invoice.payment_detected',
    merchantId: 'mer_00000000000000000000000000',
    resourceId: 'inv_00000000000000000000000000',
    livemode: false,
    createdAtMs: 0,
    sequence: 999_999,
    requestId: 'r'.repeat(255),
    data,
  })

test("an event's body is at most 64 KB, with every field at its limit and more payments than it shows", () => {
  const text = { value: WIDE.repeat(1_363) }
  expect(JSON.stringify(text).length).toBeLessThanOrEqual(8 * 1024)
  const full = makeInvoice({
    metadata: text,
    customerEmail: WIDE.repeat(254),
    externalReference: WIDE.repeat(255),
    orderReference: WIDE.repeat(255),
    description: WIDE.repeat(500),
    returnUrl: `https://shop.example/${'a'.repeat(2_027)}`,
    amount: 10n ** 30n,
    rate: {
      usdPerUnit: '9'.repeat(40),
      quotedAt: new Date(0).toISOString(),
      sources: Array.from({ length: 10 }, () => ({
        name: 'n'.repeat(64),
        usdPerUnit: '9'.repeat(40),
        at: new Date(0).toISOString(),
      })),
    },
    expiryReading: {
      network: 'litecoin-test',
      tipHeight: 999_999_999,
      tipHash: 'f'.repeat(88),
      readAtMs: 0,
      providers: Array.from({ length: 10 }, () => 'h'.repeat(253)),
    },
  })
  const payments = Array.from({ length: 3_000 }, (_, index) =>
    inBlock(`${index}`.padStart(88, 't'), 10n ** 20n, 1),
  )
  const dust = PAYMENT_ASSET_IDS.map((asset) => inBlock(`dust ${asset}`, 1n, 1, { asset }))
  const invoice = apply(full, [...payments, ...dust])
  const view = renderInvoice(invoice, { tipHeightOf: () => 999_999_999 })
  expect([view.payments.length, view.payments_count, view.dust.length]).toEqual([
    20,
    51,
    PAYMENT_ASSET_IDS.length,
  ])
  expect(Buffer.byteLength(bodyOf(view))).toBeLessThan(BODY_BYTES_MAX)
})

test('the payments that are shown are the newest, and before what left the chain the largest that count', () => {
  const amountOf = (index: number) => BigInt(10_000 + index)
  const all = Array.from({ length: 40 }, (_, index) => inBlock(`t${index}`, amountOf(index), 1))
  const some = apply(makeInvoice(), all)
  const left = apply(
    some,
    all.slice(30).map(({ txid, amount }) => gone('reorged', txid, amount)),
  )
  const shown = renderInvoice(left, { tipHeightOf: () => 100 }).payments.map(({ txid }) => txid)
  expect(shown).toEqual([...Array.from({ length: 19 }, (_, index) => `t${11 + index}`), 't39'])
})
