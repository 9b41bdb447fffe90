import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { balancesOf, eventsOf, invoicesOf, payoutsOf } from '../api/reads.ts'
import type { Invoice } from '../api/types.ts'
import { firstKeyOf } from '../app/first-steps.ts'
import { useAccount, useMode } from '../app/session.ts'
import { StatusBadge } from '../parts/badge.tsx'
import { besides, isHeld } from '../parts/besides.ts'
import { invoiceAmount, invoiceName } from '../parts/invoice-title.ts'
import { coins } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Checklist } from './home-checklist.tsx'
import { HomeFigures } from './home-figures.tsx'

export function HomePage() {
  const mode = useMode()
  const latest = useQuery(invoicesOf(mode, { limit: '5' }))
  const balances = useQuery(balancesOf(mode))
  useFreshFigures(latest.data?.data)
  const { isNew, isUnpaid } = useIsNewShop()
  const [checklist, figures] = [
    <Checklist key="checklist" />,
    <HomeFigures key="figures" isUnpaid={isUnpaid} />,
  ]
  const held = (balances.data?.data ?? []).filter(isHeld)
  return (
    <Page
      title="Home"
      lead={mode === 'test' ? 'Try everything here: test coins, test keys, test webhooks.' : undefined}
    >
      <div className="stack large">
        <PayoutsWaiting />
        {isNew ? [checklist, figures] : [figures, checklist]}
        {held.length === 0 ? null : (
          <Card title="Balances" actions={<Link to="/balances">Statement</Link>}>
            <ul className="tiles">
              {held.map((balance) => (
                <li key={balance.asset}>
                  <strong>{coins(balance.available, balance.asset)}</strong>
                  <span className="quiet">{['available', ...besides(balance)].join(', ')}</span>
                </li>
              ))}
            </ul>
          </Card>
        )}
        <Card title="Latest invoices" actions={<Link to="/invoices">All invoices</Link>}>
          <DataTable caption="Latest invoices" columns={COLUMNS} read={latest} empty={<NoInvoices />} />
        </Card>
      </div>
    </Page>
  )
}

/** Whether the shop was never paid; new is also one that was opened in this visit: the list is what it needs first. */
function useIsNewShop(): { isNew: boolean; isUnpaid: boolean } {
  const mode = useMode()
  const { merchantId } = useAccount()
  const paid = useQuery(eventsOf(mode, { event_type: 'invoice.paid', limit: '1' }))
  const isFirstVisit = mode === 'test' && firstKeyOf(merchantId) !== null
  const isUnpaid = paid.data?.data.length === 0
  return { isNew: isFirstVisit || isUnpaid, isUnpaid }
}

/** Reads the figures again once a listed invoice has changed, so that they do not contradict the list. */
function useFreshFigures(invoices: readonly Invoice[] | undefined): void {
  const mode = useMode()
  const queries = useQueryClient()
  const states = invoices?.map(({ id, status }) => `${id} ${status}`).join()
  const seen = useRef(states)
  useEffect(() => {
    if (seen.current !== undefined && states !== seen.current)
      void queries.invalidateQueries({ queryKey: [mode, '/statistics'] })
    seen.current = states
  }, [mode, queries, states])
}

/** Money out waits for a person: the one thing here that nobody else does. */
function PayoutsWaiting() {
  const mode = useMode()
  const waiting = useQuery(payoutsOf(mode, { status: 'requested', limit: '1' }))
  if (waiting.data === undefined || waiting.data.data.length === 0) return null
  return (
    <Note kind="warn">
      <p>
        A payout waits for approval.{' '}
        <Link to="/payouts" search={{ status: 'requested' }}>
          Review it
        </Link>
      </p>
    </Note>
  )
}

const NoInvoices = () => (
  <Empty title="No invoices yet">
    <p>Create a payment link: each buyer who opens it and chooses a coin gets an invoice.</p>
  </Empty>
)

const COLUMNS: readonly Column<Invoice>[] = [
  {
    title: 'Invoice',
    cell: (invoice) => (
      <>
        <Link to="/invoices/$id" params={{ id: invoice.id }} preload="intent" className="row-link">
          {invoiceName(invoice)}
        </Link>
        <Narrow>
          <StatusBadge invoice={invoice} /> <Time at={invoice.created_at} />
        </Narrow>
      </>
    ),
  },
  { title: 'Status', wide: true, cell: (invoice) => <StatusBadge invoice={invoice} /> },
  {
    title: 'Amount',
    align: 'end',
    cell: invoiceAmount,
  },
  { title: 'Created', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]
