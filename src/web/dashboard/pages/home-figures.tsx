import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { statisticsOf } from '../api/reads.ts'
import type { Statistics } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { coinName, coins, usd } from '../parts/money.ts'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Skeleton } from '../parts/table.tsx'

const DAYS = 30
const DAY_MS = 24 * 3_600_000
const DAY_FORMAT = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
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
              median_seconds_to_pay === null ? '–' : formatDuration(median_seconds_to_pay),
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
            label: formatDay(day),
            value: Number(received_usd),
            text: usd(received_usd),
          }))}
          scale={(value) => usd(String(value))}
          columns={['Day', 'Received']}
          table={days
            .filter(({ received_usd }) => Number(received_usd) !== 0)
            .map(({ day, received_usd }) => [formatDay(day), usd(received_usd)])}
        />
      </Card>
      <Card title="Invoices created vs. paid">
        <p className="quiet small-text">
          Invoices by the day they were created (UTC), and how many are paid now.
        </p>
        <BarChart
          caption={`Invoices created and, of those, paid, by day, last ${DAYS} days`}
          bars={days.map((day) => ({
            label: formatDay(day.day),
            value: day.created,
            part: day.paid,
            text: `${day.created} created, ${day.paid} of them paid`,
          }))}
          scale={(value) => `${value} ${value === 1 ? 'invoice' : 'invoices'}`}
          columns={['Day created', 'Created', 'Paid by now']}
          table={days
            .filter((day) => day.created > 0)
            .map((day) => [formatDay(day.day), day.created, day.paid])}
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

const formatDay = (day: string): string => DAY_FORMAT.format(new Date(`${day}T00:00:00Z`))
const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 0 : Math.round((part / whole) * 100)}%`

function formatDuration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}

type Bar = {
  readonly label: string
  readonly value: number
  /** A part of the value, drawn over it in the stronger colour. */
  readonly part?: number
  /** The value in words. */
  readonly text: string
}

const WIDTH = 600
const HEIGHT = 140
const GAP = 0.25
/** Bars look wrong when there are three: days are drawn as a whole month. */
const LINE_COUNT = 3

/**
 * Bars over days, drawn without a library: some thirty rectangles. Who cannot see them, or wants the numbers, has
 * the table below it.
 */
function BarChart({
  caption,
  bars,
  scale,
  columns,
  table,
}: {
  caption: string
  bars: readonly Bar[]
  /** What the top of the chart stands for, in words. */
  scale: (value: number) => string
  columns: readonly string[]
  table: readonly (readonly ReactNode[])[]
}) {
  const max = Math.max(1, ...bars.map(({ value }) => value))
  const step = WIDTH / Math.max(1, bars.length)
  // Less than nothing, such as a day on which the chain took money back, has no bar; its words and the table say it.
  const height = (value: number): number => (Math.max(0, value) / max) * HEIGHT
  return (
    <figure className="chart">
      <p className="quiet small-text">{scale(max)}</p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={caption} preserveAspectRatio="none">
        {Array.from({ length: LINE_COUNT }, (_, line) => (line * HEIGHT) / LINE_COUNT).map((y) => (
          <line key={y} className="grid-line" x1="0" x2={WIDTH} y1={y} y2={y} />
        ))}
        {bars.map(({ label, value, part, text }, at) => (
          <g key={label}>
            <title>{`${label}: ${text}`}</title>
            <rect className="bar-space" x={at * step} y="0" width={step} height={HEIGHT} />
            <rect
              className={part === undefined ? 'bar' : 'bar pale'}
              x={(at + GAP / 2) * step}
              y={HEIGHT - height(value)}
              width={step * (1 - GAP)}
              height={height(value)}
            />
            {part === undefined ? null : (
              <rect
                className="bar"
                x={(at + GAP / 2) * step}
                y={HEIGHT - height(part)}
                width={step * (1 - GAP)}
                height={height(part)}
              />
            )}
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <SmallTable caption={caption} columns={columns} rows={table} />
      </details>
    </figure>
  )
}

function SmallTable({
  caption,
  columns,
  rows,
}: {
  caption: string
  columns: readonly string[]
  rows: readonly (readonly ReactNode[])[]
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="table-frame small" tabIndex={0} aria-label={caption}>
      <table>
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={String(row[0])}>
              {row.map((cell, at) => (
                <td key={columns[at]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
