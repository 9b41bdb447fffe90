import type { Attempt } from '../api/types.ts'

/** How a delivery failed, and what a shop's developer does about it. */
const TEXTS: { readonly [code in Exclude<Attempt['code'], 'ok' | 'http_status'>]: string } = {
  redirect: 'Your server redirected. Events follow no redirect: enter the final URL.',
  timeout: 'Your server did not answer within 10 seconds. Answer first, then do the work.',
  dns: 'The host name was not found. Check the URL and the DNS record.',
  address_refused: 'The host name leads to a private address, where no events are sent.',
  connect: 'No connection: nothing listens at that address and port.',
  tls: 'The secure connection failed. Check the TLS settings of your server.',
  tls_expired: 'The certificate of your server has expired.',
  tls_wrong_host: 'The certificate of your server is for another host name.',
  tls_untrusted: 'The certificate of your server is from no trusted authority.',
  reset: 'Your server closed the connection before it answered.',
  malformed_response: 'Your server answered with something that is not HTTP.',
  unknown_outcome:
    'Paylink stopped before it knew the answer. The event may have arrived, and is sent again.',
  superseded: 'Not sent: a later event of this invoice tells your shop all that it has to know.',
  internal: 'A fault on our side. The event is sent again.',
}

/** `Your server answered 500.`, or why it answered nothing. */
export function attemptText({ code, http_status }: Pick<Attempt, 'code' | 'http_status'>): string {
  if (code === 'ok') return 'Delivered'
  if (code === 'http_status') return `Your server answered ${http_status}. Any 2xx status means received.`
  return TEXTS[code]
}

/** The short form, for a badge. */
export const attemptBadge = ({ code, http_status }: Pick<Attempt, 'code' | 'http_status'>): string =>
  http_status === null
    ? code === 'superseded'
      ? 'Not sent'
      : 'No answer'
    : `${http_status} ${code === 'ok' ? 'ok' : code === 'redirect' ? 'redirect' : 'failed'}`

export const attemptTone = (code: Attempt['code']): 'good' | 'quiet' | 'bad' =>
  code === 'ok' ? 'good' : code === 'superseded' ? 'quiet' : 'bad'
