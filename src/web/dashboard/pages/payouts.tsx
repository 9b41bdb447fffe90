import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { destinationsOf, payoutsOf } from '../api/reads.ts'
import type { Payout, PayoutStatus } from '../api/types.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useAccount, useMode } from '../app/session.ts'
import { PAYOUT_LABELS, PayoutBadge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { CoinFilter, Filter } from '../parts/filter.tsx'
import { coins } from '../parts/money.ts'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SavedViews } from '../parts/saved-views.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, Narrow, NothingFound } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { NewPayoutDialog } from './new-payout.tsx'

const route = getRouteApi('/inside/payouts')
const STATUS_OPTIONS = (Object.keys(PAYOUT_LABELS) as PayoutStatus[]).map(
  (status) => [status, PAYOUT_LABELS[status].label] as const,
)

/** Money on its way out, and what became of it. */
export function PayoutsPage() {
  const mode = useMode()
  const { mayWrite } = useAccount()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const isWithoutNetworks = useIsWithoutNetworks()
  const [isAsking, setIsAsking] = useState(false)
  const { status, asset, q } = search
  const payouts = useQuery(payoutsOf(mode, { status, asset, q, ...pageQuery(search) }))
  const destinations = useQuery(destinationsOf(mode))
  const nameOf = ({ destination, destination_id }: Payout): string =>
    destinations.data?.data.find(({ id }) => id === destination_id)?.name ?? `…${destination.slice(-8)}`
  const choose = (change: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...change, after: undefined, before: undefined }) })
  return (
    <Page
      title="Payouts"
      lead="Your money, sent to addresses that you added before."
      actions={
        <>
          <CsvButton name="payouts" path="/payouts" query={{ status, asset, q }} columns={CSV_COLUMNS} />
          <Link className="button plain" to="/payouts/destinations">
            Destinations
          </Link>
          {mayWrite ? (
            <Button look="primary" icon="plus" disabled={isWithoutNetworks} onClick={() => setIsAsking(true)}>
              New payout
            </Button>
          ) : null}
        </>
      }
    >
      <SavedViews list="payouts" search={search} />
      <search className="filters">
        <SearchBox
          label="Search payouts"
          placeholder="Destination, address, transaction, ID"
          value={q}
          onSearch={(wanted) => choose({ q: wanted })}
        />
        <Filter
          label="Status"
          all="All statuses"
          value={status}
          options={STATUS_OPTIONS}
          onChoose={(chosen) => choose({ status: chosen })}
        />
        <CoinFilter value={asset} onChoose={(chosen) => choose({ asset: chosen })} />
      </search>
      <DataTable
        caption="Payouts, newest first"
        columns={columnsOf(nameOf)}
        read={payouts}
        empty={[status, asset, q].every((value) => value === undefined) ? <NothingYet /> : <NoPayoutFound />}
      />
      <Pager list={payouts.data} position={search} />
      {isAsking ? <NewPayoutDialog onClose={() => setIsAsking(false)} /> : null}
    </Page>
  )
}

const NothingYet = () => (
  <Empty title="No payouts yet">
    <p>
      First add the address that your money goes to. Then request a payout; an owner or admin approves it, and
      it is sent.
    </p>
    <Link className="button primary" to="/payouts/destinations">
      Go to the destinations
    </Link>
  </Empty>
)

const NoPayoutFound = () => (
  <NothingFound>
    <p>No payout is in this state, in this coin, and has this text.</p>
    <Link className="button plain" to="/payouts" search={(old) => ({ mode: old.mode })}>
      Show all payouts
    </Link>
  </NothingFound>
)

const columnsOf = (nameOf: (payout: Payout) => string): readonly Column<Payout>[] => [
  {
    title: 'Payout',
    cell: ({ id, amount, asset, status, created_at }) => (
      <>
        <Link to="/payouts/$id" params={{ id }} className="row-link" preload="intent">
          {coins(amount, asset)}
        </Link>
        <Narrow>
          <PayoutBadge status={status} /> <Time at={created_at} />
        </Narrow>
      </>
    ),
  },
  { title: 'To', cell: (payout) => <span className="break">{nameOf(payout)}</span> },
  { title: 'Status', wide: true, cell: ({ status }) => <PayoutBadge status={status} /> },
  { title: 'Fee', align: 'end', roomy: true, cell: ({ network_fee, asset }) => coins(network_fee, asset) },
  { title: 'Arrives', align: 'end', roomy: true, cell: ({ net_amount, asset }) => coins(net_amount, asset) },
  { title: 'Requested', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<Payout>[] = [
  ['id', ({ id }) => id],
  ['status', ({ status }) => status],
  ['asset', ({ asset }) => asset],
  ['amount', ({ amount }) => amount],
  ['network_fee', ({ network_fee }) => network_fee],
  ['net_amount', ({ net_amount }) => net_amount],
  ['destination', ({ destination }) => destination],
  ['requested_by', ({ requested_by }) => requested_by],
  ['approved_by', ({ approved_by }) => approved_by],
  ['txid', ({ txid }) => txid],
  ['failure_code', ({ failure_code }) => failure_code],
  ['created_at', ({ created_at }) => created_at],
  ['confirmed_at', ({ confirmed_at }) => confirmed_at],
]
