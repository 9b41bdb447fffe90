import { useQuery } from '@tanstack/react-query'
import { statisticsOf } from '../api/reads.ts'
import type { Statistics } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { BarChart, SmallTable } from '../parts/bar-chart.tsx'
import { coinName, usd } from '../parts/money.ts'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Bones } from '../parts/table.tsx'

const DAYS = 30
const DAY_MS = 24 * 3_600_000
const DAY_WORDS = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
type Day = Statistics['days'][number]

/** The last thirty days: what came in, what became of invoices, in which coins, how webhooks went. */
export function HomeFigures() {
  const mode = useMode()
  const statistics = useQuery(statisticsOf(mode, DAYS))
  if (statistics.data === undefined) {
    return statistics.error === null ? <Bones lines={3} /> : <ProblemNote error={statistics.error} />
  }
  const days = wholeMonth(statistics.data.days)
  const sum = (of: (day: Day) => number): number => days.reduce((total, day) => total + of(day), 0)
  const [opened, paid, exceptions] = [
    sum((day) => day.opened),
    sum((day) => day.paid),
    sum((day) => day.exceptions),
  ]
  if (opened === 0) return null
  const { attempts, ok } = statistics.data.webhooks
  return (
    <>
      <ul className="tiles" aria-label={`Last ${DAYS} days`}>
        <Tile
          title="Paid"
          value={usd(String(sum(({ paid_usd }) => Number(paid_usd))))}
          note={`last ${DAYS} days`}
        />
        <Tile title="Opened and paid" value={`${paid} of ${opened}`} note={percent(paid, opened)} />
        <Tile title="Needed you" value={String(exceptions)} note={percent(exceptions, opened)} />
        <Tile
          title="Webhooks"
          value={attempts === 0 ? '–' : percent(ok, attempts)}
          note={`${ok} of ${attempts} tries answered`}
        />
      </ul>
      <div className="grid-two charts">
        <Card title="Paid in US dollars, by day">
          <BarChart
            caption={`Paid in US dollars, by day, last ${DAYS} days`}
            bars={days.map(({ day, paid_usd }) => ({
              label: dayWords(day),
              value: Number(paid_usd),
              words: usd(paid_usd),
            }))}
            scale={(value) => usd(String(value))}
            columns={['Day', 'Paid']}
            table={days
              .filter((day) => day.opened > 0)
              .map(({ day, paid_usd }) => [dayWords(day), usd(paid_usd)])}
          />
        </Card>
        <Card title="Opened, and of those paid">
          <BarChart
            caption={`Invoices opened and paid, by day, last ${DAYS} days`}
            bars={days.map((day) => ({
              label: dayWords(day.day),
              value: day.opened,
              part: Math.min(day.paid, day.opened),
              words: `${day.opened} opened, ${day.paid} paid`,
            }))}
            scale={(value) => `${value} ${value === 1 ? 'invoice' : 'invoices'}`}
            columns={['Day', 'Opened', 'Paid', 'Needed you']}
            table={days
              .filter((day) => day.opened > 0)
              .map((day) => [dayWords(day.day), day.opened, day.paid, day.exceptions])}
          />
        </Card>
      </div>
      {statistics.data.assets.length === 0 ? null : (
        <Card title="By coin">
          <SmallTable
            caption={`Paid invoices by coin, last ${DAYS} days`}
            columns={['Coin', 'Invoices', 'Dollars', 'Usual time to pay']}
            rows={statistics.data.assets.map(({ asset, paid: count, paid_usd, median_seconds_to_pay }) => [
              coinName(asset),
              count,
              usd(paid_usd),
              durationWords(median_seconds_to_pay),
            ])}
          />
        </Card>
      )}
    </>
  )
}

function Tile({ title, value, note }: { title: string; value: string; note: string }) {
  return (
    <li>
      <span className="quiet">{title}</span>
      <strong>{value}</strong>
      <small className="quiet">{note}</small>
    </li>
  )
}

/** Every day of the range, oldest first; the API leaves out those without invoices. */
function wholeMonth(known: readonly Day[]): readonly Day[] {
  const byDay = new Map(known.map((day) => [day.day, day]))
  const today = Math.floor(Date.now() / DAY_MS)
  return Array.from({ length: DAYS }, (_, at) => {
    const day = new Date((today - DAYS + 1 + at) * DAY_MS).toISOString().slice(0, 10)
    return byDay.get(day) ?? { day, opened: 0, paid: 0, paid_usd: '0', exceptions: 0 }
  })
}

const dayWords = (day: string): string => DAY_WORDS.format(new Date(`${day}T00:00:00Z`))
const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 0 : Math.round((part / whole) * 100)}%`

function durationWords(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}
