import { Fragment } from 'react'
import type { Invoice, Payment } from '../api/types.ts'
import { Badge, PAYMENT_LABELS } from '../parts/badge.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { coins } from '../parts/money.ts'
import { Card } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { Txid } from '../parts/txid.tsx'

/** What came, and how final it is. */
export function Payments({ invoice }: { invoice: Invoice }) {
  const { payments, payments_count, address, asset, also_accepts, livemode } = invoice
  const isAskedFor = (paid: string) => paid === asset || also_accepts?.some((also) => also.asset === paid)
  // An API of the release before names none beside.
  const addresses = [...new Set([address, ...(also_accepts ?? []).map((also) => also.address ?? address)])]
  return (
    <Card title="Payments">
      {payments.length === 0 ? (
        <p className="quiet">
          No payments received at{' '}
          {addresses.map((each, place) => (
            <Fragment key={each}>
              {place === 0 ? null : ' or '}
              <code className="break">{each}</code>
            </Fragment>
          ))}
          .
        </p>
      ) : (
        <ul className="payments">
          {payments.map((payment) => (
            <li key={payment.id}>
              <div className="payment-head">
                <strong>{coins(payment.amount, payment.asset)}</strong>
                <Badge tone={PAYMENT_LABELS[payment.status].tone}>
                  {PAYMENT_LABELS[payment.status].label}
                </Badge>
                {payment.late ? <Badge tone="warn">Late</Badge> : null}
                {isAskedFor(payment.asset) ? null : (
                  <Badge tone="warn">
                    {payment.review_reason === 'wrong_network' ? 'Another network' : 'Another coin'}
                  </Badge>
                )}
                <span className="quiet end">
                  <Time at={payment.detected_at} />
                </span>
              </div>
              <p className="quiet">{finalityText(payment)}</p>
              <Txid txid={payment.txid} asset={payment.asset} livemode={livemode} />
            </li>
          ))}
        </ul>
      )}
      {payments_count > payments.length ? (
        <div className="actions">
          <span className="quiet">
            {payments_count} payments in all. These are the ones that matter most.
          </span>
          <CsvButton<Payment>
            name={`payments-${invoice.id}`}
            path={`/invoices/${invoice.id}/payments`}
            query={{}}
            columns={CSV_COLUMNS}
          />
        </div>
      ) : null}
    </Card>
  )
}

const CSV_COLUMNS: readonly CsvColumn<Payment>[] = [
  ['id', ({ id }) => id],
  ['detected_at', ({ detected_at }) => detected_at],
  ['txid', ({ txid }) => txid],
  ['output_index', ({ output_index }) => String(output_index)],
  ['transfers_count', ({ transfers_count }) => String(transfers_count)],
  ['asset', ({ asset }) => asset],
  ['amount', ({ amount }) => amount],
  ['status', ({ status }) => status],
  ['review_reason', ({ review_reason }) => review_reason],
]

function finalityText({ status, confirmations, confirmations_required, finality }: Payment): string {
  if (status === 'replaced') return 'Another transaction took its coins. It pays you nothing.'
  if (status === 'reorged') return 'Its block left the chain. It may come back in another.'
  if (confirmations_required === null) {
    return status === 'confirmed'
      ? `Final: the network calls it ${finality}.`
      : `Final once the network calls it ${finality}.`
  }
  if (status === 'confirmed') return confirmations === 1 ? '1 confirmation' : `${confirmations} confirmations`
  return `${confirmations} of ${confirmations_required} confirmations`
}
