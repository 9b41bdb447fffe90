import { encode } from 'uqr'

/** ISO/IEC 18004 asks for four light modules around the code; several scanners need them. */
const QUIET_ZONE = 4
/** Drawing takes about 1.5 ms, so what is drawn is kept; some 4 KB each. */
const CACHE_ENTRIES_MAX = 1_000
const cache = new Map<string, Drawing>()

/** Modules a side, quiet zone included, and the dark ones as an SVG path. */
type Drawing = { readonly size: number; readonly d: string }

/** The SVG of a QR code, black on white in both colour schemes. `label` is what a screen reader says. */
export function qrCode(text: string, label: string): string {
  const { size, d } = drawingOf(text)
  return `<svg role="img" aria-label="${escapeAttribute(label)}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${d}"/></svg>`
}

function drawingOf(text: string): Drawing {
  const drawing = cache.get(text) ?? draw(text)
  // Re-inserting moves the entry to the young end of the map's order.
  cache.delete(text)
  cache.set(text, drawing)
  if (cache.size > CACHE_ENTRIES_MAX) {
    const oldest = cache.keys().next()
    if (!oldest.done) cache.delete(oldest.value)
  }
  return drawing
}

/** One horizontal run of dark modules is one rectangle: that is a third of the bytes of a square each. */
function draw(text: string): Drawing {
  const { data, size } = encode(text, { ecc: 'M', boostEcc: true, border: QUIET_ZONE })
  let d = ''
  for (let y = 0; y < size; y++) {
    const row = data[y] ?? []
    for (let x = 0; x < size; x++) {
      if (row[x] !== true) continue
      let width = 1
      while (row[x + width] === true) width++
      d += `M${x} ${y}h${width}v1h-${width}z`
      x += width
    }
  }
  return { size, d }
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
