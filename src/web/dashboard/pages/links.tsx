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
import { COINS, usd } from '../parts/money.ts'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { NewLinkDialog } from './new-link.tsx'

const route = getRouteApi('/inside/links')

export function LinksPage() {
  const mode = useMode()
  const position = route.useSearch()
  const links = useQuery(linksOf(mode, pageQuery(position)))
  const isWithoutNetworks = useIsWithoutNetworks()
  const [isMaking, setIsMaking] = useState(false)
  const makeButton = (
    <Button look="primary" icon="plus" disabled={isWithoutNetworks} onClick={() => setIsMaking(true)}>
      New link
    </Button>
  )
  return (
    <Page title="Payment links" lead="Reusable links that anyone can pay." actions={makeButton}>
      <DataTable
        caption="Payment links, newest first"
        columns={COLUMNS}
        read={links}
        empty={
          <Empty title="No payment links yet">
            <p>
              Put one on your page, in an e-mail, or behind a button. Every buyer gets an invoice of their
              own.
            </p>
            {makeButton}
            <PostSnippet
              path="/payment-links"
              apiKey={`sk_${mode}_…`}
              body={{ name: 'Coffee', usd_amount: '4.50' }}
            />
          </Empty>
        }
      />
      <Pager list={links.data} position={position} />
      {isMaking ? <NewLinkDialog onClose={() => setIsMaking(false)} /> : null}
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
    cell: ({ usd_amount, allow_dynamic_amount }) =>
      usd_amount === null && allow_dynamic_amount ? 'Dynamic' : usd(usd_amount),
  },
  { title: 'Coin', wide: true, cell: ({ asset }) => (asset === null ? 'Your default' : COINS[asset].name) },
  {
    title: 'State',
    cell: ({ active }) => (active ? <Badge tone="good">Active</Badge> : <Badge tone="quiet">Inactive</Badge>),
  },
  {
    title: 'Address',
    align: 'end',
    wide: true,
    cell: ({ url }) => <CopyButton text={url} label="Copy link" />,
  },
]
