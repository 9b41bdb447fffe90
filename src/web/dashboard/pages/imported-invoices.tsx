import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { importedInvoicesOf } from '../api/reads.ts'
import type { ImportedInvoice } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { usd } from '../parts/money.ts'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/invoices/imported')

/** What an operator imported from another service's export: to look things up in, and nothing else. */
export function ImportedInvoicesPage() {
  const mode = useMode()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const invoices = useQuery(importedInvoicesOf(mode, { q: search.q, ...pageQuery(search) }))
  return (
    <Page
      title="Invoices from before Paylink"
      lead="As another service exported them. They are a record: their money is not in your balances, and nothing about them changes here."
      actions={
        <>
          <CsvButton
            name="imported-invoices"
            path="/imported-invoices"
            query={{ q: search.q }}
            columns={CSV_COLUMNS}
          />
          <Link className="button plain" to="/invoices" search={(old) => ({ mode: old.mode })}>
            Invoices of Paylink
          </Link>
        </>
      }
    >
      <search className="filters">
        <SearchBox
          label="Search imported invoices"
          placeholder="Whole order, ID or email address"
          value={search.q}
          onSearch={(q) => void navigate({ search: (old) => ({ mode: old.mode, q }) })}
        />
      </search>
      <DataTable
        caption="Imported invoices, newest first"
        columns={COLUMNS}
        read={invoices}
        empty={search.q === undefined ? <NothingImported /> : <NothingFound />}
      />
      <Pager list={invoices.data} position={search} />
    </Page>
  )
}

const NothingImported = () => (
  <Empty title="Nothing was imported">
    <p>
      Whoever runs this server can read the export of BTCPay, Coinbase Commerce and others with{' '}
      <code>paylink import</code>.
    </p>
  </Empty>
)

const NothingFound = () => (
  <Empty title="Nothing matches">
    <p>Search for a whole order, ID or email address, as the other service had it.</p>
    <Link className="button plain" to="/invoices/imported" search={(old) => ({ mode: old.mode })}>
      Show all of them
    </Link>
  </Empty>
)

/** The services by their names; any other is called what the operator called it. */
const SOURCES: { readonly [source: string]: string } = {
  btcpay: 'BTCPay Server',
  coinbase_commerce: 'Coinbase Commerce',
}

const COLUMNS: readonly Column<ImportedInvoice>[] = [
  {
    title: 'Order',
    cell: ({ order_reference, source_id, customer_email, created_at }) => (
      <>
        <strong className="break">{order_reference ?? source_id}</strong>
        {customer_email === null ? null : <p className="cramped quiet small-text break">{customer_email}</p>}
        <Narrow>
          <Time at={created_at} />
        </Narrow>
      </>
    ),
  },
  {
    title: 'From',
    cell: ({ source, source_id }) => (
      <>
        {SOURCES[source] ?? source}
        <br />
        <code className="quiet">{source_id}</code>
      </>
    ),
  },
  {
    title: 'Amount',
    align: 'end',
    cell: ({ amount, currency, status }) => (
      <>
        {currency === 'USD' ? usd(amount) : `${amount} ${currency}`}
        <Narrow>{status}</Narrow>
      </>
    ),
  },
  { title: 'Status there', wide: true, cell: ({ status }) => status },
  {
    title: 'Paid with',
    roomy: true,
    cell: ({ payments }) =>
      payments.length === 0
        ? '–'
        : payments.map(({ id, amount, coin }) => <div key={id}>{`${amount} ${coin}`}</div>),
  },
  {
    title: 'Buyer',
    roomy: true,
    cell: ({ customer_email }) => <span className="break">{customer_email ?? '–'}</span>,
  },
  { title: 'Created', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<ImportedInvoice>[] = [
  ['source', ({ source }) => source],
  ['source_id', ({ source_id }) => source_id],
  ['status', ({ status }) => status],
  ['amount', ({ amount }) => amount],
  ['currency', ({ currency }) => currency],
  ['order_reference', ({ order_reference }) => order_reference],
  ['customer_email', ({ customer_email }) => customer_email],
  ['payments', ({ payments }) => payments.map(({ amount, coin }) => `${amount} ${coin}`).join(' + ')],
  ['created_at', ({ created_at }) => created_at],
]
