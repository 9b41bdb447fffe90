import { advanceDeposits, type KnownDeposits } from '../../src/core/deposit/advance.ts'
import { renderDeposit } from '../../src/core/deposit/deposit.ts'
import { eventBody } from '../../src/core/event/envelope.ts'
import { formatId, type IdKind, uuidv7 } from '../../src/core/ids.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { advancePayout, type Payout, type PayoutInput, requestEffects } from '../../src/core/payout/payout.ts'
import { renderPayout } from '../../src/core/payout/render.ts'
import { verificationEvent } from '../../src/flows/verify-endpoint.ts'
import { gone, inBlock, inMempool, makeInvoice } from './invoice.ts'
import { InvoiceStory } from './invoice-story.ts'

const CREATED_AT_MS = Date.parse('2026-11-21T12:00:00.000Z')
const MINUTE_MS = 60_000
/** 49.99 / 83.567, rounded up to the coin’s smallest unit. */
const AMOUNT = 59_820_265n
/** People ask for a payout and decide it by a request; what comes after is the chain's doing. */
const DECIDED_AT_MINUTES = 5
const TXID = '8d7b4c2f1e6a9053b7d84c1f2e6a9053b7d84c1f2e6a9053b7d84c1f2e6a9053'

/** Ids that are the same in every run: they end with a count. */
function countedIds(): (kind: IdKind, now: Date) => string {
  let count = 0
  return (kind, now) => {
    count += 1
    const bits = new Uint8Array(10).map((_, index) => 37 * (index + 3))
    bits[9] = count
    return formatId(kind, uuidv7(now.getTime(), bits))
  }
}

/** One body of each event that there is, by its type, as the product's own code makes it. */
export function eventExamples(): ReadonlyMap<string, object> {
  const idOf = countedIds()
  const created = new Date(CREATED_AT_MS)
  const invoice: Invoice = makeInvoice({
    merchantId: idOf('merchant', created),
    id: idOf('invoice', created),
    amount: AMOUNT,
    usdCents: 4_999n,
    rate: {
      usdPerUnit: '83.567',
      quotedAt: '2026-11-21T11:59:56.412Z',
      sources: [
        { name: 'coinbase', usdPerUnit: '83.57', at: '2026-11-21T11:59:56.101Z' },
        { name: 'kraken', usdPerUnit: '83.567', at: '2026-11-21T11:59:55.870Z' },
        { name: 'bitstamp', usdPerUnit: '83.55', at: '2026-11-21T11:59:56.412Z' },
      ],
    },
    confirmations: { LTC: 2 },
    customerEmail: 'buyer@example.com',
    externalReference: 'order-1001',
    description: 'Tea set for two',
    metadata: { cart: 'c_8841' },
    returnUrl: 'https://shop.example/orders/1001',
    createdAtMs: CREATED_AT_MS,
    expiresAtMs: CREATED_AT_MS + 60 * MINUTE_MS,
  })
  const open = () => new InvoiceStory(invoice, idOf, 'req_8f4e2c1a9b7d4e6f8a0b1c2d3e4f5a6b')
  const at = (minutes: number) => CREATED_AT_MS + minutes * MINUTE_MS
  const pay = (amount: bigint) =>
    open()
      .transfers(at(4), [inMempool(TXID, amount, { firstSeenMs: at(4) })])
      .transfers(at(6), [inBlock(TXID, amount, 1, { firstSeenMs: at(4) })], 100)
      .transfers(at(9), [inBlock(TXID, amount, 2, { firstSeenMs: at(4) })], 101)
  const expired = open().expire(at(61))
  const stories = [
    pay(AMOUNT).events,
    [pay((AMOUNT * 2n) / 5n).newest],
    [pay((AMOUNT * 8n) / 5n).newest],
    [expired.newest],
    [expired.transfers(at(180), [inMempool(TXID, AMOUNT, { firstSeenMs: at(180) })]).newest],
  ]
  const examples = new Map<string, object>(
    stories.flat().map(({ type, body }): [string, object] => [type, JSON.parse(body)]),
  )
  const verification = verificationExample(invoice.merchantId, idOf)
  for (const event of payoutExamples(invoice.merchantId, idOf)) examples.set(event.event_type, event)
  for (const event of depositExamples(invoice.merchantId, idOf)) examples.set(event.event_type, event)
  return examples.set(verification.event_type, verification)
}

/** A deposit that is seen and final, and is gone in the end. */
function depositExamples(merchantId: string, idOf: (kind: IdKind, now: Date) => string) {
  const at = (minutes: number) => CREATED_AT_MS + minutes * MINUTE_MS
  const account = {
    merchantId,
    id: idOf('depositAddress', new Date(CREATED_AT_MS)),
    livemode: false,
    customerReference: 'customer-4711',
    serviceFeeBps: 0,
    createdAtMs: CREATED_AT_MS,
  }
  const rate = {
    usdPerUnit: '83.567',
    quotedAt: '2026-11-21T12:03:56.412Z',
    sources: [{ name: 'kraken', usdPerUnit: '83.567', at: '2026-11-21T12:03:55.870Z' }],
  }
  const address = 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k5rn2vy'
  const ids = [idOf('payment', new Date(at(4)))]
  let known: KnownDeposits = { payments: [], records: new Map() }
  return [
    { minutes: 4, fact: inMempool(TXID, AMOUNT, { firstSeenMs: at(4) }) },
    { minutes: 9, fact: inBlock(TXID, AMOUNT, 6, { firstSeenMs: at(4) }) },
    { minutes: 40, fact: gone('reorged', TXID, AMOUNT) },
  ].flatMap(({ minutes, fact }) =>
    advanceDeposits(account, known, {
      facts: [fact],
      newPaymentIds: ids,
      nowMs: at(minutes),
      rateOf: () => rate,
      finalityOf: () => 6,
    }).flatMap(({ payment, record, events }) => {
      if (record === null) return []
      const eventCount = record.eventCount + events.length
      known = { payments: [payment], records: new Map([[record.id, { ...record, eventCount }]]) }
      return events.map(({ type, payment: then }, place) => {
        const sequence = record.eventCount + place + 1
        const id = idOf('event', new Date(at(minutes)))
        const data = renderDeposit({ ...record, account, address, payment: then }, { tipHeightOf: () => 105 })
        const envelope = { id, type, merchantId, resourceId: record.id, livemode: false, sequence }
        const body: { event_type: string } = JSON.parse(
          eventBody({ ...envelope, createdAtMs: at(minutes), requestId: null, data }),
        )
        return body
      })
    }),
  )
}

/** A payout that is confirmed, one that is rejected, and one that fails after its approval. */
function payoutExamples(merchantId: string, idOf: (kind: IdKind, now: Date) => string) {
  const at = (minutes: number) => CREATED_AT_MS + minutes * MINUTE_MS
  const requested: Payout = {
    merchantId,
    id: idOf('payout', new Date(at(0))),
    livemode: false,
    status: 'requested',
    source: 'available',
    asset: 'LTC',
    network: 'litecoin-test',
    amount: AMOUNT,
    networkFee: 1_410n,
    networkFeeMax: 4_230n,
    destinationId: idOf('payoutDestination', new Date(at(0))),
    destination: 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k5rn2vy',
    requestedBy: idOf('apiKey', new Date(at(0))),
    approvedBy: null,
    rejectedBy: null,
    txid: null,
    failureCode: null,
    createdAtMs: at(0),
    approvedAtMs: null,
    rejectedAtMs: null,
    submittedAtMs: null,
    confirmedAtMs: null,
    failedAtMs: null,
  }
  const tell = (payout: Payout, type: string, sequence: number, minutes: number) => {
    const id = idOf('event', new Date(at(minutes)))
    const { id: resourceId, livemode } = payout
    const isAsked = minutes <= DECIDED_AT_MINUTES
    const requestId = isAsked ? 'req_5c7d9e1f2a3b4c5d6e7f8091a2b3c4d5' : null
    const envelope = { id, type, merchantId, resourceId, livemode, createdAtMs: at(minutes), sequence }
    const body: { event_type: string } = JSON.parse(
      eventBody({ ...envelope, requestId, data: renderPayout(payout) }),
    )
    return body
  }
  const follow = (inputs: readonly PayoutInput[]) => {
    let payout = requested
    return inputs.flatMap((input, index) => {
      const advance = advancePayout(payout, input)
      if (advance.kind === 'refused') throw new Error(`the example's payout refused to ${input.kind}`)
      payout = advance.next
      const minutes = (input.nowMs - CREATED_AT_MS) / MINUTE_MS
      return advance.effects.flatMap((effect) =>
        effect.kind === 'event' ? tell(payout, effect.type, index + 2, minutes) : [],
      )
    })
  }
  const by = 'usr_Yd3kQz7WmB1xTn5RcV9a'
  const transaction = { txid: TXID, networkFee: 1_410n }
  const [asked] = requestEffects(requested).flatMap((effect) => (effect.kind === 'event' ? effect.type : []))
  return [
    tell(requested, asked ?? '', 1, 0),
    ...follow([
      { kind: 'approve', by, nowMs: at(DECIDED_AT_MINUTES) },
      { kind: 'submit', transaction, nowMs: at(6) },
      { kind: 'confirm', transaction, nowMs: at(9) },
    ]),
    ...follow([{ kind: 'reject', by, nowMs: at(DECIDED_AT_MINUTES) }]),
    ...follow([
      { kind: 'approve', by, nowMs: at(DECIDED_AT_MINUTES) },
      { kind: 'fail', code: 'fee_above_limit', nowMs: at(65) },
    ]).slice(1),
  ]
}

function verificationExample(merchantId: string, idOf: (kind: IdKind, now: Date) => string) {
  const now = new Date(CREATED_AT_MS)
  const id = idOf('webhookEndpoint', now)
  const { body } = verificationEvent(
    { id, merchantId, livemode: false, status: 'pending_verification', url: 'https://shop.example/webhooks' },
    'q5o0mT1nXk7u3yJrB2sVd8fZ4wGhL6pE9cAiYxKtQ-U',
    { now, requestId: 'req_1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e' },
  )
  const made: { event_type: string } = JSON.parse(body.toString('utf8'))
  return { ...made, id: idOf('event', now) }
}
