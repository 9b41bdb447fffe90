import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { statisticsOf } from '../api/reads.ts'
import type { Statistics } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { usd } from '../parts/money.ts'
import { Read } from '../parts/read.tsx'
import { type Day, HomeCharts, type Period } from './home-charts.tsx'

const route = getRouteApi('/inside/')
const RANGES = [7, 30, 90] as const
const RANGE_DEFAULT = 30
const DAY_MS = 24 * 3_600_000
const NOTHING = { received_usd: '0', created: 0, paid: 0, exceptions: 0, attempts: 0, attempts_ok: 0 }

/** The chosen days: what came in, what became of invoices, in which coins, how webhooks went. */
export function HomeFigures() {
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
            <RangePicker range={range} hasComparison={hasComparison} />
            <Tiles statistics={known} period={period} />
            <HomeCharts statistics={known} period={period} />
          </>
        )
      }}
    </Read>
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
  const received = (of: readonly Day[]) => sum(of, (day) => Number(day.received_usd))
  const [created, paid] = [sum(days, (day) => day.created), sum(days, (day) => day.paid)]
  const [attempts, ok] = [sum(days, (day) => day.attempts), sum(days, (day) => day.attempts_ok)]
  const earlier = (text: string) => (before === null ? '' : `, ${text} before`)
  return (
    <ul className="tiles" aria-label={`Last ${range} days`}>
      <Tile
        title="Volume (received)"
        value={usd(String(received(days)))}
        note={`last ${range} days${before === null ? '' : earlier(usd(String(received(before))))}`}
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
