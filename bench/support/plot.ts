/** One curve: what is measured against how much there is of something, both on scales of powers of ten. */
export type Curve = {
  readonly title: string
  /** What one step to the right multiplies. */
  readonly across: string
  readonly unit: string
  readonly points: readonly { readonly size: number; readonly value: number }[]
}

const [PANEL_WIDTH, PANEL_HEIGHT, COLUMNS] = [430, 270, 2]
/** Inside a panel: where its axes begin and end. */
const BOX = { left: 64, right: 400, top: 66, bottom: 206 }
const FOOT = 34
/** A value's label stands so far above its point. */
const LABEL_RISE = 12
/** How far the scale reaches beyond what was measured, as a factor. */
const ROOM = 1.6

/** Readable on white and on black: the reader's browser says which. */
const STYLE = `
  svg { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; background: #ffffff }
  text { fill: #57606a } .title { fill: #1f2328; font-size: 16px; font-weight: 600 }
  .value { fill: #1f2328; font-weight: 600; text-anchor: middle } .x { text-anchor: middle } .y { text-anchor: end }
  .ground { fill: #ffffff } .grid { stroke: #d8dee4 } .axis { stroke: #8c959f } .flat { stroke: #8c959f; stroke-dasharray: 3 5 }
  .line { fill: none; stroke: #0969da; stroke-width: 2.5; stroke-linejoin: round } .point { fill: #0969da; stroke: #ffffff; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117 } text { fill: #9198a1 } .title, .value { fill: #f0f6fc }
    .ground { fill: #0d1117 } .grid { stroke: #21262d } .axis, .flat { stroke: #656c76 }
    .line { stroke: #58a6ff } .point { fill: #58a6ff; stroke: #0d1117 }
  }`

/** The curves as one picture (SVG), two beside each other. A dotted line stands where each would stay if size cost nothing. */
export function plotCurves(curves: readonly Curve[], foot: string): string {
  const rows = Math.ceil(curves.length / COLUMNS)
  const [width, height] = [PANEL_WIDTH * COLUMNS, PANEL_HEIGHT * rows + FOOT]
  const panels = curves.map((curve, index) => {
    const [x, y] = [(index % COLUMNS) * PANEL_WIDTH, Math.floor(index / COLUMNS) * PANEL_HEIGHT]
    return `<g transform="translate(${x} ${y})">${plotCurve(curve)}</g>`
  })
  const summaries = curves.map(
    ({ title, points, unit }) => `${title}: ${points.map(tell).join(', ')} ${unit}`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${summaries.join('. ')}</title>
<style>${STYLE}</style>
<rect class="ground" width="${width}" height="${height}"/>
${panels.join('\n')}
<text class="x" x="${width / 2}" y="${height - 14}">${foot}</text>
</svg>
`
}

const tell = ({ size, value }: Curve['points'][number]): string => `${short(value)} at ${short(size)}`

function plotCurve({ title, across, unit, points }: Curve): string {
  const values = points.map(({ value }) => value)
  const sizes = points.map(({ size }) => size)
  const x = scale([Math.min(...sizes), Math.max(...sizes)], [BOX.left + 20, BOX.right - 20])
  const low = 10 ** Math.floor(Math.log10(Math.min(...values) / ROOM))
  const high = 10 ** Math.ceil(Math.log10(Math.max(...values) * ROOM))
  const y = scale([low, high], [BOX.bottom, BOX.top])
  const places = points.map(({ size, value }) => `${round(x(size))},${round(y(value))}`)
  return [
    `<text class="title" x="20" y="28">${title}</text><text x="20" y="47">${unit}</text>`,
    ...powers(low, high).map((power) => {
      const at = round(y(power))
      return `<path class="grid" d="M${BOX.left} ${at}H${BOX.right}"/><text class="y" x="${BOX.left - 8}" y="${at + 4}">${short(power)}</text>`
    }),
    `<path class="axis" d="M${BOX.left} ${BOX.bottom}H${BOX.right}"/>`,
    ...sizes.map(
      (size) => `<text class="x" x="${round(x(size))}" y="${BOX.bottom + 20}">${short(size)}</text>`,
    ),
    `<text class="x" x="${(BOX.left + BOX.right) / 2}" y="${BOX.bottom + 42}">${across}</text>`,
    `<path class="flat" d="M${BOX.left} ${round(y(values[0] ?? low))}H${BOX.right}"/>`,
    `<polyline class="line" points="${places.join(' ')}"/>`,
    ...points.map(({ size, value }) => {
      const [cx, cy] = [round(x(size)), round(y(value))]
      return `<circle class="point" cx="${cx}" cy="${cy}" r="5"/><text class="value" x="${cx}" y="${cy - LABEL_RISE}">${short(value)}</text>`
    }),
  ].join('')
}

/** From a range of values to a range of places, by powers of ten. */
function scale([low, high]: readonly [number, number], [start, end]: readonly [number, number]) {
  const steps = Math.log10(high / low)
  return (value: number): number => start + (Math.log10(value / low) / steps) * (end - start)
}

const powers = (low: number, high: number): number[] =>
  Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, step) => low * 10 ** step)

const round = (value: number): number => Math.round(value * 10) / 10

/** A number in three digits at most, with k and M for thousands and millions. */
function short(value: number): string {
  if (value >= 999_500) return `${Number((value / 1e6).toPrecision(3))}M`
  if (value >= 9_995) return `${Number((value / 1e3).toPrecision(3))}k`
  if (value >= 1_000) return Math.round(value).toLocaleString('en-GB')
  return String(Number(value.toPrecision(2 + Number(value >= 100))))
}
