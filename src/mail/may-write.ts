import { z } from 'zod'
import type { BuyerEmailKind, NotSentReason } from '../core/checkout/buyer-emails.ts'
import { countSentTo, readBuyerEmailState } from '../db/checkout/buyer-emails.ts'
import { isMembersAddress } from '../db/checkout/receipt-requests.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Log } from '../runtime/log.ts'

/** Emails that one mailbox gets in a day, from all shops together. */
const RECEIPTS_DAY_MAX = 20
/** Lower, so that these keep no receipt from being sent. */
const INVOICE_EMAILS_DAY_MAX = 10
/** Emails of a shop in a day, without receipts: each of those has cost a payment. */
const SHOP_DAY_MAX = 2_000

const address = z.email()

type Recipient = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly recipient: Buffer
  readonly email: string
}

/** What `write` gives; null, with an alarm, where it throws: one email that cannot be written must not keep others back. */
export function attempt<Written>(log: Log, invoiceId: string, write: () => Written): Written | null {
  try {
    return write()
  } catch (error) {
    log.error({ err: error, invoiceId }, 'an email to a buyer was not sent: it cannot be read or written')
    return null
  }
}

/** Why a shop's own email may not be written to the buyer whom its invoice names; null where it may. */
export async function whyNotToBuyer(
  pool: Pool,
  of: Recipient & { readonly kind: BuyerEmailKind },
  sendsMail: boolean,
): Promise<NotSentReason | null> {
  const { isOn, isUnsubscribed, sentByShop } = await readBuyerEmailState(pool, of)
  if (!isOn) return 'switched_off'
  if (!sendsMail) return 'no_mail_server'
  if (isUnsubscribed) return 'unsubscribed'
  if (of.kind !== 'receipt' && sentByShop >= SHOP_DAY_MAX) return 'shop_limit'
  return whyNotTo(pool, of, of.kind === 'receipt' ? RECEIPTS_DAY_MAX : INVOICE_EMAILS_DAY_MAX)
}

/** Why a receipt that was asked for on the page may not be written; null where it may. */
export const whyNotAsked = (pool: Pool, of: Recipient): Promise<NotSentReason | null> =>
  whyNotTo(pool, of, RECEIPTS_DAY_MAX)

async function whyNotTo(
  pool: Pool,
  { merchantId, livemode, email, recipient }: Recipient,
  dayMax: number,
): Promise<NotSentReason | null> {
  if (!address.safeParse(email).success) return 'invalid_address'
  // Anybody can make test invoices, and pay them for nothing.
  if (!livemode && !(await isMembersAddress(pool, merchantId, email))) return 'test_mode'
  return (await countSentTo(pool, recipient)) >= dayMax ? 'recipient_limit' : null
}
