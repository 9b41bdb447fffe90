import { z } from 'zod'
import {
  buyerEmailContext,
  type InvoiceEmailFacts,
  type NotSentReason,
} from '../core/checkout/buyer-emails.ts'
import {
  type DueBuyerEmail,
  endBuyerEmail,
  forgetBuyerEmails,
  isStillPayable,
  listDueBuyerEmails,
  takeBackBuyerEmail,
} from '../db/checkout/buyer-emails.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import { repeat } from '../runtime/repeat.ts'
import type { Email } from './mail.ts'
import { attempt, whyNotToBuyer } from './may-write.ts'
import { plainText } from './plain-text.ts'
import { type ReceiptDeps, writeReceipts } from './write-receipts.ts'

type BuyerEmailDeps = ReceiptDeps & {
  /** The email about an open invoice, in its language. */
  readonly writeInvoice: (facts: InvoiceEmailFacts) => Omit<Email, 'to'>
}

const EVERY_MS = 10_000
const EMAILS_MAX = 500
/** Of so many that are due shops take turns: more than one shop's open invoices. */
const LOOKED_AT_MAX = 50_000
const FORGOTTEN_MAX = 1_000

const wordsShape = z.object({
  email: z.string(),
  language: z.string(),
  url: z.string(),
  unsubscribeUrl: z.string(),
})

/**
 * One round of the emails about open invoices, which shops have sent to the buyers whom they name. Each has ended before it
 * is handed over: a crash in between loses it, since a second one looks like a second invoice, and the shop has the link.
 * Whether it is still due is asked again before each attempt. Returns how many were handed to the mail.
 */
export async function writeInvoiceEmails(deps: BuyerEmailDeps): Promise<number> {
  const { pool, mail, onEnd } = deps
  await forgetBuyerEmails(pool, FORGOTTEN_MAX)
  let emails = 0
  for (const due of await listDueBuyerEmails(pool, { lookedAt: LOOKED_AT_MAX, limit: EMAILS_MAX })) {
    const { merchantId, kind } = due
    // It waits in the database, where no restart loses it.
    if (mail.hasRoom?.(1, merchantId) === false) continue
    const message = await emailOf(deps, due)
    const reason = typeof message === 'string' ? message : null
    if (!(await endBuyerEmail(pool, due, reason))) continue
    onEnd?.(kind, reason)
    if (typeof message === 'string') continue
    await mail.send(message, merchantId, {
      isStillDue: () => isStillPayable(pool, due),
      onNotSent: (why) => takeBackBuyerEmail(pool, due, why === 'not_due' ? 'not_payable' : 'mail_server'),
    })
    emails += 1
  }
  return emails
}

/** Or why it may not be sent. Throws only what a later round may find better. */
async function emailOf(deps: BuyerEmailDeps, due: DueBuyerEmail): Promise<Email | NotSentReason> {
  const { pool, keyring, log, sendsMail } = deps
  const { merchantId, invoiceId, kind, sealed } = due
  const words = attempt(log, invoiceId, () => {
    const opened = keyring.open(sealed, buyerEmailContext(merchantId, invoiceId, kind)).toString('utf8')
    return wordsShape.parse(JSON.parse(opened))
  })
  if (words === null) return 'unreadable'
  if (!(await isStillPayable(pool, due))) return 'not_payable'
  const { email, unsubscribeUrl } = words
  const reason = await whyNotToBuyer(pool, { ...due, email }, sendsMail)
  if (reason !== null) return reason
  const merchantName = (await loadMerchantName(pool, merchantId)) ?? ''
  const written = attempt(log, invoiceId, () => deps.writeInvoice(factsOf(due, words, merchantName)))
  return written === null ? 'unreadable' : { to: email, ...written, unsubscribeUrl }
}

function factsOf(
  due: DueBuyerEmail,
  { language, url, unsubscribeUrl }: z.output<typeof wordsShape>,
  merchantName: string,
): InvoiceEmailFacts {
  const { priceAmount: amount, priceCurrency: currency } = due
  return {
    kind: due.kind,
    livemode: due.livemode,
    language,
    merchantName: plainText(merchantName, 'Paylink'),
    item: plainText(due.description ?? '', '') || null,
    order: plainText(due.externalReference ?? '', '') || null,
    price: amount === null || currency === null ? null : { amount, currency },
    usdCents: due.usdCents,
    asset: due.asset,
    amount: due.amount,
    expiresAtMs: due.expiresAt.getTime(),
    url,
    unsubscribeUrl,
  }
}

/** Writes to buyers round after round until it is stopped. */
export function startBuyerEmails(deps: BuyerEmailDeps): { stop(): Promise<void> } {
  const place = { after: null }
  const round = async (): Promise<void> => {
    await writeInvoiceEmails(deps)
    await writeReceipts(deps, place)
  }
  return repeat(round, {
    everyMs: EVERY_MS,
    firstMs: EVERY_MS,
    onError: (error) =>
      deps.log.warn({ err: error }, 'emails to buyers could not be written; the next round tries again'),
  })
}
