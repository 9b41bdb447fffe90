import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { invoicesOf } from '../api/reads.ts'
import type { Invoice } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { StatusBadge } from '../parts/badge.tsx'
import { invoiceTitle } from '../parts/invoice-title.ts'
import { coins } from '../parts/money.ts'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Empty, Skeleton } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Resolution } from './resolution.tsx'

const SHOWN_MAX = '100'

/** A queue: the oldest first, each with what happened and the two ways to decide. */
export function AttentionPage() {
  const mode = useMode()
  const waiting = useQuery(invoicesOf(mode, { attention: 'open', limit: SHOWN_MAX }))
  const queue = waiting.data?.data.toReversed() ?? []
  return (
    <Page
      title="Needs review"
      lead="Payments to review: too little when the time was up, too much, late, twice or in another coin. Nothing is lost."
    >
      <ProblemNote error={waiting.error} />
      {waiting.isPending ? (
        <Skeleton lines={5} />
      ) : waiting.data === undefined ? null : queue.length === 0 ? (
        <Empty title="Nothing to review">
          <p>Payments that do not fit their invoice will wait here for you.</p>
          <Link className="button plain" to="/invoices">
            See all invoices
          </Link>
        </Empty>
      ) : (
        <div className="stack large">
          {waiting.data.has_more ? (
            <div className="form">
              <Note>These are the newest {SHOWN_MAX}. Older ones appear as you decide.</Note>
            </div>
          ) : null}
          {queue.map((invoice) => (
            <Waiting key={invoice.id} invoice={invoice} />
          ))}
        </div>
      )}
    </Page>
  )
}

function Waiting({ invoice }: { invoice: Invoice }) {
  const { id, asset, amount, amount_confirmed, external_reference, created_at } = invoice
  return (
    <Card>
      <header className="waiting-head">
        <h2>
          <Link to="/invoices/$id" params={{ id }}>
            {invoiceTitle(invoice)}
          </Link>
        </h2>
        <StatusBadge invoice={invoice} />
        <span className="quiet end">
          <Time at={created_at} />
        </span>
      </header>
      <p className="quiet">
        {external_reference === null ? '' : `${external_reference}: `}
        {coins(amount_confirmed, asset)} of {coins(amount, asset)} confirmed.
      </p>
      <Resolution invoice={invoice} />
    </Card>
  )
}
