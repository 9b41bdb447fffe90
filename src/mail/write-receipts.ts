import { z } from 'zod'
import { ASSET_IDS } from '../core/assets.ts'
import type { BuyerEmailKind, NotSentReason } from '../core/checkout/buyer-emails.ts'
import { type ReceiptFacts, receiptRequestContext } from '../core/checkout/receipt-request.ts'
import { NO_SELLER, type Seller, sellerLines } from '../core/receipt/seller.ts'
import { loadSeller } from '../db/checkout/branding.ts'
import {
  type DueReceipt,
  endReceiptRequest,
  findReceiptPlace,
  forgetReceiptRequests,
  listDueReceipts,
  type ReceiptPlace,
  takeBackReceipt,
} from '../db/checkout/receipt-requests.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Log } from '../runtime/log.ts'
import type { Opener } from '../secrets/keyring.ts'
import type { Email, Mail } from './mail.ts'
import { attempt, whyNotAsked, whyNotToBuyer } from './may-write.ts'
import { priceShape } from './notice-emails.ts'
import { plainText } from './plain-text.ts'

export type ReceiptDeps = {
  readonly pool: Pool
  readonly mail: Mail
  readonly log: Log
  readonly keyring: Opener
  /** The email in the language of the buyer's page. */
  readonly write: (facts: ReceiptFacts) => Omit<Email, 'to'>
  /** Whether there is a mail server. */
  readonly sendsMail: boolean
  readonly onEnd?: (kind: BuyerEmailKind, reason: NotSentReason | null) => void
}

const RECEIPTS_MAX = 100
/** Requests that a round looks at: of very many that nobody pays, each is looked at in some later round. */
const LOOKED_AT_MAX = 5_000
const FORGOTTEN_MAX = 1_000

/** Of the seller's name and of each line of the address. */
const SELLER_LINE_MAX = 200

const requestShape = z.object({
  email: z.string(),
  language: z.string(),
  // What the shop asked for has neither name nor seller: both are looked up.
  merchantName: z.string().nullable().default(null),
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
  unsubscribeUrl: z.string().nullable().default(null),
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
  const { pool, mail } = deps
  await forgetReceiptRequests(pool, FORGOTTEN_MAX)
  let emails = 0
  const { after } = place
  const upTo = await findReceiptPlace(pool, after, LOOKED_AT_MAX)
  const found = await listDueReceipts(pool, { after, upTo, limit: RECEIPTS_MAX })
  for (const due of found) {
    const message = await emailOf(deps, due)
    const reason = typeof message === 'string' ? message : null
    if (!(await endReceiptRequest(pool, due, reason))) continue
    deps.onEnd?.('receipt', reason)
    if (typeof message === 'string') continue
    await mail.send(message, due.merchantId, {
      isStillDue: async () => true,
      onNotSent: () => takeBackReceipt(pool, due, 'mail_server'),
    })
    emails += 1
  }
  // Where there may be more among those that were looked at, they are looked at again.
  if (found.length < RECEIPTS_MAX) place.after = upTo
  return emails
}

/** Or why it may not be sent. Throws only what a later round may find better: an email that cannot be written is refused. */
async function emailOf(deps: ReceiptDeps, due: DueReceipt): Promise<Email | NotSentReason> {
  const { pool, write, log } = deps
  const { merchantId, invoiceId } = due
  const read = attempt(log, invoiceId, () => readRequest(deps, due))
  if (read === null) return 'unreadable'
  const { request, paid } = read
  const { email, unsubscribeUrl } = request
  const to = { ...due, email }
  const reason =
    unsubscribeUrl === null
      ? await whyNotAsked(pool, to)
      : await whyNotToBuyer(pool, { ...to, kind: 'receipt' }, deps.sendsMail)
  if (reason !== null) return reason
  const named = request.merchantName !== null
  const merchantName = request.merchantName ?? (await loadMerchantName(pool, merchantId)) ?? ''
  const seller = named ? request.seller : await loadSeller(pool, merchantId)
  const written = attempt(log, invoiceId, () => write(factsOf(due, request, paid, { merchantName, seller })))
  if (written === null) return 'unreadable'
  return { to: email, ...written, ...(unsubscribeUrl === null ? {} : { unsubscribeUrl }) }
}

function readRequest({ keyring }: ReceiptDeps, { merchantId, invoiceId, sealed, body }: DueReceipt) {
  const opened = keyring.open(sealed, receiptRequestContext(merchantId, invoiceId)).toString('utf8')
  return {
    request: requestShape.parse(JSON.parse(opened)),
    paid: paidShape.parse(JSON.parse(body.toString('utf8'))).data,
  }
}

function factsOf(
  { livemode, invoiceId }: DueReceipt,
  { language, item, url, unsubscribeUrl }: z.output<typeof requestShape>,
  paid: z.output<typeof paidShape>['data'],
  { merchantName, seller }: { readonly merchantName: string; readonly seller: Seller },
): ReceiptFacts {
  const order = paid.order_reference ?? paid.external_reference
  return {
    livemode,
    language,
    merchantName: plainText(merchantName, 'Paylink'),
    item: item === null ? null : plainText(item, '') || null,
    order: order === null ? null : plainText(order, '') || null,
    sellerLines: sellerLines(seller, merchantName)
      .map((line) => plainText(line, '', SELLER_LINE_MAX))
      .filter((line) => line !== ''),
    taxNumber: seller.taxNumber === null ? null : plainText(seller.taxNumber, '') || null,
    price: paid.price,
    usdAmount: paid.usd_amount,
    asset: paid.asset,
    received: paid.amount_confirmed,
    paidAtMs: Date.parse(paid.paid_at),
    invoiceId,
    url,
    unsubscribeUrl,
  }
}
