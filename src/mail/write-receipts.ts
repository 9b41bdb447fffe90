import { z } from 'zod'
import { ASSET_IDS } from '../core/assets.ts'
import { type ReceiptFacts, receiptRequestContext } from '../core/checkout/receipt-request.ts'
import { NO_SELLER, sellerLines } from '../core/receipt/seller.ts'
import {
  countReceiptsSent,
  type DueReceipt,
  endReceiptRequest,
  findReceiptPlace,
  forgetReceiptRequests,
  isMembersAddress,
  listDueReceipts,
  type ReceiptPlace,
} from '../db/checkout/receipt-requests.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import type { Opener } from '../secrets/keyring.ts'
import type { Email, Mail } from './mail.ts'
import { priceShape } from './notice-emails.ts'
import { plainText } from './plain-text.ts'

type ReceiptDeps = {
  readonly pool: Pool
  readonly mail: Mail
  readonly log: Log
  readonly keyring: Opener
  /** The email in the language of the buyer's page. */
  readonly write: (facts: ReceiptFacts) => Omit<Email, 'to'>
}

const EVERY_MS = 10_000
const RECEIPTS_MAX = 100
/** Requests that a round looks at: of very many that nobody pays, each is looked at in some later round. */
const LOOKED_AT_MAX = 5_000
const FORGOTTEN_MAX = 1_000
/** Emails that one address gets in a day, from all shops together. */
const RECIPIENT_DAY_MAX = 20

/** Of the seller's name and of each line of the address. */
const SELLER_LINE_MAX = 200

const requestShape = z.object({
  email: z.email(),
  language: z.string(),
  merchantName: z.string(),
  item: z.string().nullable(),
  // A request of before there were sellers' details has none.
  seller: z
    .object({
      legalName: z.string().nullable(),
      postalAddress: z.string().nullable(),
      taxNumber: z.string().nullable(),
    })
    .default(NO_SELLER),
  url: z.string(),
})
const paidShape = z.object({
  data: z.object({
    usd_amount: z.string().nullable(),
    price: priceShape,
    amount_confirmed: z.string(),
    asset: z.enum(ASSET_IDS),
    external_reference: z.string().nullable(),
    order_reference: z.string().nullable(),
    paid_at: z.string(),
  }),
})

/**
 * One round of the receipts that buyers asked for: each is sent once, after its invoice was paid. A request has ended before
 * its email is handed over, so that a crash in between loses a receipt, which stays on the page, and repeats none: a second
 * one would look like a second payment. Returns how many were handed to the mail. `place`: after which request it begins; where the next round does.
 */
export async function writeReceipts(
  deps: ReceiptDeps,
  place: { after: ReceiptPlace | null } = { after: null },
): Promise<number> {
  const { pool, mail, log } = deps
  await forgetReceiptRequests(pool, FORGOTTEN_MAX)
  let emails = 0
  const { after } = place
  const upTo = await findReceiptPlace(pool, after, LOOKED_AT_MAX)
  const found = await listDueReceipts(pool, { after, upTo, limit: RECEIPTS_MAX })
  for (const due of found) {
    const { merchantId, invoiceId } = due
    let message: Email | null = null
    try {
      message = await emailOf(deps, due)
    } catch (error) {
      log.error({ err: error, invoiceId }, 'no receipt was mailed: what was asked for cannot be read')
    }
    const ended = await endReceiptRequest(pool, due, message === null ? 'refused' : 'sent')
    if (message === null || !ended) continue
    await mail.send(message, merchantId)
    emails += 1
  }
  // Where there may be more among those that were looked at, they are looked at again.
  if (found.length < RECEIPTS_MAX) place.after = upTo
  return emails
}

/** Null where the address may not be written to. */
async function emailOf({ pool, keyring, write }: ReceiptDeps, due: DueReceipt): Promise<Email | null> {
  const { merchantId, invoiceId, livemode, recipient, sealed, body } = due
  const opened = keyring.open(sealed, receiptRequestContext(merchantId, invoiceId)).toString('utf8')
  const { email, language, merchantName, item, seller, url } = requestShape.parse(JSON.parse(opened))
  // Anybody can make test invoices, and pay them for nothing.
  if (!livemode && !(await isMembersAddress(pool, merchantId, email))) return null
  if ((await countReceiptsSent(pool, recipient)) >= RECIPIENT_DAY_MAX) return null
  const { data } = paidShape.parse(JSON.parse(body.toString('utf8')))
  const order = data.order_reference ?? data.external_reference
  const facts: ReceiptFacts = {
    livemode,
    language,
    merchantName: plainText(merchantName, 'Paylink'),
    item: item === null ? null : plainText(item, '') || null,
    order: order === null ? null : plainText(order, '') || null,
    sellerLines: sellerLines(seller, merchantName)
      .map((line) => plainText(line, '', SELLER_LINE_MAX))
      .filter((line) => line !== ''),
    taxNumber: seller.taxNumber === null ? null : plainText(seller.taxNumber, '') || null,
    price: data.price,
    usdAmount: data.usd_amount,
    asset: data.asset,
    received: data.amount_confirmed,
    paidAtMs: Date.parse(data.paid_at),
    invoiceId,
    url,
  }
  return { to: email, ...write(facts) }
}

/** Writes receipts round after round until it is stopped. */
export function startReceipts(deps: ReceiptDeps): { stop(): Promise<void> } {
  const place = { after: null }
  return repeat(() => writeReceipts(deps, place), {
    everyMs: EVERY_MS,
    firstMs: EVERY_MS,
    onError: (error) =>
      deps.log.warn({ err: error }, 'receipts could not be emailed; the next round tries again'),
  })
}
