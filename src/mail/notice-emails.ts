import { z } from 'zod'
import { ASSETS } from '../core/assets.ts'
import type { NewDestination } from '../db/people/notices.ts'
import type { NewApprover } from '../payouts/store/approver-sightings.ts'
import { dashboardUrl } from '../runtime/own-cell.ts'
import type { Email } from './mail.ts'
import { plainText } from './plain-text.ts'

type Addressee = { readonly email: string; readonly name: string }

const greeting = (name: string): string => `Hello ${plainText(name, 'there')},`

/** Events of before there were prices have none. The currency may be one that no price is in any more. */
export const priceShape = z
  .object({ amount: z.string(), currency: z.string().regex(/^[A-Z]{3}$/) })
  .nullable()
  .default(null)

const noticedShape = z.object({
  event_type: z.string(),
  data: z.object({
    id: z.string(),
    status: z.string(),
    usd_amount: z.string().nullable(),
    price: priceShape,
    amount_confirmed: z.string(),
    asset: z.string(),
    external_reference: z.string().nullable(),
    order_reference: z.string().nullable(),
    status_reason: z.string().nullable(),
    review_reason: z.string().nullable(),
  }),
})

/** The message that an event is worth, and the kind by which it can be refused. Throws where the stored body is none of ours. */
export function invoiceEmail(
  baseUrl: string,
  body: Buffer,
): { kind: 'paid' | 'attention'; emailTo: (addressee: Addressee) => Email } {
  const { event_type: type, data } = noticedShape.parse(JSON.parse(body.toString('utf8')))
  const order = data.order_reference ?? data.external_reference
  const what = order === null ? `Invoice ${data.id}` : `Order ${plainText(order, data.id)}`
  const worth = worthOf(data.price, data.usd_amount)
  const link = `${dashboardUrl(baseUrl)}/invoices/${data.id}?mode=live`
  const isPaid = type === 'invoice.paid'
  const accepted = data.status_reason === 'accepted' ? ', which you accepted as payment in full' : ''
  const received = `${data.amount_confirmed} ${data.asset}${accepted}.`
  const subject = isPaid ? `${what} is paid` : `${what} needs your attention`
  const sentence = isPaid
    ? `${what}${worth} is paid: ${received}`
    : `${what}${worth} needs a decision of yours. ${REASONS[data.review_reason ?? type] ?? ''}`.trim()
  return {
    kind: isPaid ? 'paid' : 'attention',
    emailTo: ({ email, name }) => ({
      to: email,
      subject,
      text: `${greeting(name)}\n\n${sentence}\n\n${link}\n\n${HOW_TO_STOP}`,
    }),
  }
}

function worthOf(price: z.output<typeof priceShape>, usdAmount: string | null): string {
  if (usdAmount === null) return ''
  const dollars = `${usdAmount} US dollars`
  return price === null ? ` (${dollars})` : ` (${price.amount} ${price.currency}, ${dollars})`
}

const REASONS: { readonly [reason: string]: string } = {
  'invoice.overpaid': 'The buyer paid more than was asked.',
  wrong_asset: 'Money came in another coin than the one that was asked for.',
  wrong_network: 'The right token came on a network that was not accepted.',
  late: 'Money came after its time.',
  cancelled: 'Money came for an invoice that you had cancelled.',
  after_settlement: 'More money came after it was paid.',
  reorged: 'A payment that was final has left the chain.',
}

const HOW_TO_STOP = 'You can switch these emails off under Settings → Security.'

export function endpointEmail(baseUrl: string, url: string, { email, name }: Addressee): Email {
  return {
    to: email,
    subject: 'A webhook endpoint was disabled',
    text: `${greeting(name)}

your server at ${url} answered that the endpoint is gone (410), so nothing more is sent to it. Events wait for you under Developers → Undelivered.

${dashboardUrl(baseUrl)}/developers/webhooks?mode=live

${HOW_TO_STOP}`,
  }
}

export function destinationEmail(
  baseUrl: string,
  { asset, address, payableAt }: Pick<NewDestination, 'asset' | 'address' | 'payableAt'>,
  { email, name }: Addressee,
): Email {
  const { name: coin, networkName } = ASSETS[asset]
  return {
    to: email,
    subject: 'A new payout destination was added',
    text: `${greeting(name)}

a payout destination was added to your account in live mode:

${address}
${coin === networkName ? coin : `${coin} on ${networkName}`}

Money can be paid out to it from ${payableAt.toISOString()}.

If you or your team added it, there is nothing to do. If not, remove it before then, and find out who added it. A removed destination is not paid.

${dashboardUrl(baseUrl)}/payouts/destinations?mode=live`,
  }
}

const APPROVER_LABELS = { passkey: 'a new passkey', totp: 'a new authenticator app' } as const
const SHOWN_EMAIL_LENGTH_MAX = 200

export function approverEmail(
  baseUrl: string,
  { kind, countsFrom, approverEmail: of }: Pick<NewApprover, 'kind' | 'countsFrom' | 'approverEmail'>,
  { email, name }: Addressee,
): Email {
  // Shown whole only where it is an address and nothing else: the API's login could write anything.
  const who =
    z.email().max(SHOWN_EMAIL_LENGTH_MAX).safeParse(of).data ??
    plainText(of ?? '', 'Somebody whose account was deleted since')
  return {
    to: email,
    subject: 'Somebody new can approve payouts soon',
    text: `${greeting(name)}

${who} can approve live payouts of your account with ${APPROVER_LABELS[kind]} from ${countsFrom.toISOString()}.

If you or your team added it, there is nothing to do. If not, act before then:

- If it is your account, change your password and remove what you did not add under Settings → Security.
${dashboardUrl(baseUrl)}/settings/security

- If it is somebody else's, remove them under Settings → Team.
${dashboardUrl(baseUrl)}/settings/team

- If it is not listed there, ask whoever runs Paylink to run "paylink access check": it may have been written into the database.`,
  }
}

/** To the address where an owner or admin was. It names no shop by words that somebody wrote. */
export function formerManagerEmail(baseUrl: string, merchantId: string, email: string): Email {
  return {
    to: email,
    subject: 'Your role or email address changed',
    text: `${greeting('')}

you are no longer an owner or admin of the account ${plainText(merchantId, 'of a shop')} on Paylink with this email address: your role or your address changed, or the account was removed.

If you or your team did this, there is nothing to do. If not, tell the other owners now, and ask whoever runs Paylink to run "paylink access check": it may have been written into the database. For seven days, warnings about new payout destinations and approvers still come here.

${dashboardUrl(baseUrl)}/settings/team`,
  }
}

export function signInEmail(
  addressee: Addressee,
  place: { at: Date; address: string | null; browser: string | null },
): Email {
  return {
    to: addressee.email,
    subject: 'A new sign-in to your account',
    text: `${greeting(addressee.name)}

somebody signed in to your account from a place we had not seen:

${place.at.toISOString()}
${place.address ?? 'an unknown address'}
${plainText(place.browser ?? '', 'an unknown browser')}

If it was you, there is nothing to do. If not, choose a new password now and end that sign-in under Settings → Security.

${HOW_TO_STOP}`,
  }
}
