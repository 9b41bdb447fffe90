import { Inject, Injectable } from '@nestjs/common'
import {
  ChannelNotFoundError,
  type CurrencyCode,
  EventBus,
  HistoryService,
  isGraphQlErrorResult,
  Logger,
  Order,
  OrderPlacedEvent,
  OrderService,
  PaymentMethodService,
  PaymentStateTransitionEvent,
  type RequestContext,
  RequestContextService,
  TransactionalConnection,
} from '@vendure/core'
import type { InvoiceSnapshot } from 'paylink-sdk/webhooks'
import { isOf, PaylinkCheckouts } from './checkouts.js'
import { currencyOf } from './money.js'
import { paylinkPaymentHandler } from './payment-handler.js'

/** In these a person decides, in Paylink's dashboard; what to do with the order is the shop's to know. */
const FOR_A_PERSON: readonly InvoiceSnapshot['status'][] = ['partially_paid', 'overpaid', 'manual_review']
const LOCKLESS = ['sqlite', 'better-sqlite3', 'sqljs']

/** Brings orders to where their invoices stand. */
@Injectable()
export class PaylinkSettlement {
  readonly #connection: TransactionalConnection
  readonly #contexts: RequestContextService
  readonly #orders: OrderService
  readonly #methods: PaymentMethodService
  readonly #history: HistoryService
  readonly #checkouts: PaylinkCheckouts
  #last: Promise<void> = Promise.resolve()

  constructor(
    @Inject(TransactionalConnection) connection: TransactionalConnection,
    @Inject(RequestContextService) contexts: RequestContextService,
    @Inject(OrderService) orders: OrderService,
    @Inject(PaymentMethodService) methods: PaymentMethodService,
    @Inject(HistoryService) history: HistoryService,
    @Inject(PaylinkCheckouts) checkouts: PaylinkCheckouts,
    @Inject(EventBus) events: EventBus,
  ) {
    this.#connection = connection
    this.#contexts = contexts
    this.#orders = orders
    this.#methods = methods
    this.#history = history
    this.#checkouts = checkouts
    events.ofType(OrderPlacedEvent).subscribe(({ ctx, order }) => void this.#close(ctx, order))
    events.ofType(PaymentStateTransitionEvent).subscribe(({ ctx, toState, order, payment }) => {
      if (toState === 'Settled') void this.#correctNote(ctx, order, payment.transactionId)
    })
  }

  /** Nobody is to pay an order once more, however it was paid, whose payment page stands open elsewhere. */
  async #close(ctx: RequestContext, { id, code }: Order): Promise<void> {
    try {
      const order = await this.#orders.findOne(ctx, id, ['channels'])
      if (order !== undefined) await this.#checkouts.cancelOpen(order)
    } catch (error) {
      Logger.warn(`the payment page of ${code} stays open until its time is up: ${String(error)}`, 'Paylink')
    }
  }

  /** Invoices that this plugin did not create, or that it created in another shop, are nobody's here. */
  async settle(invoice: InvoiceSnapshot): Promise<void> {
    const code = invoice.external_reference
    const channel = invoice.metadata?.vendure_channel
    if (code === null || typeof channel !== 'string') return
    if (invoice.status !== 'paid' && !FOR_A_PERSON.includes(invoice.status)) return
    const ctx = await this.#contextOf(channel, currencyOf(invoice))
    await this.#inTurn(() => this.#apply(ctx, code, invoice))
  }

  /** SQLite runs all transactions on one connection, within one another: here one waits for the other instead. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    if (!this.#isLockless) return work()
    this.#last = this.#last.then(work, work)
    return this.#last
  }

  get #isLockless(): boolean {
    return LOCKLESS.includes(this.#connection.rawConnection.options.type)
  }

  #apply(ctx: RequestContext, code: string, invoice: InvoiceSnapshot): Promise<void> {
    return this.#connection.withTransaction(ctx, async (tx) => {
      const order = await this.#lock(tx, code)
      if (order === null || !isOf(order, invoice)) {
        Logger.warn(
          `${invoice.id} is ${invoice.status}, and no order ${code} of this shop is its own`,
          'Paylink',
        )
        return
      }
      const note = invoice.status === 'paid' ? await this.#book(tx, order, invoice) : reviewNote(invoice)
      if (note !== null) await this.#note(tx, order, note)
    })
  }

  /**
   * In the invoice's currency: where a coupon ran out, Vendure prices the order anew in that of the context. The
   * default channel stands in for one that is not here: no order has its token, and the log says so.
   */
  async #contextOf(channel: string, currency: string): Promise<RequestContext> {
    const inCurrency = { apiType: 'admin', currencyCode: currency as CurrencyCode } as const
    try {
      return await this.#contexts.create({ ...inCurrency, channelOrToken: channel })
    } catch (error) {
      if (!(error instanceof ChannelNotFoundError)) throw error
      return this.#contexts.create(inCurrency)
    }
  }

  /** One event of an order after another, be they sent twice at once. */
  async #lock(tx: RequestContext, code: string): Promise<Order | null> {
    const query = this.#connection
      .getRepository(tx, Order)
      .createQueryBuilder('order')
      .where('order.code = :code', { code })
    const locked = await (this.#isLockless ? query : query.setLock('pessimistic_write')).getOne()
    return locked === null
      ? null
      : ((await this.#orders.findOne(tx, locked.id, ['payments', 'channels'])) ?? null)
  }

  /** Adds the payment, once. Returns what a person must know where the order takes none any more. */
  async #book(tx: RequestContext, order: Order, invoice: InvoiceSnapshot): Promise<string | null> {
    const isBooked = ({ transactionId, state }: Order['payments'][number]) =>
      transactionId === invoice.id && state !== 'Error'
    if (order.payments.some(isBooked)) return null
    const method = (await this.#methods.getActivePaymentMethods(tx)).find(
      ({ handler }) => handler.code === paylinkPaymentHandler.code,
    )
    if (method === undefined) throw new Error('no payment method with the handler paylink is enabled')
    if (order.state === 'AddingItems') await this.#orders.transitionToState(tx, order.id, 'ArrangingPayment')
    const add = () =>
      this.#orders.addPaymentToOrder(tx, order.id, {
        method: method.code,
        metadata: { invoiceId: invoice.id },
      })
    let added = await add()
    // A coupon ran out meanwhile: the total is another one now, and what was paid counts towards it.
    if ('errorCode' in added && String(added.errorCode) === 'COUPON_REMOVED_DURING_CHECKOUT_ERROR')
      added = await add()
    if (!isGraphQlErrorResult(added)) return null
    return `${unbooked(invoice.id)} (${added.errorCode}): refund it by hand, or book it with ${invoice.id} as its transaction.`
  }

  /** What was not booked at first, and is since, be it by hand: nobody is to refund it for an old note. */
  async #correctNote(ctx: RequestContext, { id, code }: Order, invoiceId: string): Promise<void> {
    try {
      await this.#inTurn(() =>
        this.#connection.withTransaction(ctx, async (tx) => {
          const { items } = await this.#history.getHistoryForOrder(tx, id, false)
          for (const { id: noteId, data } of items)
            if (data?.note?.startsWith(unbooked(invoiceId)))
              await this.#orders.updateOrderNote(tx, { noteId, note: `Paid by ${invoiceId}, and booked.` })
        }),
      )
    } catch (error) {
      Logger.warn(`${code} keeps a note on ${invoiceId}, which is booked: ${String(error)}`, 'Paylink')
    }
  }

  /** A note for the shop's people in the order's history, once. */
  async #note(tx: RequestContext, order: Order, note: string): Promise<void> {
    const { items } = await this.#history.getHistoryForOrder(tx, order.id, false)
    if (items.some(({ data }) => data?.note === note)) return
    Logger.warn(`${order.code}: ${note}`, 'Paylink')
    await this.#orders.addNoteToOrder(tx, { id: order.id, note, isPublic: false })
  }
}

const unbooked = (invoiceId: string): string => `Paid by ${invoiceId}, but not booked`

const reviewNote = ({ id, status, amount, amount_detected, asset }: InvoiceSnapshot): string =>
  `${id} is ${status}: ${amount_detected} of ${amount} ${asset} arrived. Decide in Paylink's dashboard.`
