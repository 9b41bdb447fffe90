import type { AssetId } from '../assets.ts'

/** What a shop may have its buyers written about, where an invoice has a `customer_email`. */
export const BUYER_EMAIL_KINDS = ['link', 'reminder', 'receipt'] as const
export type BuyerEmailKind = (typeof BUYER_EMAIL_KINDS)[number]

/** The field of the payment rules that turns a kind on. */
export const BUYER_EMAIL_SETTINGS = {
  link: 'buyer_link_emails',
  reminder: 'buyer_reminder_emails',
  receipt: 'buyer_receipt_emails',
} as const satisfies { readonly [kind in BuyerEmailKind]: string }

/** Why an email to a buyer was not sent. */
export const NOT_SENT_REASONS = [
  'switched_off',
  'no_mail_server',
  'invalid_address',
  'test_mode',
  'unsubscribed',
  'recipient_limit',
  'shop_limit',
  'not_payable',
  'mail_server',
  'unreadable',
] as const
export type NotSentReason = (typeof NOT_SENT_REASONS)[number]

/** BCP 47 tags of the languages that the buyers' pages and emails speak. */
export const BUYER_LANGUAGES = ['en', 'es', 'pt-BR', 'fr', 'de', 'ru', 'tr', 'zh', 'ja', 'ar'] as const
export type BuyerLanguage = (typeof BUYER_LANGUAGES)[number]

/** Whether each kind is sent, and in which language: nobody knows the buyer's before they open a page. */
export type BuyerEmailRules = { readonly [kind in BuyerEmailKind]: boolean } & {
  readonly language: BuyerLanguage
}

/** Of an invoice that is open for a shorter time a reminder would follow its link too soon. */
const REMINDED_FROM_MS = 2 * 3_600_000

/** When a reminder is due: with a quarter of the time to pay left. Null where that is short. */
export function reminderDueMs(invoice: {
  readonly createdAtMs: number
  readonly expiresAtMs: number
}): number | null {
  const openMs = invoice.expiresAtMs - invoice.createdAtMs
  return openMs < REMINDED_FROM_MS ? null : invoice.expiresAtMs - Math.floor(openMs / 4)
}

/** Where the sealed address and links of an email belong: they open for this invoice and kind alone. */
export const buyerEmailContext = (merchantId: string, invoiceId: string, kind: string): string =>
  `buyer_email/${merchantId}/${invoiceId}/${kind}`

/** The contents of an email about an open invoice; text of shops is plain, without links. */
export type InvoiceEmailFacts = {
  readonly kind: 'link' | 'reminder'
  readonly livemode: boolean
  readonly language: string
  readonly merchantName: string
  readonly item: string | null
  readonly order: string | null
  /** In the shop's own currency; null where it asked for dollars or coins. */
  readonly price: { readonly amount: string; readonly currency: string } | null
  readonly usdCents: bigint | null
  readonly asset: AssetId
  /** Base units. */
  readonly amount: bigint
  readonly expiresAtMs: number
  readonly url: string
  readonly unsubscribeUrl: string
}
