import { ASSETS } from '../../core/assets.ts'
import type { InvoiceEmailFacts } from '../../core/checkout/buyer-emails.ts'
import { coin, total, usd, utcTime } from './amounts.ts'
import { ENGLISH, fill, fillParts, type Language, languageNamed } from './language.ts'

/** The email with the link of an open invoice, or the reminder of it. */
export function buyerEmail(facts: InvoiceEmailFacts): { subject: string; text: string } {
  const { kind, merchantName: merchant, item, order, price, usdCents, asset, url, livemode } = facts
  const language = languageNamed(facts.language) ?? ENGLISH
  const { messages } = language
  const { name, networkName } = ASSETS[asset]
  const asked = total(language, { price, usdCents })
  const dollars = price === null || usdCents === null ? '' : ` · ${usd(language, usdCents)}`
  const on = name === networkName ? '' : ` (${networkName})`
  const rows: readonly (readonly [term: string, text: string | null])[] = [
    [messages.item, item],
    [messages.order, order],
    [messages.total, asked === null ? null : `${asked}${dollars}`],
    [messages.amount_label, `${coin(asset, facts.amount)}${on}`],
  ]
  const known = rows.flatMap(([term, text]) => (text === null ? [] : [row(language, term, text)]))
  const deadline = fill(messages.pay_by, { time: utcTime(language, facts.expiresAtMs, 'day') })
  const subject = fill(messages[`buyer_email_${kind}_subject`], { merchant })
  const parts = [
    fill(messages[`buyer_email_${kind}_lead`], { merchant }),
    [...known, deadline].join('\n'),
    row(language, messages.buyer_email_pay, url),
    ...whyAndStop(language, merchant, facts.unsubscribeUrl),
  ]
  return {
    subject: livemode ? subject : `[TEST] ${subject}`,
    text: [...(livemode ? [] : [messages.test_banner]), ...parts].join('\n\n'),
  }
}

/** Why a buyer gets an email of a shop's, and how they get no more. */
export const whyAndStop = (
  language: Language,
  merchant: string,
  unsubscribeUrl: string,
): readonly string[] => [
  fill(language.messages.buyer_email_why, { merchant }),
  row(language, fill(language.messages.buyer_email_stop, { merchant }), unsubscribeUrl),
]

/** Without the marks of `fill`: a mail program could take one for a part of the URL. */
const row = (language: Language, term: string, value: string): string =>
  fillParts(language.messages.receipt_email_row, { term, value }).join('')
