import type { ReactNode } from 'react'
import type { Statistics } from '../api/types.ts'
import { Chart } from '../parts/chart.tsx'
import { coinName, coins, usd } from '../parts/money.ts'
import { Card } from '../parts/page.tsx'

export type Day = Statistics['days'][number]
/** What is shown, and the same number of days before it. */
export type Period = {
  readonly range: number
  readonly days: readonly Day[]
  readonly before: readonly Day[] | null
}

const DAY_FORMAT = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const formatDay = ({ day }: Day): string => DAY_FORMAT.format(new Date(`${day}T00:00:00Z`))
const formatCount = (value: number): string => (Number.isInteger(value) ? String(value) : '')
const formatPercent = (value: number): string => `${Math.round(value)}%`

/** Six pictures of the same days, each with its values under the pointer and its table. */
export function HomeCharts({ statistics, period }: { statistics: Statistics; period: Period }) {
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
      <Picture title="Exceptions" lead="Invoices that were paid short, too much, or need a review.">
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
