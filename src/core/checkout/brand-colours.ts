/** A colour as `#rrggbb`, in lower case. */
export type HexColour = `#${string}`

type BrandColours = {
  /** The merchant's own colour, under buttons, and the black or white that is readable on it. */
  readonly fill: HexColour
  readonly onFill: HexColour
  /** As text on the pages in each scheme: darkened or lightened until it can be read. */
  readonly light: HexColour
  readonly dark: HexColour
}

/** WCAG 2.2 AA, success criterion 1.4.3. */
const CONTRAST_MIN = 4.5
/** Steps on the way from a colour to black or to white; the last one is black or white itself. */
const STEPS = 64

/** The grounds on which the accent stands as text in each scheme: page, card and well of the pages' style. */
const LIGHT_GROUNDS: readonly HexColour[] = ['#f3f5f8', '#ffffff', '#f6f8fa']
const DARK_GROUNDS: readonly HexColour[] = ['#0d1015', '#171b22', '#1f242d']

/** The colour that the text names, as six hexadecimal digits after a `#`; null for anything else. */
export function parseColour(text: string): HexColour | null {
  return /^#[0-9a-f]{6}$/i.test(text) ? `#${text.slice(1).toLowerCase()}` : null
}

/** WCAG contrast ratio of two colours, from 1 to 21. */
export function contrastOf(one: HexColour, other: HexColour): number {
  const [a, b] = [luminanceOf(one), luminanceOf(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

/**
 * The merchant's colour as buttons show it, and the nearest ones to it that can be read as text on every ground of the
 * pages. All at 4.5:1 or better: of black and white one always is, on any colour.
 */
export function brandColours(colour: HexColour): BrandColours {
  return {
    fill: colour,
    onFill: contrastOf(colour, '#ffffff') >= CONTRAST_MIN ? '#ffffff' : '#000000',
    light: nearestReadable(colour, '#000000', LIGHT_GROUNDS),
    dark: nearestReadable(colour, '#ffffff', DARK_GROUNDS),
  }
}

function nearestReadable(colour: HexColour, towards: HexColour, grounds: readonly HexColour[]): HexColour {
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(colour, towards, step / STEPS)
    if (grounds.every((ground) => contrastOf(mixed, ground) >= CONTRAST_MIN)) return mixed
  }
  return towards
}

function mix(from: HexColour, to: HexColour, share: number): HexColour {
  const ends = channelsOf(to)
  const digits = channelsOf(from).map((channel, index) => {
    const mixed = Math.round(channel + ((ends[index] ?? 0) - channel) * share)
    return mixed.toString(16).padStart(2, '0')
  })
  return `#${digits.join('')}`
}

const channelsOf = (colour: HexColour): number[] =>
  [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16))

/** Relative luminance as WCAG 2.2 defines it. */
function luminanceOf(colour: HexColour): number {
  const [r = 0, g = 0, b = 0] = channelsOf(colour).map((channel) => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
