import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { eventsOf, invoiceOf } from '../api/reads.ts'
import type { Invoice, PaylinkEvent, Scenario, TestPayment } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { StatusBadge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { EventSteps } from '../parts/event-steps.tsx'
import { askedCoins, invoiceAmount, invoiceTitle } from '../parts/invoice-title.ts'
import { excess, money, usd } from '../parts/money.ts'
import { ProblemNote } from '../parts/note.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { RawCard } from '../parts/raw.tsx'
import { Read, ResourcePage } from '../parts/read.tsx'
import { Share } from '../parts/share.tsx'
import { formatMoment, Time, useTick } from '../parts/time.tsx'
import { BuyerEmailsCard } from './invoice-buyer-emails.tsx'
import { InvoiceNoteCard } from './invoice-note.tsx'
import { Payments } from './invoice-payments.tsx'
import { NewInvoiceDialog } from './new-invoice.tsx'
import { NextStep } from './resolution.tsx'

const route = getRouteApi('/inside/invoices/$id')
const CANCELLABLE = new Set(['awaiting_payment', 'expired'])
const OPEN = new Set(['awaiting_payment', 'payment_detected', 'confirming', 'partially_paid'])

export function InvoicePage() {
  const { id } = route.useParams()
  const mode = useMode()
  const read = useQuery(invoiceOf(mode, id))
  return (
    <ResourcePage kind="Invoice" read={read}>
      {(invoice) => <Shown invoice={invoice} />}
    </ResourcePage>
  )
}

function Shown({ invoice }: { invoice: Invoice }) {
  const mode = useMode()
  const events = useQuery(eventsOf(mode, { resource_id: invoice.id, limit: '50' }))
  return (
    <Page
      title={invoiceTitle(invoice)}
      lead={<StatusBadge invoice={invoice} />}
      actions={<Actions invoice={invoice} />}
    >
      <div className="columns">
        <div className="stack large">
          <NextStep invoice={invoice} />
          <Card title="Amount">
            <div className="amount-row">
              <strong className="big-number">{invoiceAmount(invoice)}</strong>
              <span className="quiet">{askedCoins(invoice, invoice.amount)}</span>
            </div>
            <Facts facts={amountFacts(invoice)} />
          </Card>
          <Payments invoice={invoice} />
          <TestPayCard invoice={invoice} />
        </div>
        <div className="stack large">
          <Card title="Share">
            <div className="actions">
              <CopyButton text={invoice.checkout_url} label="Copy link" />
              <Share
                url={invoice.checkout_url}
                subject={`Invoice of ${invoiceAmount(invoice)}`}
                to={invoice.customer_email}
              />
            </div>
          </Card>
          {invoice.customer_email === null ? null : <BuyerEmailsCard invoiceId={invoice.id} />}
          <InvoiceNoteCard invoiceId={invoice.id} />
          <Card title="Timeline">
            <Read read={events}>{({ data }) => <Timeline invoice={invoice} events={data} />}</Read>
          </Card>
          <Card title="Details">
            <Facts facts={detailFacts(invoice)} />
          </Card>
        </div>
        <RawCard path={`/invoices/${invoice.id}`} resource={invoice} />
      </div>
    </Page>
  )
}

function amountFacts(invoice: Invoice): (readonly [string, React.ReactNode])[] {
  const { amount_detected, amount_confirmed, rate, price, price_rate, token_rates, usd_amount } = invoice
  const namesOf = ({ sources }: { readonly sources: readonly { readonly name: string }[] }) =>
    sources.map(({ name }) => name).join(', ')
  return [
    ...(!price || !price_rate
      ? []
      : [
          ['In US dollars', usd(usd_amount)] as const,
          [
            `Rate of ${price.currency}`,
            `${price_rate.usd_per_unit} US dollars (${namesOf(price_rate)})`,
          ] as const,
        ]),
    ['Detected', askedCoins(invoice, amount_detected)],
    ['Confirmed', askedCoins(invoice, amount_confirmed)],
    ...dueFacts(invoice),
    ...(rate === null || token_rates?.length > 0
      ? []
      : [['Exchange rate', `${usd(rate.usd_per_unit)} (${namesOf(rate)})`] as const]),
    // An API of the release before knows none.
    ...(token_rates ?? []).map(
      (each) =>
        [
          `Rate of ${each.symbol}`,
          `${money({ amount: each.usd_per_unit, currency: 'USD' })} (${namesOf(each)})`,
        ] as const,
    ),
  ]
}

/** What is missing of the amount, or too much. */
function dueFacts(invoice: Invoice): (readonly [string, React.ReactNode])[] {
  const { amount, amount_confirmed, amount_remaining, status } = invoice
  if (status === 'overpaid') return [['Overpaid by', askedCoins(invoice, excess(amount_confirmed, amount))]]
  if (status !== 'paid') return [['Amount due', askedCoins(invoice, amount_remaining)]]
  return Number(amount_remaining) > 0 ? [['Accepted without', askedCoins(invoice, amount_remaining)]] : []
}

function detailFacts(invoice: Invoice): (readonly [string, React.ReactNode])[] {
  const {
    customer_email,
    description,
    external_reference,
    order_reference,
    payment_link_id,
    payment_link_name,
    metadata,
  } = invoice
  return [
    ['ID', <code key="id">{invoice.id}</code>],
    ['Created', <Time key="made" at={invoice.created_at} />],
    ['Deadline', formatMoment(invoice.expires_at)],
    // An API of the release before knows no description.
    ...(description ? [['Description', description] as const] : []),
    ...(customer_email === null ? [] : [['Buyer', customer_email] as const]),
    ...(external_reference === null ? [] : [['Your reference', external_reference] as const]),
    ...(order_reference === null ? [] : [['Order', order_reference] as const]),
    ...(payment_link_id === null
      ? []
      : [
          [
            'Payment link',
            <Link key="link" to="/links/$id" params={{ id: payment_link_id }}>
              {payment_link_name ?? 'Open'}
            </Link>,
          ] as const,
        ]),
    ...Object.entries(metadata ?? {}).map(
      ([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const,
    ),
  ]
}

function Actions({ invoice }: { invoice: Invoice }) {
  const { mayWrite } = useAccount()
  const [open, setOpen] = useState<'cancel' | 'duplicate' | null>(null)
  const cancel = useChange<void, Invoice>(() => ({ path: `/invoices/${invoice.id}/cancel` }), {
    done: 'The invoice is cancelled.',
  })
  return (
    <>
      <a className="button plain" href={invoice.checkout_url} target="_blank" rel="noopener">
        Open checkout
      </a>
      {mayWrite ? <Button onClick={() => setOpen('duplicate')}>Duplicate</Button> : null}
      {CANCELLABLE.has(invoice.status) ? (
        <Button onClick={() => setOpen('cancel')}>Cancel invoice</Button>
      ) : null}
      {open === 'duplicate' ? <NewInvoiceDialog like={invoice} onClose={() => setOpen(null)} /> : null}
      {open === 'cancel' ? (
        <Confirm
          title="Cancel this invoice?"
          action="Cancel the invoice"
          danger
          onConfirm={() => cancel.mutateAsync()}
          onClose={() => setOpen(null)}
        >
          <p>
            Your buyer can no longer pay it, and it cannot be opened again. Money that is already on its way
            is not lost: it will be under Needs review.
          </p>
        </Confirm>
      ) : null}
    </>
  )
}

/** The invoice's events, newest first; each is what webhooks carried. Old ones are forgotten: it was made all the same. */
function Timeline({ invoice, events }: { invoice: Invoice; events: readonly PaylinkEvent[] }) {
  return (
    <ol className="timeline">
      {invoice.cancelled_at === null ? null : (
        <li>
          <strong>Cancelled</strong>
          <Time at={invoice.cancelled_at} />
        </li>
      )}
      <EventSteps events={events} />
      {events.some(({ event_type }) => event_type === 'invoice.created') ? null : (
        <li>
          <strong>Created</strong>
          <Time at={invoice.created_at} />
        </li>
      )}
    </ol>
  )
}

/** What the sandbox can do to an invoice, and what it teaches. */
const SCENARIO_LABELS: { readonly [scenario in Scenario]: { label: string; hint: string } } = {
  exact: { label: 'Pay exactly', hint: 'What remains to be paid.' },
  under: { label: 'Pay too little', hint: '40% of it: the invoice is paid in part.' },
  over: { label: 'Pay too much', hint: '160% of it: you decide about the rest.' },
  two_parts: { label: 'Pay in two parts', hint: 'Half, then the rest.' },
  late: { label: 'Pay too late', hint: 'Lets it expire, then pays.' },
  double_spend: { label: 'Double-spend', hint: 'Pays, then spends the coin elsewhere.' },
  reorg: { label: 'Reorganize the chain', hint: 'Pays; the block leaves the chain and comes back.' },
}
const SCENARIOS = Object.keys(SCENARIO_LABELS) as Scenario[]

/** In test mode and until the deadline: pays the invoice on its sandbox chain, well or badly. */
function TestPayCard({ invoice }: { invoice: Invoice }) {
  const mode = useMode()
  useTick()
  const pay = useChange<Scenario, TestPayment>(
    (scenario) => ({ path: `/test/invoices/${invoice.id}/pay`, body: { scenario } }),
    { done: 'The test payment is on its way.' },
  )
  const isOver = Date.parse(invoice.expires_at) <= Date.now()
  if (mode !== 'test' || isOver || !OPEN.has(invoice.status)) return null
  return (
    <Card title="Pay it in the sandbox">
      <p className="quiet">
        Real transactions on a chain of test coins. Everything after that is as with live money.
      </p>
      <div className="choices">
        {SCENARIOS.map((scenario) => (
          <div key={scenario}>
            <Button
              look={scenario === 'exact' ? 'primary' : 'plain'}
              busy={pay.isPending}
              onClick={() => pay.mutate(scenario)}
            >
              {SCENARIO_LABELS[scenario].label}
            </Button>
            <small className="quiet">{SCENARIO_LABELS[scenario].hint}</small>
          </div>
        ))}
      </div>
      <ProblemNote error={pay.error} />
    </Card>
  )
}
