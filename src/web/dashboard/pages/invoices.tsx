import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { importedInvoicesOf, invoicesOf, linkOf } from '../api/reads.ts'
import type { Mode } from '../api/request.ts'
import type { Invoice, InvoiceStatus } from '../api/types.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useMode } from '../app/session.ts'
import { STATUS_LABELS, StatusBadge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { PostSnippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { CoinFilter, DAY_MS, DayFilter, dayEdge, Filter } from '../parts/filter.tsx'
import { invoiceName } from '../parts/invoice-title.ts'
import { coins, money, usd } from '../parts/money.ts'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SavedViews } from '../parts/saved-views.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { NewInvoiceDialog } from './new-invoice.tsx'

const route = getRouteApi('/inside/invoices')
const STATUS_OPTIONS = (Object.keys(STATUS_LABELS) as InvoiceStatus[]).map(
  (status) => [status, STATUS_LABELS[status].label] as const,
)
type Search = ReturnType<typeof route.useSearch>

/** The filters of the address as the API takes them. A day means the whole of it, in UTC. */
const filterOf = ({ status, asset, q, from, to, link }: Search) => ({
  status,
  asset,
  q,
  payment_link_id: link,
  created_after: from === undefined ? undefined : dayEdge(from, -1),
  created_before: to === undefined ? undefined : dayEdge(to, DAY_MS),
})

export function InvoicesPage() {
  const mode = useMode()
  const search = route.useSearch()
  const isWithoutNetworks = useIsWithoutNetworks()
  const [isMaking, setIsMaking] = useState(false)
  const invoices = useQuery(invoicesOf(mode, { ...filterOf(search), ...pageQuery(search) }))
  const hasImported = (useQuery(importedInvoicesOf(mode, { limit: '1' })).data?.data.length ?? 0) > 0
  const { status, asset, q, from, to, link } = search
  const isFiltered = [status, asset, q, from, to, link].some((value) => value !== undefined)
  const makeButton = (
    <Button look="primary" icon="plus" disabled={isWithoutNetworks} onClick={() => setIsMaking(true)}>
      New invoice
    </Button>
  )
  return (
    <Page
      title="Invoices"
      actions={
        <>
          {hasImported ? <ImportedLink q={undefined}>From before Paylink</ImportedLink> : null}
          <CsvButton name="invoices" path="/invoices" query={filterOf(search)} columns={CSV_COLUMNS} />
          {makeButton}
        </>
      }
    >
      {link === undefined ? null : <OfLink id={link} />}
      <SavedViews list="invoices" search={search} />
      <Filters search={search} />
      <DataTable
        caption="Invoices, newest first"
        columns={COLUMNS}
        read={invoices}
        empty={
          isFiltered ? (
            <NothingFound importedFor={hasImported ? q : undefined} />
          ) : (
            <NothingYet button={makeButton} mode={mode} />
          )
        }
      />
      <Pager list={invoices.data} position={search} />
      {isMaking ? <NewInvoiceDialog onClose={() => setIsMaking(false)} /> : null}
    </Page>
  )
}

/** Which payment link the list is of, and the way to all invoices. */
function OfLink({ id }: { id: string }) {
  const { data: link } = useQuery(linkOf(useMode(), id))
  return (
    <p>
      Invoices of{' '}
      <Link to="/links/$id" params={{ id }}>
        {link?.name ?? 'a payment link'}
      </Link>
      .{' '}
      <Link
        to="/invoices"
        search={(old) => ({ ...old, link: undefined, after: undefined, before: undefined })}
      >
        Show all invoices
      </Link>
    </p>
  )
}

function Filters({ search }: { search: Search }) {
  const navigate = route.useNavigate()
  const apply = (change: Partial<Search>) =>
    navigate({ search: (old) => ({ ...old, ...change, after: undefined, before: undefined }) })
  return (
    <search className="filters">
      <SearchBox
        label="Search invoices"
        placeholder="ID, reference, email, address, transaction"
        value={search.q}
        onSearch={(q) => void apply({ q })}
      />
      <Filter
        label="Status"
        all="All statuses"
        value={search.status}
        options={STATUS_OPTIONS}
        onChoose={(status) => void apply({ status })}
      />
      <CoinFilter value={search.asset} onChoose={(asset) => void apply({ asset })} />
      <div className="day-filters">
        <DayFilter label="Created after" value={search.from} onChoose={(from) => void apply({ from })} />
        <DayFilter label="Created before" value={search.to} onChoose={(to) => void apply({ to })} />
      </div>
    </search>
  )
}

/** `importedFor`: what was searched for, where invoices of another service could match it. */
const NothingFound = ({ importedFor }: { importedFor: string | undefined }) => (
  <Empty title="Nothing matches">
    <p>Take a filter away, or search for another part of an id, reference or email address.</p>
    <Link className="button plain" to="/invoices" search={(old) => ({ mode: old.mode })}>
      Show all invoices
    </Link>
    {importedFor === undefined ? null : (
      <ImportedLink q={importedFor}>Search those from before Paylink</ImportedLink>
    )}
  </Empty>
)

const ImportedLink = ({ q, children }: { q: string | undefined; children: string }) => (
  <Link className="button plain" to="/invoices/imported" search={(old) => ({ mode: old.mode, q })}>
    {children}
  </Link>
)

const NothingYet = ({ button, mode }: { button: ReactNode; mode: Mode }) => (
  <Empty title="No invoices yet">
    <p>
      Your server creates them with the API, a payment link creates one for every buyer, or you create one
      here.
    </p>
    {button}
    <PostSnippet
      path="/invoices"
      apiKey={`sk_${mode}_…`}
      body={{ usd_amount: '25.00', external_reference: 'order-1001' }}
    />
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
    title: 'Amount (USD)',
    align: 'end',
    cell: ({ usd_amount, price, amount, asset }) =>
      usd_amount === null ? (
        <>
          <span className="roomy">–</span>
          <span className="cramped">{coins(amount, asset)}</span>
        </>
      ) : (
        <>
          {usd(usd_amount)}
          {price && <div className="quiet small-text">{money(price)}</div>}
        </>
      ),
  },
  { title: 'Amount (crypto)', align: 'end', roomy: true, cell: ({ amount, asset }) => coins(amount, asset) },
  {
    title: 'Buyer',
    roomy: true,
    cell: ({ customer_email }) => <span className="break">{customer_email ?? '–'}</span>,
  },
  { title: 'Created', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<Invoice>[] = [
  ['id', ({ id }) => id],
  ['status', ({ status }) => status],
  ['usd_amount', ({ usd_amount }) => usd_amount],
  ['asset', ({ asset }) => asset],
  ['amount', ({ amount }) => amount],
  ['amount_confirmed', ({ amount_confirmed }) => amount_confirmed],
  ['usd_per_unit', ({ rate }) => rate?.usd_per_unit ?? null],
  ['external_reference', ({ external_reference }) => external_reference],
  ['order_reference', ({ order_reference }) => order_reference],
  ['customer_email', ({ customer_email }) => customer_email],
  ['created_at', ({ created_at }) => created_at],
  ['paid_at', ({ paid_at }) => paid_at],
  ['status_reason', ({ status_reason }) => status_reason],
  ['review_reason', ({ review_reason }) => review_reason],
  ['price_amount', ({ price }) => price?.amount ?? null],
  ['price_currency', ({ price }) => price?.currency ?? null],
  ['price_usd_per_unit', ({ price_rate }) => price_rate?.usd_per_unit ?? null],
  ['description', ({ description }) => description ?? null],
]
