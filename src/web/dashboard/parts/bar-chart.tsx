import type { ReactNode } from 'react'

type Bar = {
  readonly label: string
  readonly value: number
  /** A part of the value, drawn over it in the stronger colour. */
  readonly part?: number
  /** The value in words. */
  readonly words: string
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
export function BarChart({
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
        {bars.map(({ label, value, part, words }, at) => (
          <g key={label}>
            <title>{`${label}: ${words}`}</title>
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

export function SmallTable({
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
