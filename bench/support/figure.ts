import { cpus, totalmem } from 'node:os'

/** Median of some measurements. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** The value below which the given share of the measurements lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  if (value === undefined) throw new Error('no measurements')
  return value
}

/** Lowest and highest, as a spread to print beside a median. */
export function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)}`
}

/** Prints one figure as docs/figures.md keeps it. */
export function printFigure(figure: {
  name: string
  target: string
  measured: string
  detail?: string
}): void {
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`
  const today = new Date().toISOString().slice(0, 10)
  const detail = figure.detail === undefined ? '' : `\n  ${figure.detail}`
  process.stdout.write(
    `\n| ${figure.name} | ${figure.target} | **${figure.measured}** | ${today} | ${machine} |${detail}\n`,
  )
}
