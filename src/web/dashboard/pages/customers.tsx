import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { customersOf } from '../api/reads.ts'
import type { Customer } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { usd } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/customers')
const SHOWN_MAX = '100'

/** Whoever invoices were for, the latest buyer first. */
export function CustomersPage() {
  const mode = useMode()
  const { q } = route.useSearch()
  const navigate = route.useNavigate()
  const customers = useQuery(customersOf(mode, { q, limit: SHOWN_MAX }))
  return (
    <Page
      title="Customers"
      lead="By email address, or by your reference where an invoice has none."
      actions={<CsvButton name="customers" path="/customers" query={{ q }} columns={CSV_COLUMNS} isOnePage />}
    >
      <search className="filters">
        <SearchBox
          label="Search customers"
          placeholder="Email or reference"
          value={q}
          onSearch={(text) => void navigate({ search: (old) => ({ ...old, q: text }) })}
        />
      </search>
      <DataTable
        caption="Customers, the latest first"
        columns={COLUMNS}
        read={customers}
        empty={
          q === undefined ? (
            <Empty title="No customers yet">
              <p>Whoever an invoice names by email address or reference is listed here.</p>
              <Link className="button plain" to="/invoices">
                Go to the invoices
              </Link>
            </Empty>
          ) : (
            <Empty title="Nothing matches">
              <p>Search for the beginning of an email address or a reference.</p>
            </Empty>
          )
        }
      />
      {customers.data?.has_more === true ? (
        <Note>
          <p>These are the latest {SHOWN_MAX}. Search to find others.</p>
        </Note>
      ) : null}
    </Page>
  )
}

const COLUMNS: readonly Column<Customer>[] = [
  {
    title: 'Customer',
    long: true,
    cell: ({ id, email, reference, last_invoice_at }) => (
      <>
        <Link to="/invoices" search={(old) => ({ mode: old.mode, q: id })} className="row-link">
          {id}
        </Link>
        {email === null || reference === null ? null : <p className="quiet small-text break">{reference}</p>}
        <Narrow>
          <Time at={last_invoice_at} />
        </Narrow>
      </>
    ),
  },
  {
    title: 'Paid',
    align: 'end',
    cell: ({ paid_usd, paid, invoices }) => (
      <>
        {usd(paid_usd)}
        <Narrow>{`${paid} of ${invoices} paid`}</Narrow>
      </>
    ),
  },
  {
    title: 'Invoices',
    align: 'end',
    wide: true,
    cell: ({ paid, invoices }) => `${paid} of ${invoices} paid`,
  },
  { title: 'First invoice', wide: true, cell: ({ first_invoice_at }) => <Time at={first_invoice_at} /> },
  { title: 'Last invoice', wide: true, cell: ({ last_invoice_at }) => <Time at={last_invoice_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<Customer>[] = [
  ['customer', ({ id }) => id],
  ['email', ({ email }) => email],
  ['reference', ({ reference }) => reference],
  ['invoices', ({ invoices }) => String(invoices)],
  ['paid', ({ paid }) => String(paid)],
  ['paid_usd', ({ paid_usd }) => paid_usd],
  ['first_invoice_at', ({ first_invoice_at }) => first_invoice_at],
  ['last_invoice_at', ({ last_invoice_at }) => last_invoice_at],
]
