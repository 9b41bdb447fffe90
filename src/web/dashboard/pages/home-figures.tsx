import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { statisticsOf } from '../api/reads.ts'
import type { Statistics } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { BarChart, SmallTable } from '../parts/bar-chart.tsx'
import { coinName, coins, usd } from '../parts/money.ts'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Skeleton } from '../parts/table.tsx'

const DAYS = 30
const DAY_MS = 24 * 3_600_000
const DAY_WORDS = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
type Day = Statistics['days'][number]

/** The last thirty days: what came in, what became of invoices, in which coins, how webhooks went. */
export function HomeFigures() {
  const mode = useMode()
  const statistics = useQuery(statisticsOf(mode, DAYS))
  if (statistics.data === undefined) {
    return statistics.error === null ? <Skeleton lines={3} /> : <ProblemNote error={statistics.error} />
  }
  const { days, assets } = statistics.data
  if (days.length === 0) return null
  return (
    <>
      <Tiles statistics={statistics.data} />
      <Charts days={wholeMonth(days)} />
      {assets.length === 0 ? null : (
        <Card title="By coin">
          <SmallTable
            caption={`Received by coin, last ${DAYS} days`}
            columns={['Coin', 'Received', 'Value when received', 'Median time to pay']}
            rows={assets.map(({ asset, received, received_usd, median_seconds_to_pay }) => [
              coinName(asset),
              coins(received, asset),
              usd(received_usd),
              median_seconds_to_pay === null ? '–' : durationWords(median_seconds_to_pay),
            ])}
          />
        </Card>
      )}
    </>
  )
}

function Tiles({ statistics }: { statistics: Statistics }) {
  const { received_usd, created, paid, needs_review, webhooks } = statistics
  const { attempts, ok } = webhooks
  return (
    <ul className="tiles" aria-label={`Last ${DAYS} days`}>
      <Tile title="Volume (received)" value={usd(received_usd)} note={`last ${DAYS} days`} />
      <Tile
        title="Conversion"
        value={created === 0 ? '–' : percent(paid, created)}
        note={`${paid} of ${created} invoices paid`}
      />
      <Tile
        title="Needs review"
        value={String(needs_review)}
        note={needs_review === 0 ? 'nothing to review' : <Link to="/attention">Payments to review</Link>}
      />
      <Tile
        title="Delivery success rate"
        value={attempts === 0 ? '–' : percent(ok, attempts)}
        note={attempts === 0 ? 'no webhook attempts' : `${ok} of ${attempts} webhook attempts`}
      />
    </ul>
  )
}

function Charts({ days }: { days: readonly Day[] }) {
  return (
    <div className="grid-two charts">
      <Card title="Volume (received), by day">
        <p className="quiet small-text">
          Confirmed payments, on the day they became final (UTC), at their value then.
        </p>
        <BarChart
          caption={`Received in US dollars, by day, last ${DAYS} days`}
          bars={days.map(({ day, received_usd }) => ({
            label: dayWords(day),
            value: Number(received_usd),
            words: usd(received_usd),
          }))}
          scale={(value) => usd(String(value))}
          columns={['Day', 'Received']}
          table={days
            .filter(({ received_usd }) => Number(received_usd) !== 0)
            .map(({ day, received_usd }) => [dayWords(day), usd(received_usd)])}
        />
      </Card>
      <Card title="Invoices created vs. paid">
        <p className="quiet small-text">
          Invoices by the day they were created (UTC), and how many are paid now.
        </p>
        <BarChart
          caption={`Invoices created and, of those, paid, by day, last ${DAYS} days`}
          bars={days.map((day) => ({
            label: dayWords(day.day),
            value: day.created,
            part: day.paid,
            words: `${day.created} created, ${day.paid} of them paid`,
          }))}
          scale={(value) => `${value} ${value === 1 ? 'invoice' : 'invoices'}`}
          columns={['Day created', 'Created', 'Paid by now']}
          table={days
            .filter((day) => day.created > 0)
            .map((day) => [dayWords(day.day), day.created, day.paid])}
        />
      </Card>
    </div>
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
function wholeMonth(known: readonly Day[]): readonly Day[] {
  const byDay = new Map(known.map((day) => [day.day, day]))
  const today = Math.floor(Date.now() / DAY_MS)
  return Array.from({ length: DAYS }, (_, at) => {
    const day = new Date((today - DAYS + 1 + at) * DAY_MS).toISOString().slice(0, 10)
    return byDay.get(day) ?? { day, received_usd: '0', created: 0, paid: 0 }
  })
}

const dayWords = (day: string): string => DAY_WORDS.format(new Date(`${day}T00:00:00Z`))
const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 0 : Math.round((part / whole) * 100)}%`

function durationWords(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}
