import { NO_ORIGIN, NOTHING_HAPPENED_YET } from '../../src/core/invoice/new-invoice.ts'
import type { Invoice, InvoiceInput, TransferFact } from '../../src/core/invoice/types.ts'
import { newId } from '../../src/runtime/new-id.ts'

const CREATED_AT = new Date('2026-11-21T12:00:00.000Z')

/** A test-mode Litecoin invoice over 1 LTC, open for an hour, that needs two confirmations. */
export function makeInvoice(changes: Partial<Invoice> = {}): Invoice {
  return {
    ...NO_ORIGIN,
    ...NOTHING_HAPPENED_YET,
    merchantId: newId('merchant', CREATED_AT),
    id: newId('invoice', CREATED_AT),
    livemode: false,
    asset: 'LTC',
    alsoAccepts: [],
    tokenRates: null,
    amount: 100_000_000n,
    usdCents: 10_000n,
    rate: {
      usdPerUnit: '100',
      quotedAt: CREATED_AT.toISOString(),
      sources: [{ name: 'sandbox', usdPerUnit: '100', at: CREATED_AT.toISOString() }],
    },
    toleranceUnder: 0n,
    toleranceOver: 0n,
    serviceFeeBps: 0,
    confirmations: { LTC: 2, BTC: 1 },
    allowAssetSelection: false,
    customerEmail: null,
    externalReference: null,
    metadata: null,
    price: null,
    description: null,
    address: 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k5rn2vy',
    addressesBeside: {},
    createdAtMs: CREATED_AT.getTime(),
    expiresAtMs: CREATED_AT.getTime() + 3_600_000,
    ...changes,
  }
}

type FactChanges = Partial<
  Pick<TransferFact, 'asset' | 'network' | 'firstSeenMs' | 'minimumConfirmations' | 'knownIn'>
>

/** A transfer in the mempool. */
export function inMempool(txid: string, amount: bigint, changes: FactChanges = {}): TransferFact {
  return { ...transfer(txid, amount, changes), state: 'mempool' }
}

/** Where the payment is, unless told otherwise, and where the one who tells the next thing knew it. */
const BLOCK = 'aa'.repeat(32)

/** A transfer in a block, so many confirmations deep. */
export function inBlock(
  txid: string,
  amount: bigint,
  confirmations: number,
  changes: FactChanges & { hash?: string; blockTimeMs?: number } = {},
): TransferFact {
  const { hash = BLOCK, blockTimeMs, ...rest } = changes
  const base = transfer(txid, amount, rest)
  const timeMs = blockTimeMs ?? base.firstSeenMs
  return { ...base, state: 'block', block: { height: 100, hash, timeMs }, confirmations }
}

/** A transfer that a conflicting one replaced, or whose block left the chain. */
export function gone(state: 'replaced' | 'reorged', txid: string, amount: bigint): TransferFact {
  return { ...transfer(txid, amount, {}), state }
}

/** The same as a reading tells it that knows where the invoice's payments stand by now. */
export function readNow(invoice: Invoice, input: InvoiceInput): InvoiceInput {
  if (input.kind !== 'transfers') return input
  const known = new Map(
    invoice.payments.flatMap(({ txid, block, parts }) =>
      [txid, ...(parts ?? []).map((part) => part.txid)].map((each) => [each, block?.hash ?? null] as const),
    ),
  )
  return { ...input, facts: input.facts.map((fact) => ({ ...fact, knownIn: known.get(fact.txid) ?? null })) }
}

function transfer(txid: string, amount: bigint, changes: FactChanges) {
  return {
    network: 'litecoin-test' as const,
    txid,
    outputIndex: 0,
    asset: 'LTC' as const,
    amount,
    firstSeenMs: CREATED_AT.getTime() + 60_000,
    minimumConfirmations: 1,
    knownIn: BLOCK,
    ...changes,
  }
}
