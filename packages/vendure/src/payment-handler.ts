import {
  type CreatePaymentErrorResult,
  type CreatePaymentResult,
  type Injector,
  LanguageCode,
  type Order,
  PaymentMethodHandler,
} from '@vendure/core'
import type { Invoice } from 'paylink-sdk'
import { PaylinkCheckouts } from './checkouts.js'

let checkouts: PaylinkCheckouts

/** Books what an invoice brought as a payment of its order. Only the webhook adds payments, never a buyer. */
export const paylinkPaymentHandler = new PaymentMethodHandler({
  code: 'paylink',
  description: [{ languageCode: LanguageCode.en, value: 'Crypto, through Paylink' }],
  args: {},
  init: (injector: Injector) => {
    checkouts = injector.get(PaylinkCheckouts)
  },
  createPayment: async (ctx, order, amount, _args, metadata) => {
    if (ctx.apiType !== 'admin')
      return failed(
        amount,
        'Paylink adds the payment itself when it is confirmed: call createPaylinkCheckout.',
      )
    return paymentOf(await checkouts.invoice(String(metadata.invoiceId)), order, amount)
  },
  settlePayment: () => ({ success: true }),
  // No `createRefund`: Paylink sends none, for the buyer's address is not known to be theirs. Vendure then leaves a
  // refund `Pending` until somebody has sent it by hand and settles it with its transaction.
})

const failed = (amount: number, errorMessage: string, transactionId?: string): CreatePaymentErrorResult => ({
  amount,
  state: 'Error',
  errorMessage,
  ...(transactionId === undefined ? {} : { transactionId }),
})

/** The invoice, as Paylink itself has it now, must be this order's, and paid. */
function paymentOf(
  invoice: Invoice,
  order: Order,
  amount: number,
): CreatePaymentResult | CreatePaymentErrorResult {
  const { id, status, external_reference } = invoice
  // A block may have been taken back since: the event comes again, and is booked once the invoice is paid again.
  if (status !== 'paid') throw new Error(`${id} is ${status}, and not paid`)
  if (external_reference !== order.code) return failed(amount, `${id} is another order's`, id)
  const price = checkouts.priceOf(invoice)
  if (price?.currency !== order.currencyCode) return failed(amount, `${id} is in another currency`, id)
  return {
    amount: price.minor,
    state: 'Settled',
    transactionId: invoice.id,
    metadata: {
      asset: invoice.asset,
      amount: invoice.amount_confirmed,
      transactions: invoice.payments.map(({ txid }) => txid),
      livemode: invoice.livemode,
    },
  }
}
