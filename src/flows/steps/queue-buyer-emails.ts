import { type BuyerEmailRules, buyerEmailContext, reminderDueMs } from '../../core/checkout/buyer-emails.ts'
import { receiptRequestContext } from '../../core/checkout/receipt-request.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { insertBuyerEmails } from '../../db/checkout/buyer-emails.ts'
import { putReceiptRequest } from '../../db/checkout/receipt-requests.ts'
import type { Tx } from '../../postgres/transaction.ts'
import { invoiceToken } from '../../secrets/checkout-token.ts'
import type { Keyring } from '../../secrets/keyring.ts'
import { recipientOf, unsubscribeToken } from '../../secrets/unsubscribe-token.ts'

/**
 * Keeps what the buyer of a new invoice is to be emailed, in the invoice's own transaction: so each is kept once, and
 * nothing waits for a mail server. The buyer who opened it anew has its page before them and gets the receipt alone.
 * Its statements are sent before it first waits.
 */
export async function queueBuyerEmails(
  tx: Tx,
  { keyring, baseUrl }: { readonly keyring: Keyring; readonly baseUrl: string },
  invoice: Invoice,
  rules: BuyerEmailRules,
): Promise<void> {
  const { merchantId, livemode, id, customerEmail: email, createdAtMs, description: item } = invoice
  if (email === null || !(rules.link || rules.reminder || rules.receipt)) return
  const tenant = { merchantId, livemode }
  const recipient = recipientOf(keyring, email)
  const { language } = rules
  const url = `${baseUrl}/i/${invoiceToken(keyring, { ...tenant, invoiceId: id })}`
  const unsubscribeUrl = `${baseUrl}/u/${unsubscribeToken(keyring, { merchantId, recipient })}?lang=${language}`
  const seal = (words: object, context: string) => keyring.seal(Buffer.from(JSON.stringify(words)), context)
  const kept = (kind: 'link' | 'reminder', dueMs: number) => ({
    kind,
    sealed: seal({ email, language, url, unsubscribeUrl }, buyerEmailContext(merchantId, id, kind)),
    dueAt: new Date(dueMs),
  })
  const remindMs = reminderDueMs(invoice)
  const emails =
    invoice.reopenedFrom !== null
      ? []
      : [
          ...(rules.link ? [kept('link', createdAtMs)] : []),
          ...(rules.reminder && remindMs !== null ? [kept('reminder', remindMs)] : []),
        ]
  const receipt = { email, language, item, url: `${url}/receipt?lang=${language}`, unsubscribeUrl }
  await Promise.all([
    emails.length === 0 ? null : insertBuyerEmails(tx, tenant, id, recipient, emails),
    rules.receipt
      ? putReceiptRequest(tx, tenant, {
          invoiceId: id,
          recipient,
          sealed: seal(receipt, receiptRequestContext(merchantId, id)),
          changesMax: 0,
        })
      : null,
  ])
}
