import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

type Series = {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** Drawn pale behind the others: the period before, or the whole that another series is a part of. */
  readonly pale?: boolean
}

type Table = { readonly columns: readonly string[]; readonly rows: readonly (readonly ReactNode[])[] }

const BARS_PX = 132
const LABELS_PX = 28
/** A line along the top would lie on the edge. */
const HEADROOM = 1.1
const BAR_SHARE = 0.7
const BAR_PX_MAX = 56
/** Between the axis and its labels: closer, the first day lies on the lowest value. */
const LABELS_GAP_PX = 10
const VALUES_PX = 64
/** About, of the axes' font. */
const LETTER_PX = 7
const DARK = '(prefers-color-scheme: dark)'

/**
 * A chart over labels, with its values under the pointer and as a table. The library draws on a canvas, which a reader of
 * the screen cannot read: for them, and for whoever wants the numbers, there is the table.
 */
export function Chart({
  caption,
  labels,
  series,
  format,
  kind = 'bars',
  max,
  isEveryNamed = false,
  table,
}: {
  caption: string
  labels: readonly string[]
  series: readonly Series[]
  /** How a value is written. */
  format: (value: number) => string
  kind?: 'bars' | 'line'
  /** The top of the scale; the largest value where there is none. */
  max?: number
  /** Whether each label is written, slanted where they are too narrow; otherwise as many as fit. */
  isEveryNamed?: boolean
  /** In place of the values themselves. */
  table?: Table
}) {
  const frame = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<number | null>(null)
  const [isDark, setIsDark] = useState(() => window.matchMedia(DARK).matches)
  useEffect(() => {
    const scheme = window.matchMedia(DARK)
    const change = () => setIsDark(scheme.matches)
    scheme.addEventListener('change', change)
    return () => scheme.removeEventListener('change', change)
  }, [])
  const drawn = JSON.stringify([labels, series])
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn is known by its values, not by the lists that hold them.
  useLayoutEffect(() => {
    const box = frame.current
    if (box === null) return
    const plot = new uPlot(
      optionsOf({ width: box.clientWidth, labels, series, format, kind, max, isEveryNamed, onPoint: setAt }),
      [labels.map((_, index) => index), ...series.map(({ values }) => [...values])],
      box,
    )
    const observer = new ResizeObserver(() => {
      const width = box.clientWidth
      plot.setSize({ width, height: BARS_PX + labelsPx({ labels, isEveryNamed, width }) })
    })
    observer.observe(box)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [drawn, kind, isDark])
  const rows = rowsOf({ labels, series, format, kind })
  if (rows.length === 0) return <p className="quiet">Nothing in this period.</p>
  const shown = at ?? labels.length - 1
  return (
    <figure className="chart">
      <p className="chart-value small-text" aria-hidden="true">
        <strong>{labels[shown]}</strong>{' '}
        {series.map(({ name, values }) => `${name}: ${valueText(values[shown], format)}`).join(' · ')}
      </p>
      <div ref={frame} role="img" aria-label={caption} />
      <details>
        <summary>As a table</summary>
        <SmallTable
          caption={caption}
          {...(table ?? { columns: ['Day', ...series.map(({ name }) => name)], rows })}
        />
      </details>
    </figure>
  )
}

/** Those alone in which there was something: no bar, or for a line no value, is nothing. */
function rowsOf({
  labels,
  series,
  format,
  kind,
}: Pick<Parameters<typeof Chart>[0], 'labels' | 'series' | 'format' | 'kind'>) {
  const isSomething = (value: number | null | undefined) =>
    value !== null && value !== undefined && (kind === 'line' || value !== 0)
  return labels
    .map((label, index) => ({ label, values: series.map(({ values }) => values[index]) }))
    .filter(({ values }) => values.some(isSomething))
    .map(({ label, values }) => [label, ...values.map((value) => valueText(value, format))])
}

const valueText = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? '–' : format(value)

/** How high the labels are: in a line, or slanted by 45 degrees where each is written and the longest is too wide. */
function labelsPx(input: { labels: readonly string[]; isEveryNamed: boolean; width: number }): number {
  const { labels, isEveryNamed, width } = input
  const longest = LETTER_PX * Math.max(...labels.map((label) => label.length))
  const isTight = isEveryNamed && longest > (width - VALUES_PX) / labels.length
  return isTight ? Math.ceil(longest * Math.SQRT1_2) + LABELS_PX / 2 : LABELS_PX
}

function optionsOf(input: {
  width: number
  labels: readonly string[]
  series: readonly Series[]
  format: (value: number) => string
  kind: 'bars' | 'line'
  max: number | undefined
  isEveryNamed: boolean
  onPoint: (at: number | null) => void
}): uPlot.Options {
  const { width, labels, series, format, kind, max: top, isEveryNamed, onPoint } = input
  const needed = (plot: uPlot) => labelsPx({ labels, isEveryNamed, width: plot.width })
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_PX_MAX] })
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width,
    height: BARS_PX + labelsPx({ labels, isEveryNamed, width }),
    legend: { show: false },
    cursor: { y: false, points: { show: kind === 'line' }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.5, labels.length - 0.5] },
      y: { range: (_, min, max) => [Math.min(0, min ?? 0), HEADROOM * (top ?? Math.max(1, max ?? 1))] },
    },
    axes: [
      {
        ...axis,
        ...(isEveryNamed ? { splits: labels.map((_, index) => index) } : {}),
        size: needed,
        gap: LABELS_GAP_PX,
        rotate: (plot) => (needed(plot) > LABELS_PX ? -45 : 0),
        grid: { show: false },
        values: (_, splits) => splits.map((split) => labels[split] ?? ''),
      },
      { ...axis, size: VALUES_PX, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ name, pale = false }): uPlot.Series => {
        const stroke = colour(pale ? '--quiet' : '--accent')
        return {
          label: name,
          stroke,
          width: kind === 'line' ? 2 : 0,
          ...(pale && kind === 'line' ? { dash: [4, 4] } : {}),
          ...(kind === 'bars'
            ? {
                fill: pale ? colour('--line') : stroke,
                ...(bars === undefined ? {} : { paths: bars }),
                points: { show: false },
              }
            : { points: { show: true } }),
        }
      }),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? null)] },
  }
}

function SmallTable({ caption, columns, rows }: Table & { caption: string }) {
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
