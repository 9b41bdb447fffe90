import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { statisticsOf } from '../api/reads.ts'
import type { Statistics } from '../api/types.ts'
import { useAboutAtHome } from '../app/home-currency.ts'
import { useMode } from '../app/session.ts'
import { Chart } from '../parts/chart.tsx'
import { coinName, coins, usd } from '../parts/money.ts'
import { Card } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'

const route = getRouteApi('/inside/')
const RANGES = [7, 30, 90] as const
const RANGE_DEFAULT = 30
const DAY_MS = 24 * 3_600_000
const NOTHING = { received_usd: '0', created: 0, paid: 0, exceptions: 0, attempts: 0, attempts_ok: 0 }

/**
 * The chosen days: what came in, what became of invoices, in which coins, how webhooks went. `isUnpaid`: the shop was
 * never paid, so that there is nothing to draw yet.
 */
export function HomeFigures({ isUnpaid }: { isUnpaid: boolean }) {
  const mode = useMode()
  const { days: chosen, compare } = route.useSearch()
  const range = RANGES.find((one) => String(one) === chosen) ?? RANGE_DEFAULT
  const hasComparison = compare === 'before'
  const statistics = useQuery(statisticsOf(mode, range))
  const both = useQuery({ ...statisticsOf(mode, range * 2), enabled: hasComparison })
  return (
    <Read read={statistics} lines={3}>
      {(known) => {
        if (known.days.length === 0 && known.needs_review === 0) return null
        const isCompared = hasComparison && both.data !== undefined
        const before = isCompared ? everyDay(both.data.days, range * 2).slice(0, range) : null
        const period = { range, days: everyDay(known.days, range), before }
        return (
          <>
            {isUnpaid ? null : <RangePicker range={range} hasComparison={hasComparison} />}
            <Tiles statistics={known} period={period} />
            {isUnpaid ? <NoChartsYet /> : <HomeCharts statistics={known} period={period} />}
          </>
        )
      }}
    </Read>
  )
}

function NoChartsYet() {
  const mode = useMode()
  return (
    <Card title="Charts">
      <p className="quiet">
        {mode === 'test'
          ? 'Your first paid invoice draws them: volume by day and coin, conversion, and time to pay. Pay one with test coins, as in the list above.'
          : 'Your first paid invoice draws them: volume by day and coin, conversion, and time to pay. Send a payment link to a buyer to get there.'}
      </p>
    </Card>
  )
}

function RangePicker({ range, hasComparison }: { range: (typeof RANGES)[number]; hasComparison: boolean }) {
  const navigate = route.useNavigate()
  return (
    <search className="filters">
      <select
        className="input"
        aria-label="Range"
        value={range}
        onChange={(event) => void navigate({ search: (old) => ({ ...old, days: event.target.value }) })}
      >
        {RANGES.map((one) => (
          <option key={one} value={one}>
            Last {one} days
          </option>
        ))}
      </select>
      <select
        className="input"
        aria-label="Comparison"
        value={hasComparison ? 'before' : ''}
        onChange={(event) =>
          void navigate({
            search: (old) => ({ ...old, compare: event.target.value === '' ? undefined : 'before' }),
          })
        }
      >
        <option value="">No comparison</option>
        <option value="before">Compare with the {range} days before</option>
      </select>
    </search>
  )
}

const sum = (days: readonly Day[], read: (day: Day) => number): number =>
  days.reduce((total, day) => total + read(day), 0)
const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((part / whole) * 100)}%`

function Tiles({ statistics, period }: { statistics: Statistics; period: Period }) {
  const { days, before, range } = period
  const { needs_review } = statistics
  const aboutAtHome = useAboutAtHome()
  const received = (of: readonly Day[]) => sum(of, (day) => Number(day.received_usd))
  const [created, paid] = [sum(days, (day) => day.created), sum(days, (day) => day.paid)]
  const [attempts, ok] = [sum(days, (day) => day.attempts), sum(days, (day) => day.attempts_ok)]
  const earlier = (text: string) => (before === null ? '' : `, ${text} before`)
  return (
    <ul className="tiles" aria-label={`Last ${range} days`}>
      <Tile
        title="Volume (received)"
        value={usd(String(received(days)))}
        note={`${withComma(aboutAtHome(received(days)))}last ${range} days${before === null ? '' : earlier(usd(String(received(before))))}`}
      />
      <Tile
        title="Conversion"
        value={percent(paid, created)}
        note={`${paid} of ${created} invoices paid${
          before === null
            ? ''
            : earlier(
                percent(
                  sum(before, (day) => day.paid),
                  sum(before, (day) => day.created),
                ),
              )
        }`}
      />
      <Tile
        title="Needs review"
        value={String(needs_review)}
        note={needs_review === 0 ? 'nothing to review' : <Link to="/attention">Payments to review</Link>}
      />
      <Tile
        title="Delivery success rate"
        value={percent(ok, attempts)}
        note={attempts === 0 ? 'no webhook attempts' : `${ok} of ${attempts} webhook attempts`}
      />
    </ul>
  )
}

const withComma = (text: string | null): string => (text === null ? '' : `${text}, `)

function Tile({ title, value, note }: { title: string; value: string; note: ReactNode }) {
  return (
    <li>
      <span className="quiet">{title}</span>
      <strong>{value}</strong>
      <small className="quiet">{note}</small>
    </li>
  )
}

/** Every day of the range, oldest first; the API leaves out those without any. */
function everyDay(known: readonly Day[], count: number): readonly Day[] {
  const byDay = new Map(known.map((day) => [day.day, day]))
  const today = Math.floor(Date.now() / DAY_MS)
  return Array.from({ length: count }, (_, at) => {
    const day = new Date((today - count + 1 + at) * DAY_MS).toISOString().slice(0, 10)
    return byDay.get(day) ?? { ...NOTHING, day, median_seconds_to_pay: null }
  })
}

type Day = Statistics['days'][number]
/** What is shown, and the same number of days before it. */
type Period = {
  readonly range: number
  readonly days: readonly Day[]
  readonly before: readonly Day[] | null
}

const DAY_FORMAT = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const formatDay = ({ day }: Day): string => DAY_FORMAT.format(new Date(`${day}T00:00:00Z`))
const formatCount = (value: number): string => (Number.isInteger(value) ? String(value) : '')
const formatPercent = (value: number): string => `${Math.round(value)}%`

/** Six pictures of the same days, each with its values under the pointer and its table. */
function HomeCharts({ statistics, period }: { statistics: Statistics; period: Period }) {
  const { days, before } = period
  const labels = days.map(formatDay)
  const compared = (name: string, read: (day: Day) => number | null) => [
    ...(before === null ? [] : [{ name: 'Period before', values: before.map(read), pale: true }]),
    { name, values: days.map(read) },
  ]
  const share = (part: number, whole: number): number | null => (whole === 0 ? null : (part / whole) * 100)
  return (
    <div className="grid-two charts">
      <Picture
        title="Volume (received)"
        lead="Confirmed payments by the day they became final (UTC), at their value then."
      >
        <Chart
          labels={labels}
          caption="Received in US dollars, by day"
          format={(value) => usd(String(value))}
          series={compared('Received', ({ received_usd }) => Number(received_usd))}
        />
      </Picture>
      <Picture title="Conversion" lead="Invoices by the day they were created, and how many are paid now.">
        <Chart
          labels={labels}
          caption="Invoices created and, of those, paid, by day"
          format={formatCount}
          series={[
            { name: 'Created', values: days.map(({ created }) => created), pale: true },
            { name: 'Paid', values: days.map(({ paid }) => paid) },
          ]}
        />
      </Picture>
      <Picture title="By coin" lead="What was received in each coin, at its value on arrival.">
        <ByCoin assets={statistics.assets} />
      </Picture>
      <Picture title="Median time to pay" lead="From creation to paid, by the day an invoice was created.">
        <Chart
          labels={labels}
          kind="line"
          caption="Median time to pay, by day"
          format={formatDuration}
          series={compared('Median', ({ median_seconds_to_pay }) => median_seconds_to_pay)}
        />
      </Picture>
      <Picture title="Exceptions" lead="Invoices that are paid short, paid too much, or need a review now.">
        <Chart
          labels={labels}
          caption="Invoices that did not go as planned, by day"
          format={formatCount}
          series={compared('Exceptions', ({ exceptions }) => exceptions)}
        />
      </Picture>
      <Picture title="Webhook health" lead="Share of webhook attempts that your server accepted.">
        <Chart
          labels={labels}
          kind="line"
          caption="Webhook attempts that succeeded, in percent, by day"
          format={formatPercent}
          max={100}
          series={compared('Success', ({ attempts, attempts_ok }) => share(attempts_ok, attempts))}
        />
      </Picture>
    </div>
  )
}

function Picture({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <Card title={title}>
      <p className="quiet small-text">{lead}</p>
      {children}
    </Card>
  )
}

function ByCoin({ assets }: { assets: Statistics['assets'] }) {
  return (
    <Chart
      caption="Received in US dollars, by coin"
      isEveryNamed
      labels={assets.map(({ asset }) => coinName(asset))}
      format={(value) => usd(String(value))}
      series={[{ name: 'Received', values: assets.map(({ received_usd }) => Number(received_usd)) }]}
      table={{
        columns: ['Coin', 'Received', 'Value', 'Time to pay'],
        rows: assets.map(({ asset, received, received_usd, median_seconds_to_pay }) => [
          coinName(asset),
          coins(received, asset),
          usd(received_usd),
          median_seconds_to_pay === null ? '–' : formatDuration(median_seconds_to_pay),
        ]),
      }}
    />
  )
}

function formatDuration(seconds: number): string {
  if (seconds < 60) return Number.isInteger(seconds) ? `${seconds} s` : ''
  return seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}
