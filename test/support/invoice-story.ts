import { eventBody } from '../../src/core/event/envelope.ts'
import type { IdKind } from '../../src/core/ids.ts'
import { advanceInvoice } from '../../src/core/invoice/advance.ts'
import { renderInvoice } from '../../src/core/invoice/render.ts'
import type { Invoice, InvoiceInput, TransferFact } from '../../src/core/invoice/types.ts'
import { newId } from '../../src/runtime/new-id.ts'

export type StoryEvent = {
  readonly id: string
  readonly type: string
  readonly sequence: number
  /** As it is signed and sent. */
  readonly body: string
}

type NewId = (kind: IdKind, now: Date) => string

/** What a merchant is told of an invoice while things happen to it, by the product's own code, without a database. */
export class InvoiceStory {
  readonly events: StoryEvent[] = []
  invoice: Invoice
  readonly #newId: NewId
  #tipHeight = 100

  constructor(invoice: Invoice, idSource: NewId = newId, requestId: string | null = null) {
    this.invoice = invoice
    this.#newId = idSource
    this.#tell('invoice.created', invoice, invoice.createdAtMs, requestId)
  }

  get newest(): StoryEvent {
    const event = this.events.at(-1)
    if (event === undefined) throw new Error('nothing was told')
    return event
  }

  /** Facts about transfers, read with the chain's tip at this height. */
  transfers(nowMs: number, facts: readonly TransferFact[], tipHeight = 100): this {
    this.#tipHeight = tipHeight
    const newPaymentIds = facts.map(() => this.#newId('payment', new Date(nowMs)))
    return this.#advance({ kind: 'transfers', facts, newPaymentIds, nowMs }, nowMs)
  }

  expire(readAtMs: number): this {
    const reading = {
      network: 'litecoin-test' as const,
      tipHeight: 2_419_301,
      tipHash: `${'0'.repeat(8)}${'5e'.repeat(28)}`,
      readAtMs,
      providers: ['node.example.com'],
    }
    return this.#advance({ kind: 'deadline_read', readAtMs, reading }, readAtMs)
  }

  accept(nowMs: number): this {
    return this.#advance({ kind: 'resolve', resolution: 'accept', nowMs }, nowMs)
  }

  #advance(input: InvoiceInput, nowMs: number): this {
    const advance = advanceInvoice(this.invoice, input)
    if (advance.kind === 'refused') throw new Error(advance.code)
    for (const effect of advance.effects) {
      if (effect.kind === 'event') this.#tell(effect.type, effect.snapshot, nowMs)
    }
    this.invoice = advance.next
    return this
  }

  #tell(type: string, snapshot: Invoice, nowMs: number, requestId: string | null = null): void {
    const id = this.#newId('event', new Date(nowMs))
    const sequence = this.events.length + 1
    const { merchantId, id: resourceId, livemode } = snapshot
    const data = renderInvoice(snapshot, { tipHeightOf: () => this.#tipHeight })
    const envelope = { id, type, merchantId, resourceId, livemode, createdAtMs: nowMs, sequence }
    this.events.push({ id, type, sequence, body: eventBody({ ...envelope, requestId, data }) })
  }
}
