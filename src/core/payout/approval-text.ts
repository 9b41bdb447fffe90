import type { Payout } from './payout.ts'

/** The terms of a payout that an approval covers: whatever else may change, none of these may. */
type ApprovedTerms = Pick<
  Payout,
  | 'merchantId'
  | 'id'
  | 'livemode'
  | 'source'
  | 'asset'
  | 'network'
  | 'destination'
  | 'amount'
  | 'networkFeeMax'
>

const ESCAPES: { readonly [character: string]: string } = { '\\': '\\\\', '\n': '\\n', '\r': '\\r' }

/**
 * The text whose SHA-256 an approval is bound to. One line for each term, its name before it. A line's end within a term,
 * which no payout has that was asked for here, is written so that no two different payouts give one text.
 */
export function approvalText(terms: ApprovedTerms): string {
  const lines = [
    'paylink payout approval 1',
    `merchant ${terms.merchantId}`,
    `mode ${terms.livemode ? 'live' : 'test'}`,
    `payout ${terms.id}`,
    `asset ${terms.asset}`,
    `network ${terms.network}`,
    `destination ${terms.destination}`,
    `amount ${terms.amount}`,
    `network_fee_max ${terms.networkFeeMax}`,
    // A merchant's own payout has no such line, nor had it before there were others.
    ...(terms.source === 'available' ? [] : [`source ${terms.source}`]),
  ]
  return lines.map((line) => `${line.replace(/[\\\r\n]/g, (found) => ESCAPES[found] ?? '')}\n`).join('')
}
