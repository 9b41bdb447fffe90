import { COIN_NAMES, COINS } from './money.ts'

/** One filter of a list. What was chosen stands in the page's address; undefined is everything. */
export function Filter({
  label,
  all,
  value,
  options,
  onChoose,
}: {
  label: string
  all: string
  value: string | undefined
  options: readonly (readonly [value: string, label: string])[]
  onChoose: (value: string | undefined) => void
}) {
  return (
    <select
      className="input"
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChoose(event.target.value === '' ? undefined : event.target.value)}
    >
      <option value="">{all}</option>
      {options.map(([option, label]) => (
        <option key={option} value={option}>
          {label}
        </option>
      ))}
    </select>
  )
}

export const COIN_OPTIONS = COIN_NAMES.map((coin) => [coin, COINS[coin].name] as const)

export function CoinFilter(props: {
  value: string | undefined
  onChoose: (value: string | undefined) => void
}) {
  return <Filter label="Coin" all="All coins" options={COIN_OPTIONS} {...props} />
}

/** A day; an empty date field does not say by itself what it is for. */
export const DayFilter = ({
  label,
  value,
  onChoose,
}: {
  label: string
  value: string | undefined
  onChoose: (day: string | undefined) => void
}) => (
  <label className="day-filter">
    {label}
    <input
      className="input"
      type="date"
      value={value ?? ''}
      onChange={(event) => onChoose(event.target.value === '' ? undefined : event.target.value)}
    />
  </label>
)

export const DAY_MS = 24 * 3_600_000

/** The moment so long after a day of UTC begins, as the API takes it. */
export function dayEdge(day: string, offsetMs: number): string | undefined {
  const at = Date.parse(`${day}T00:00:00.000Z`)
  return Number.isNaN(at) ? undefined : new Date(at + offsetMs).toISOString()
}
