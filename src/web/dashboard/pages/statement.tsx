import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { formatFiat } from '../../../core/money.ts'
import { merchantOf } from '../api/reads.ts'
import { type Mode, requestApi } from '../api/request.ts'
import type { Balance, BalanceEntry, List } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { CsvButton } from '../parts/csv-button.tsx'
import { typeLabel } from '../parts/entry-types.ts'
import { byCoin, coinAndSymbol, coinName, coins, money, usd } from '../parts/money.ts'
import { Card, Page } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { STATEMENT_CSV_COLUMNS } from '../parts/statement-csv.ts'

const route = getRouteApi('/inside/balances/statement')

const PAGE_SIZE = 100
/** A thousand lines on paper; the CSV has all. */
const PAGES_MAX = 10
const MONTH = /^20\d\d-(?:0[1-9]|1[0-2])$/
const MONTH_NAME = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The first moment of a month of UTC, so many months later. */
const monthStart = (month: string, later = 0): Date => {
  const start = new Date(`${month}-01T00:00:00.000Z`)
  start.setUTCMonth(start.getUTCMonth() + later)
  return start
}
const monthOf = (at: Date): string => at.toISOString().slice(0, 7)

/** A month of the available balance, to print or save as PDF. */
export function StatementPage() {
  const mode = useMode()
  const { month: asked } = route.useSearch()
  const thisMonth = monthOf(new Date())
  const month = asked !== undefined && MONTH.test(asked) ? asked : thisMonth
  const [from, to] = [monthStart(month), monthStart(month, 1)]
  const span = { created_after: from.toISOString(), created_before: to.toISOString() }
  const read = useQuery({
    queryKey: [mode, 'statement', month],
    queryFn: ({ signal }) => readMonth(mode, span, signal),
  })
  const [before, after] = [monthOf(monthStart(month, -1)), monthOf(to)]
  return (
    <Page
      title={`Statement for ${MONTH_NAME.format(from)}`}
      lead={`Available balance${month === thisMonth ? ' of the month so far' : ''}. Dates and times are in UTC.`}
      actions={
        <>
          <Link className="button plain" to="/balances/statement" search={{ month: before }}>
            Previous month
          </Link>
          {month < thisMonth ? (
            <Link className="button plain" to="/balances/statement" search={{ month: after }}>
              Next month
            </Link>
          ) : null}
          <CsvButton
            name={`statement-${month}`}
            path="/balances/entries"
            query={{ ...span, account: 'available' }}
            columns={STATEMENT_CSV_COLUMNS}
          />
          <Button disabled={read.data === undefined} onClick={() => print()}>
            Print or save as PDF
          </Button>
        </>
      }
    >
      <div className="stack large">
        <Seller />
        <Read read={read}>{(data) => <Month data={data} />}</Read>
      </div>
    </Page>
  )
}

type MonthRead = {
  readonly opening: readonly Balance[]
  readonly closing: readonly Balance[]
  /** Oldest first. */
  readonly entries: readonly BalanceEntry[]
  readonly isWhole: boolean
}

async function readMonth(
  mode: Mode,
  span: { readonly created_after: string; readonly created_before: string },
  signal: AbortSignal,
): Promise<MonthRead> {
  const balancesAt = (at: string) =>
    requestApi<List<Balance>>(mode, 'GET', '/balances', { query: { at }, signal })
  const [opening, closing] = await Promise.all([
    balancesAt(span.created_after),
    balancesAt(span.created_before),
  ])
  const entries: BalanceEntry[] = []
  let hasMore = true
  for (let page = 0; page < PAGES_MAX && hasMore; page++) {
    const query = {
      ...span,
      account: 'available',
      limit: String(PAGE_SIZE),
      starting_after: entries.at(-1)?.id,
    }
    const list = await requestApi<List<BalanceEntry>>(mode, 'GET', '/balances/entries', { query, signal })
    entries.push(...list.data)
    hasMore = list.has_more
  }
  return { opening: opening.data, closing: closing.data, entries: entries.reverse(), isWhole: !hasMore }
}

/** Whose statement it is, as on receipts, and how to read it in the shop's own currency. */
function Seller() {
  const { data } = useQuery(merchantOf(useMode()))
  if (data === undefined) return null
  const lines = [data.legal_name ?? data.name, ...(data.postal_address ?? '').split('\n'), data.tax_number]
  return (
    <>
      <address className="seller">
        {lines
          .filter((line) => line !== null && line !== '')
          .map((line) => (
            <div key={line}>{line}</div>
          ))}
      </address>
      {data.home_currency === null ? (
        <p className="quiet screen-only">
          <Link to="/settings/branding">Set your currency</Link> to see each entry's value in it beside US
          dollars.
        </p>
      ) : null}
    </>
  )
}

function Month({ data: { opening, closing, entries, isWhole } }: { data: MonthRead }) {
  const home = entries.find(({ home_value }) => home_value)?.home_value?.currency ?? null
  const openingOf = (asset: string) => opening.find((row) => row.asset === asset)?.available ?? '0'
  const held = byCoin(closing).filter(
    ({ asset, available }) =>
      available !== '0' || openingOf(asset) !== '0' || entries.some((entry) => entry.asset === asset),
  )
  if (held.length === 0) return <p>No activity in this month, and no available balance.</p>
  return (
    <>
      <Card title="Available balance">
        <Table caption="Available balance by coin" head={['Coin', 'Opening balance', 'Closing balance']}>
          {held.map(({ asset, available }) => (
            <tr key={asset}>
              <td>{coinName(asset)}</td>
              <td className="number">{coinAndSymbol(openingOf(asset), asset)}</td>
              <td className="number">{coinAndSymbol(available, asset)}</td>
            </tr>
          ))}
        </Table>
      </Card>
      <Card title="Totals">
        <Table caption="Totals by type" head={['Type', 'Entries', 'Amount (USD)', ...homeHead(home)]}>
          {[...new Set(entries.map(({ type }) => type))].map((type) => (
            <TotalRow
              key={type}
              type={type}
              home={home}
              entries={entries.filter((entry) => entry.type === type)}
            />
          ))}
        </Table>
      </Card>
      <Card title="Entries">
        {isWhole ? null : (
          <p>
            The newest {entries.length.toLocaleString('en')} entries of the month, and totals of these. The
            CSV has all.
          </p>
        )}
        <Table
          caption="Entries, oldest first"
          head={[
            'When',
            'Entry',
            'Amount',
            'Amount (USD)',
            ...homeHead(home),
            ...(home === null ? [] : ['Exchange rate']),
          ]}
        >
          {entries.map((entry) => (
            <EntryRow key={entry.id} entry={entry} home={home} />
          ))}
        </Table>
      </Card>
    </>
  )
}

const homeHead = (home: string | null): readonly string[] => (home === null ? [] : [`Amount (${home})`])

function Table({
  caption,
  head,
  children,
}: {
  caption: string
  head: readonly string[]
  children: React.ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="table-frame" aria-label={caption} tabIndex={0}>
      <table>
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {head.map((title, at) => (
              <th
                key={title}
                scope="col"
                className={at > 0 && !['Entry', 'Exchange rate'].includes(title) ? 'number' : undefined}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}

function TotalRow({
  type,
  home,
  entries,
}: {
  type: string
  home: string | null
  entries: readonly BalanceEntry[]
}) {
  const dollars = sumOf(entries.map(({ usd_value }) => usd_value))
  const atHome = sumOf(entries.map(({ home_value }) => home_value?.amount ?? null))
  return (
    <tr>
      <td>{typeLabel(type)}</td>
      <td className="number">{entries.length.toLocaleString('en')}</td>
      <td className="number">
        {usd(dollars.total)}
        <Unknown lines={dollars.unknown} />
      </td>
      {home === null ? null : (
        <td className="number">
          {money({ amount: atHome.total, currency: home })}
          <Unknown lines={atHome.unknown} />
        </td>
      )}
    </tr>
  )
}

const Unknown = ({ lines }: { lines: number }) =>
  lines === 0 ? null : (
    <div className="quiet small-text">
      without {lines.toLocaleString('en')} {lines === 1 ? 'entry' : 'entries'} of unknown value
    </div>
  )

/** Amounts with the same number of decimals, and how many are not known. */
function sumOf(amounts: readonly (string | null)[]): { total: string; unknown: number } {
  const known = amounts.filter((amount) => amount !== null)
  const decimals = known[0]?.split('.')[1]?.length ?? 0
  const units = known.reduce((sum, amount) => sum + BigInt(amount.replace('.', '')), 0n)
  return { total: formatFiat(units, decimals), unknown: amounts.length - known.length }
}

function EntryRow({ entry, home }: { entry: BalanceEntry; home: string | null }) {
  const { created_at: at, type, asset, amount, usd_value: dollars, home_value: value } = entry
  const causes = [entry.reference, entry.invoice_id ?? entry.deposit_id ?? entry.payout_id].filter(Boolean)
  const rate = value?.rate ?? null
  return (
    <tr>
      <td>
        <time dateTime={at}>{at.slice(0, 16).replace('T', ' ')}</time>
      </td>
      <td>
        {typeLabel(type)}
        {causes.map((cause) => (
          <div key={cause} className="quiet small-text break">
            {cause}
          </div>
        ))}
      </td>
      <td className="number">{coins(amount, asset)}</td>
      <td className="number">{usd(dollars)}</td>
      {home === null ? null : (
        <>
          <td className="number">{value?.amount ? money({ amount: value.amount, currency: home }) : '–'}</td>
          <td className="small-text">
            {rate === null
              ? `No ${home} rate kept for ${at.slice(0, 10)}`
              : `1 ${home} = ${rate.usd_per_unit} USD, ${rate.sources.map(({ name }) => name).join(' and ')}, ${rate.quoted_at.slice(0, 10)}`}
          </td>
        </>
      )}
    </tr>
  )
}
