import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { invoicesOf } from '../api/reads.ts'
import type { Invoice } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { StatusBadge } from '../parts/badge.tsx'
import { coins, usd } from '../parts/money.ts'
import { ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Bones, Empty } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { needsDecision, Resolution } from './resolution.tsx'

const EACH_MAX = '50'
const STATUSES = ['manual_review', 'partially_paid', 'overpaid'] as const
/** Among the newest invoices of other statuses, those with something to decide: another coin, money after the fact. */
const NEWEST_MAX = '100'

/** A queue: the oldest first, each with what happened and the two ways to decide. */
export function AttentionPage() {
  const mode = useMode()
  const reads = useQueries({
    queries: [
      ...STATUSES.map((status) => invoicesOf(mode, { status, limit: EACH_MAX })),
      invoicesOf(mode, { limit: NEWEST_MAX }),
    ],
  })
  const error = reads.find((read) => read.error !== null)?.error ?? null
  const isPending = reads.some(({ data }) => data === undefined)
  const queue = queueOf(reads.flatMap(({ data }) => data?.data ?? []))
  return (
    <Page
      title="Needs attention"
      lead="Money that came short, late, twice or in another coin. Nothing here is lost; you decide."
    >
      <ProblemNote error={error} />
      {isPending && error === null ? (
        <Bones lines={5} />
      ) : queue.length === 0 ? (
        <Empty title="Nothing needs you">
          <p>Payments that do not fit their invoice will wait here for you.</p>
          <Link className="button plain" to="/invoices">
            See all invoices
          </Link>
        </Empty>
      ) : (
        <div className="stack large">
          {queue.map((invoice) => (
            <Waiting key={invoice.id} invoice={invoice} />
          ))}
        </div>
      )}
    </Page>
  )
}

function queueOf(invoices: readonly Invoice[]): readonly Invoice[] {
  const byId = new Map(invoices.filter(needsDecision).map((invoice) => [invoice.id, invoice]))
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function Waiting({ invoice }: { invoice: Invoice }) {
  const { id, external_reference, order_reference, asset, amount, amount_confirmed, usd_amount, created_at } =
    invoice
  return (
    <Card>
      <header className="waiting-head">
        <h2>
          <Link to="/invoices/$id" params={{ id }}>
            {external_reference ?? order_reference ?? `Invoice …${id.slice(-8)}`}
          </Link>
        </h2>
        <StatusBadge status={invoice.status} />
        <span className="quiet end">
          <Time at={created_at} />
        </span>
      </header>
      <p className="quiet">
        {usd_amount === null ? '' : `${usd(usd_amount)}, `}
        {coins(amount, asset)} asked for, {coins(amount_confirmed, asset)} final.
      </p>
      <Resolution invoice={invoice} withTitle={false} />
    </Card>
  )
}
