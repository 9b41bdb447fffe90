import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { linksOf } from '../api/reads.ts'
import type { PaymentLink } from '../api/types.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { CopyButton, PostSnippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { COINS, totalOf } from '../parts/money.ts'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, NothingFound } from '../parts/table.tsx'
import { NewLinkDialog } from './new-link.tsx'
import { TillDialog } from './till.tsx'

const route = getRouteApi('/inside/links')

export function LinksPage() {
  const mode = useMode()
  const search = route.useSearch()
  const { q } = search
  const navigate = route.useNavigate()
  const links = useQuery(linksOf(mode, { q, ...pageQuery(search) }))
  const isWithoutNetworks = useIsWithoutNetworks()
  const [making, setMaking] = useState<'link' | 'till' | null>(null)
  const close = () => setMaking(null)
  const makeButton = (
    <Button look="primary" icon="plus" disabled={isWithoutNetworks} onClick={() => setMaking('link')}>
      New link
    </Button>
  )
  return (
    <Page
      title="Payment links"
      lead="Reusable links that anyone can pay, and tills for your counter."
      actions={
        <>
          <CsvButton name="payment-links" path="/payment-links" query={{ q }} columns={CSV_COLUMNS} />
          <Button disabled={isWithoutNetworks} onClick={() => setMaking('till')}>
            New till
          </Button>
          {makeButton}
        </>
      }
    >
      <search className="filters">
        <SearchBox
          label="Search payment links"
          placeholder="Name or ID"
          value={q}
          onSearch={(wanted) => void navigate({ search: ({ mode }) => ({ mode, q: wanted }) })}
        />
      </search>
      <DataTable
        caption="Payment links, newest first"
        columns={COLUMNS}
        read={links}
        empty={
          q !== undefined ? (
            <NothingFound>
              <p>No link has this in its name or id.</p>
            </NothingFound>
          ) : (
            <Empty title="No payment links yet">
              <p>
                Put one on your page, in an email, or behind a button. Every buyer gets an invoice of their
                own.
              </p>
              {makeButton}
              <PostSnippet
                path="/payment-links"
                apiKey={`sk_${mode}_…`}
                body={{ name: 'Coffee', usd_amount: '4.50' }}
              />
            </Empty>
          )
        }
      />
      <Pager list={links.data} position={search} />
      {making === 'link' ? <NewLinkDialog onClose={close} /> : null}
      {making === 'till' ? <TillDialog onClose={close} /> : null}
    </Page>
  )
}

const COLUMNS: readonly Column<PaymentLink>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <Link to="/links/$id" params={{ id }} className="row-link" preload="intent">
        {name}
      </Link>
    ),
  },
  {
    title: 'Amount',
    align: 'end',
    // An API of the release before knows no till.
    cell: (link) => totalOf(link) ?? (link.till == null ? 'Buyer enters it' : 'Till'),
  },
  {
    title: 'Coin',
    wide: true,
    cell: ({ asset }) => (asset === null ? 'Account default' : COINS[asset].name),
  },
  {
    title: 'Status',
    cell: ({ active }) => (active ? <Badge tone="good">Active</Badge> : <Badge tone="quiet">Inactive</Badge>),
  },
  {
    title: 'Address',
    align: 'end',
    wide: true,
    cell: ({ url }) => <CopyButton text={url} label="Copy link" />,
  },
]

const CSV_COLUMNS: readonly CsvColumn<PaymentLink>[] = [
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['usd_amount', ({ usd_amount }) => usd_amount],
  ['asset', ({ asset }) => asset],
  ['allow_dynamic_amount', ({ allow_dynamic_amount }) => String(allow_dynamic_amount)],
  ['active', ({ active }) => String(active)],
  ['url', ({ url }) => url],
  ['created_at', ({ created_at }) => created_at],
  ['price_amount', ({ price }) => price?.amount ?? null],
  ['price_currency', ({ price }) => price?.currency ?? null],
]
