import { ASSETS } from '../../core/assets.ts'
import type { ReceiptFacts } from '../../core/checkout/receipt-request.ts'
import { parseUsd, readableAmount } from '../../core/money.ts'
import { total, usd, utcTime } from './amounts.ts'
import { whyAndStop } from './buyer-email.ts'
import { ENGLISH, fill, fillParts, type Language, languageNamed } from './language.ts'

/** The email with a receipt, in the language of the page on which it was asked for, or of the shop's emails. */
export function receiptEmail(facts: ReceiptFacts): { subject: string; text: string } {
  const { merchantName: merchant, item, order, usdAmount, asset, received, invoiceId, url, livemode } = facts
  const language = languageNamed(facts.language) ?? ENGLISH
  const { messages } = language
  const { symbol } = ASSETS[asset]
  const usdCents = usdAmount === null ? null : parseUsd(usdAmount)
  const price = total(language, { price: facts.price, usdCents })
  const dollars = facts.price === null || usdCents === null ? '' : ` · ${usd(language, usdCents)}`
  const rows: readonly (readonly [term: string, text: string | null])[] = [
    [messages.item, item],
    [messages.order, order],
    [messages.total, price === null ? null : `${price}${dollars}`],
    [messages.received, `${readableAmount(received, symbol)} ${symbol}`],
    [messages.paid_at, utcTime(language, facts.paidAtMs, 'day')],
    [messages.receipt_number, invoiceId],
    [messages.seller, facts.sellerLines.join(', ') || null],
    [messages.tax_number, facts.taxNumber],
  ]
  // Without the marks of `fill`: a mail program could take one for a part of the URL.
  const row = (term: string, value: string) => fillParts(messages.receipt_email_row, { term, value }).join('')
  const known = rows.flatMap(([term, text]) => (text === null ? [] : [row(term, text)]))
  const lead = fill(messages.receipt_email_lead, { merchant })
  const parts = [lead, known.join('\n'), row(messages.receipt_heading, url), ...reasonOf(language, facts)]
  const subject = fill(messages.receipt_email_subject, { merchant })
  return {
    subject: livemode ? subject : `[TEST] ${subject}`,
    text: [...(livemode ? [] : [messages.test_banner]), ...parts].join('\n\n'),
  }
}

const reasonOf = (language: Language, { merchantName, unsubscribeUrl }: ReceiptFacts): readonly string[] =>
  unsubscribeUrl === null
    ? [language.messages.receipt_email_why]
    : whyAndStop(language, merchantName, unsubscribeUrl)
