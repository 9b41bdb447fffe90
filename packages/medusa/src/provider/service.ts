import type {
  AuthorizePaymentInput,
  AuthorizePaymentOutput,
  BigNumberInput,
  CancelPaymentInput,
  CapturePaymentInput,
  DeletePaymentInput,
  GetPaymentStatusInput,
  InitiatePaymentInput,
  InitiatePaymentOutput,
  PaymentProviderOutput,
  RetrievePaymentInput,
  UpdatePaymentInput,
  WebhookActionResult,
} from '@medusajs/framework/types'
import {
  AbstractPaymentProvider,
  defaultCurrencies,
  MathBN,
  MedusaError,
  PaymentActions,
  PaymentSessionStatus,
} from '@medusajs/framework/utils'
import { ApiError, type Invoice, Paylink } from 'paylink-sdk'
import { keepOptions, type PaylinkOptions } from './options.js'

type Data = { readonly [field: string]: unknown }

/** One invoice for each payment session. A session is paid when its invoice is, and by nothing that a buyer sends. */
export class PaylinkProvider extends AbstractPaymentProvider<PaylinkOptions> {
  static override identifier = 'paylink'
  readonly #paylink: Paylink
  readonly #options: PaylinkOptions

  /** Called when the shop starts, while the provider itself is made at its first use: a webhook may come before. */
  static override validateOptions(options: Data): void {
    const given = options as PaylinkOptions
    for (const name of ['url', 'apiKey', 'webhookSecret'] as const)
      if (typeof given[name] !== 'string' || given[name] === '')
        throw new MedusaError(MedusaError.Types.INVALID_DATA, `paylink-medusa: the option ${name} is missing`)
    keepOptions(given)
  }

  constructor(container: Record<string, unknown>, options: PaylinkOptions) {
    super(container, options)
    this.#options = options
    this.#paylink = new Paylink({ baseUrl: options.url, apiKey: options.apiKey })
  }

  async initiatePayment({
    amount,
    currency_code,
    data,
    context,
  }: InitiatePaymentInput): Promise<InitiatePaymentOutput> {
    const session = String(data?.session_id)
    const invoice = await this.#create(session, priceOf(amount, currency_code), context?.customer?.email)
    return { id: invoice.id, status: PaymentSessionStatus.PENDING, data: dataOf(invoice, session) }
  }

  /** Another total is another invoice. */
  async updatePayment({
    amount,
    currency_code,
    data,
    context,
  }: UpdatePaymentInput): Promise<PaymentProviderOutput> {
    const session = String(data?.session_id ?? context?.idempotency_key)
    const invoice = await this.#invoiceOf(data)
    const asked = invoice.price ?? { amount: invoice.usd_amount ?? '', currency: 'USD' }
    const price = priceOf(amount, currency_code)
    const isSame = asked.currency === price.currency && MathBN.eq(asked.amount, price.amount)
    if (isSame && invoice.status === 'awaiting_payment') return { data: dataOf(invoice, session) }
    await this.#cancel(invoice)
    const next = await this.#create(session, price, context?.customer?.email)
    return { data: dataOf(next, session) }
  }

  /** Medusa asks before it makes an order of a cart: only a paid invoice of this very session is an answer. */
  async authorizePayment({ data, context }: AuthorizePaymentInput): Promise<AuthorizePaymentOutput> {
    const invoice = await this.#invoiceOf(data)
    const session = context?.idempotency_key ?? data?.session_id
    if (invoice.metadata?.medusa_session !== session)
      throw new MedusaError(MedusaError.Types.NOT_ALLOWED, `${invoice.id} is another payment session's`)
    return { status: statusOf(invoice), data: dataOf(invoice, String(session)) }
  }

  async getPaymentStatus({ data }: GetPaymentStatusInput) {
    return { status: statusOf(await this.#invoiceOf(data)) }
  }

  /** What is paid is with the merchant already. */
  async capturePayment({ data }: CapturePaymentInput): Promise<PaymentProviderOutput> {
    const invoice = await this.#invoiceOf(data)
    if (invoice.status !== 'paid')
      throw new MedusaError(MedusaError.Types.NOT_ALLOWED, `${invoice.id} is ${invoice.status}, and not paid`)
    return { data: dataOf(invoice, String(data?.session_id)) }
  }

  async retrievePayment({ data }: RetrievePaymentInput): Promise<PaymentProviderOutput> {
    return { data: dataOf(await this.#invoiceOf(data), String(data?.session_id)) }
  }

  async cancelPayment({ data }: CancelPaymentInput): Promise<PaymentProviderOutput> {
    await this.#cancel(await this.#invoiceOf(data))
    return { ...(data === undefined ? {} : { data }) }
  }

  /** Medusa deletes a session when its cart changes; while money is on its way it may not. */
  async deletePayment({ data }: DeletePaymentInput): Promise<PaymentProviderOutput> {
    if (typeof data?.id === 'string') await this.#cancel(await this.#invoiceOf(data))
    return { ...(data === undefined ? {} : { data }) }
  }

  async refundPayment(): Promise<never> {
    throw new MedusaError(
      MedusaError.Types.NOT_ALLOWED,
      'Paylink sends no refunds. Send it yourself, to an address the buyer names.',
    )
  }

  /** Medusa's own route answers before anything is kept: events come to `/hooks/paylink` in its place. */
  async getWebhookActionAndData(): Promise<WebhookActionResult> {
    return { action: PaymentActions.NOT_SUPPORTED }
  }

  async #invoiceOf(data: Data | undefined): Promise<Invoice> {
    return this.#paylink.invoices.get(String(data?.id))
  }

  async #create(session: string, { amount, currency }: Price, email: string | undefined): Promise<Invoice> {
    try {
      return await this.#paylink.invoices.create(
        {
          ...(currency === 'USD'
            ? { usd_amount: amount }
            : { price: { amount, currency: currency as Currency } }),
          allow_asset_selection: true,
          metadata: { medusa_session: session },
          ...(email === undefined ? {} : { customer_email: email }),
          ...(this.#options.returnUrl === undefined ? {} : { return_url: this.#options.returnUrl }),
        },
        { idempotencyKey: `medusa/${session}/${currency}/${amount}` },
      )
    } catch (error) {
      // What is wrong with the amount or its currency is for the buyer too.
      if (error instanceof ApiError && (error.status === 400 || error.status === 422))
        throw new MedusaError(MedusaError.Types.INVALID_DATA, error.message)
      throw error
    }
  }

  /** Nothing to cancel is well; money on its way is not. */
  async #cancel(invoice: Invoice): Promise<void> {
    if (invoice.status === 'cancelled' || invoice.status === 'expired') return
    try {
      await this.#paylink.invoices.cancel(invoice.id)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      throw new MedusaError(
        MedusaError.Types.NOT_ALLOWED,
        'A payment for this cart is under way. Wait until it is confirmed.',
      )
    }
  }
}

type Price = { readonly amount: string; readonly currency: string }

/** Medusa keeps totals unrounded: 8.875 % tax on 10 dollars is 10.8875. The buyer pays what the currency can express. */
function priceOf(amount: BigNumberInput, currencyCode: string): Price {
  const currency = currencyCode.toUpperCase()
  const decimals = defaultCurrencies[currency]?.decimal_digits ?? 2
  return { amount: MathBN.convert(amount).toFixed(decimals), currency }
}

/** Paylink refuses a currency that it has no rates for, and says which it has. */
type Currency = NonNullable<NonNullable<Parameters<Paylink['invoices']['create']>[0]>['price']>['currency']

/** What the storefront reads: `url` is the payment page. */
const dataOf = ({ id, checkout_url, status }: Invoice, session: string) => ({
  id,
  url: checkout_url,
  invoice_status: status,
  session_id: session,
})

function statusOf({ status }: Invoice): PaymentSessionStatus {
  if (status === 'paid') return PaymentSessionStatus.CAPTURED
  return status === 'cancelled' ? PaymentSessionStatus.CANCELED : PaymentSessionStatus.PENDING
}
