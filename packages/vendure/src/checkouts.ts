import { Inject, Injectable } from '@nestjs/common'
import { ConfigService, type Order, type RequestContext } from '@vendure/core'
import { type Invoice, Paylink } from 'paylink-sdk'
import { decimalOf, type Price, payableOf, priceOf } from './money.js'
import { PAYLINK_OPTIONS, type PaylinkPluginOptions } from './options.js'

/** Invoices that one order may have had: each is one press of a buyer whose total changed or whose time was up. */
const INVOICES_MAX = 100

/** In these the buyer has nothing to send, or what was sent is still to be decided: a second invoice would be paid twice. */
const UNDER_WAY: readonly Invoice['status'][] = [
  'payment_detected',
  'confirming',
  'partially_paid',
  'overpaid',
  'manual_review',
]

export class CheckoutRefused extends Error {}

/** The payment page of an order: one invoice for each total, whatever is pressed how often. */
@Injectable()
export class PaylinkCheckouts {
  readonly #options: PaylinkPluginOptions
  readonly #paylink: Paylink
  readonly #precision: number

  constructor(
    @Inject(PAYLINK_OPTIONS) options: PaylinkPluginOptions,
    @Inject(ConfigService) config: ConfigService,
  ) {
    this.#options = options
    this.#paylink = new Paylink({ baseUrl: options.url, apiKey: options.apiKey })
    this.#precision = config.entityOptions.moneyStrategy.precision ?? 2
  }

  /** The invoice that the buyer is to pay for what is left of the order, which has its `payments` and `channels`. */
  async open(ctx: RequestContext, order: Order): Promise<Invoice> {
    const left = order.totalWithTax - coveredOf(order)
    if (left <= 0) throw new CheckoutRefused('There is nothing to pay.')
    const price = payableOf({ minor: left, currency: order.currencyCode }, this.#precision)
    const earlier = await this.#invoicesOf(order)
    const booked = new Set(order.payments.map(({ transactionId }) => transactionId))
    const isUnderWay = ({ id, status }: Invoice) =>
      UNDER_WAY.includes(status) || (status === 'paid' && !booked.has(id))
    const current = earlier.find(isUnderWay) ?? (await this.#reuse(earlier, price))
    if (current !== null) return current
    if (earlier.length >= INVOICES_MAX) throw new CheckoutRefused('This order has had too many invoices.')
    return this.#create(ctx, order, price, earlier.length)
  }

  /** The invoice as Paylink has it now. */
  invoice(id: string): Promise<Invoice> {
    return this.#paylink.invoices.get(id)
  }

  /** What an invoice asks for, as the shop counts. */
  priceOf(invoice: Invoice): Price | null {
    return priceOf(invoice, this.#precision)
  }

  /** Cancels what nobody has paid of an order that is placed: it is not to be paid once more. */
  async cancelOpen(order: Order): Promise<void> {
    for (const { id, status } of await this.#invoicesOf(order))
      if (status === 'awaiting_payment') await this.#paylink.invoices.cancel(id)
  }

  async #invoicesOf(order: Order): Promise<Invoice[]> {
    const sameCode = await this.#paylink.invoices
      .list({ external_reference: order.code, limit: INVOICES_MAX })
      .take(INVOICES_MAX)
    return sameCode.filter((invoice) => isOf(order, invoice))
  }

  /** The open invoice, if it asks for what is to be paid now; one that asks for something else is cancelled. */
  async #reuse(earlier: readonly Invoice[], { minor, currency }: Price): Promise<Invoice | null> {
    const open = earlier.find(({ status }) => status === 'awaiting_payment')
    if (open === undefined) return null
    const asked = this.priceOf(open)
    if (asked?.minor === minor && asked.currency === currency) return open
    const cancelled = await this.#paylink.invoices.cancel(open.id)
    return cancelled.status === 'cancelled' ? null : cancelled
  }

  /** Two presses at once give the same number, and with it the same invoice. */
  #create(ctx: RequestContext, order: Order, { minor, currency }: Price, number: number): Promise<Invoice> {
    const amount = decimalOf(minor, this.#precision)
    const email = order.customer?.emailAddress
    return this.#paylink.invoices.create(
      {
        ...(currency === 'USD'
          ? { usd_amount: amount }
          : { price: { amount, currency: currency as PriceCurrency } }),
        external_reference: order.code,
        allow_asset_selection: true,
        metadata: { vendure_channel: ctx.channel.token },
        ...(email === undefined ? {} : { customer_email: email }),
        ...(this.#options.returnUrl === undefined ? {} : { return_url: this.#options.returnUrl(order.code) }),
      },
      { idempotencyKey: `vendure/${ctx.channel.token}/${order.code}/${number}` },
    )
  }
}

/** Paylink refuses a currency that it has no rates for, and says which it has. */
type PriceCurrency = NonNullable<
  NonNullable<Parameters<Paylink['invoices']['create']>[0]>['price']
>['currency']

/** Another shop of the same merchant may have an order of the same code, but not a channel of the same token. */
export const isOf = ({ channels }: Order, { metadata }: Pick<Invoice, 'metadata'>): boolean =>
  channels.some(({ token }) => token === metadata?.vendure_channel)

/** As Vendure counts: what is only authorised is paid too. */
const coveredOf = ({ payments }: Order): number =>
  payments
    .filter(({ state }) => state !== 'Error' && state !== 'Declined' && state !== 'Cancelled')
    .reduce((sum, { amount }) => sum + amount, 0)
