import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { assetsOf, balanceEntriesOf, balancesOf, ratesOf } from '../api/reads.ts'
import type { Balance, BalanceEntry, Rate } from '../api/types.ts'
import { useAboutAtHome } from '../app/home-currency.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useMode } from '../app/session.ts'
import { besides, isHeld } from '../parts/besides.ts'
import { Button } from '../parts/button.tsx'
import { CsvButton } from '../parts/csv-button.tsx'
import { typeLabel } from '../parts/entry-types.ts'
import { CoinFilter } from '../parts/filter.tsx'
import {
  byToken,
  coinAmount,
  coinAndSymbol,
  coinName,
  coins,
  money,
  networkName,
  plainName,
  sumOf,
  symbolOf,
  usd,
} from '../parts/money.ts'
import { Card, Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { Read } from '../parts/read.tsx'
import { STATEMENT_CSV_COLUMNS } from '../parts/statement-csv.ts'
import { type Column, DataTable, Empty, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/balances')

export function BalancesPage() {
  const mode = useMode()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const isWithoutNetworks = useIsWithoutNetworks()
  const entries = useQuery(balanceEntriesOf(mode, { asset: search.asset, ...pageQuery(search) }))
  return (
    <Page
      title="Balances"
      lead="Funds by coin."
      actions={
        isWithoutNetworks ? (
          <Button disabled>Create payout</Button>
        ) : (
          <Link className="button plain" to="/payouts">
            Create payout
          </Link>
        )
      }
    >
      <div className="stack large">
        <FundsByCoin />
        <Card
          title="Statement"
          actions={
            <>
              <Link className="button plain" to="/balances/statement">
                Monthly statement
              </Link>
              <CsvButton
                name="statement"
                path="/balances/entries"
                query={{ asset: search.asset }}
                columns={STATEMENT_CSV_COLUMNS}
              />
            </>
          }
        >
          <div className="stack">
            <search className="filters">
              <CoinFilter
                value={search.asset}
                onChoose={(asset) =>
                  void navigate({ search: (old) => ({ ...old, asset, after: undefined, before: undefined }) })
                }
              />
            </search>
            <DataTable
              caption="Entries, newest first"
              columns={COLUMNS}
              read={entries}
              empty={
                <Empty title="No entries yet">
                  <p>Your first payment appears here.</p>
                  <Link className="button plain" to="/invoices">
                    Go to the invoices
                  </Link>
                </Empty>
              }
            />
            <Pager list={entries.data} position={search} />
          </div>
        </Card>
      </div>
    </Page>
  )
}

/** What all of it is worth now, and the names of what has no price just now. */
function totalUsd(balances: readonly Balance[], rates: readonly Rate[]) {
  let total: number | null = null
  const unpriced: string[] = []
  for (const { asset, available } of balances) {
    if (Number(available) === 0) continue
    const ofCoin = rates.filter((rate) => symbolOf(rate.asset) === symbolOf(asset))
    const price = ofCoin.find(({ usd_per_unit }) => usd_per_unit !== null)?.usd_per_unit ?? null
    if (price === null) unpriced.push(coinName(asset))
    else total = (total ?? 0) + Number(available) * Number(price)
  }
  return { total: unpriced.length === 0 ? (total ?? 0) : total, unpriced }
}

function Total({ balances }: { balances: readonly Balance[] }) {
  const rates = useQuery(ratesOf(useMode()))
  const aboutAtHome = useAboutAtHome()
  if (rates.data === undefined) return null
  const { total, unpriced } = totalUsd(balances, rates.data.data)
  const missing = unpriced.length === 0 ? null : `no price for ${unpriced.join(', ')} right now`
  const atHome = total === null ? null : aboutAtHome(total)
  return (
    <p>
      <strong className="big-number">{total === null ? '–' : usd(String(total))}</strong>{' '}
      <span className="quiet">
        {(total === null ? [missing] : ['available', atHome, 'at current prices', missing])
          .filter((part) => part !== null)
          .join(', ')}
      </span>
    </p>
  )
}

/** Coins that hold something or are accepted: an empty one of the others is of no interest. */
function FundsByCoin() {
  const mode = useMode()
  const balances = useQuery(balancesOf(mode))
  const assets = useQuery(assetsOf(mode))
  const isAccepted = (coin: string) => assets.data?.data.some(({ asset }) => asset === coin) ?? true
  return (
    <Read read={assets.isPending ? { data: undefined, error: balances.error } : balances} lines={2}>
      {({ data }) => (
        <div className="stack">
          <Total balances={data} />
          <ul className="tiles">
            {byToken(data.filter((balance) => isHeld(balance) || isAccepted(balance.asset))).map(
              (networks) => (
                <TokenTile key={networks[0].asset} networks={networks} />
              ),
            )}
          </ul>
        </div>
      )}
    </Read>
  )
}

/** One coin on all of its networks, and under the sum what is where: a payout leaves one of them. */
function TokenTile({ networks }: { networks: readonly [Balance, ...Balance[]] }) {
  const [first, ...others] = networks
  const held = networks.filter(isHeld)
  return (
    <li>
      <span className="quiet">{others.length === 0 ? coinName(first.asset) : plainName(first.asset)}</span>
      <strong>{coinAndSymbol(sumOf(networks.map(({ available }) => available)), first.asset)}</strong>
      {others.length === 0 || held.length === 0 ? (
        <small className="quiet">{['available', ...besides(first)].join(', ')}</small>
      ) : (
        held.map((balance) => (
          <small className="quiet" key={balance.asset}>
            {networkName(balance.asset)}:{' '}
            {[`${coinAmount(balance.available, balance.asset)} available`, ...besides(balance)].join(', ')}
          </small>
        ))
      )}
      {networks.map((balance) => (
        <Frozen key={balance.asset} balance={balance} />
      ))}
    </li>
  )
}

function Frozen({ balance: { asset, frozen } }: { balance: Balance }) {
  return frozen.map(({ invoice_id, deposit_address_id, amount }) => (
    <small key={invoice_id ?? deposit_address_id}>
      {coinAmount(amount, asset)} of it is frozen by its issuer:{' '}
      {invoice_id === null ? (
        'at a permanent address'
      ) : (
        <Link to="/invoices/$id" params={{ id: invoice_id }}>
          the invoice
        </Link>
      )}
    </small>
  ))
}

const ACCOUNTS: { readonly [account in BalanceEntry['account']]: string } = {
  available: 'Available',
  pending: 'Pending',
  suspense: 'To review',
  reserved: 'Reserved',
  shortfall: 'Missing',
}

const COLUMNS: readonly Column<BalanceEntry>[] = [
  { title: 'When', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Entry',
    cell: (entry) => (
      <>
        <Cause entry={entry} />
        <Narrow>
          <Time at={entry.created_at} />
        </Narrow>
      </>
    ),
  },
  { title: 'Account', cell: ({ account }) => ACCOUNTS[account] },
  { title: 'Amount', align: 'end', cell: ({ amount, asset }) => coins(amount, asset) },
  {
    title: 'Balance after',
    align: 'end',
    roomy: true,
    cell: ({ balance_after, asset }) => coinAndSymbol(balance_after, asset),
  },
  {
    title: 'Amount (USD)',
    align: 'end',
    roomy: true,
    cell: (entry) => (
      <>
        {usd(entry.usd_value)}
        <HomeValue entry={entry} />
      </>
    ),
  },
]

/** The value in the shop's own currency; an API of the release before knows none. */
function HomeValue({ entry: { home_value: value } }: { entry: BalanceEntry }) {
  if (!value) return null
  const { currency, amount, rate } = value
  const text =
    amount === null ? (rate === null ? `No ${currency} rate kept` : null) : money({ amount, currency })
  return text === null ? null : <div className="quiet small-text">{text}</div>
}

/** What made the entry, with the way to it. */
function Cause({ entry: { invoice_id, deposit_id, payout_id, reference, type } }: { entry: BalanceEntry }) {
  if (deposit_id !== null) {
    return (
      <Link to="/deposits" className="row-link">
        {typeLabel(type)} <span className="wide break">{reference ?? `…${deposit_id.slice(-8)}`}</span>
      </Link>
    )
  }
  if (invoice_id !== null) {
    return (
      <Link to="/invoices/$id" params={{ id: invoice_id }} className="row-link">
        {typeLabel(type)} <span className="wide break">{reference ?? `…${invoice_id.slice(-8)}`}</span>
      </Link>
    )
  }
  if (payout_id !== null) {
    return (
      <Link to="/payouts/$id" params={{ id: payout_id }} className="row-link">
        {typeLabel(type)} <span className="wide">…{payout_id.slice(-8)}</span>
      </Link>
    )
  }
  return typeLabel(type)
}
