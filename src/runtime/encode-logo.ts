import { createHash } from 'node:crypto'
import type { ResizeOptions, Sharp } from 'sharp'

/** A logo as the pages serve it: our own encoding, at twice the size at which it is shown. */
type EncodedLogo = {
  readonly bytes: Uint8Array
  readonly digest: string
  readonly width: number
  readonly height: number
}

type LogoEncoding =
  | { readonly kind: 'encoded'; readonly logo: EncodedLogo }
  | { readonly kind: 'refused'; readonly reason: 'too_large' | 'not_a_picture' | 'too_many_pixels' }

export const LOGO_BYTES_IN_MAX = 256 * 1024
/** Together with the page it must stay within the checkout's 20 KB. */
const LOGO_BYTES_OUT_MAX = 8 * 1024
/** A small file can hold a picture of gigabytes: beyond this it is not decoded. */
const PIXELS_MAX = 4_096 * 4_096
const SIDE_MIN = 8
const LOGO_SIZE: ResizeOptions = { width: 320, height: 72, fit: 'inside', withoutEnlargement: true }
/** Of a till's picture; not many more pixels than a logo, so that it fits as well. */
const SQUARE_SIDE = 144
const SECONDS_MAX = 5
/** Looked for until one fits: quality of the WebP encoder. */
const QUALITIES = [90, 75, 60, 40, 20] as const
const DIGEST_LENGTH = 32
const READ_OPTIONS = { limitInputPixels: PIXELS_MAX, failOn: 'error', pages: 1 } as const

/** Pictures of dots only: an SVG is a document with links and scripts, and other formats have decoders less tried. */
const SIGNATURES: readonly (readonly [format: string, matches: (bytes: Buffer) => boolean])[] = [
  ['png', (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))],
  ['jpeg', (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))],
  [
    'webp',
    (bytes) => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  ],
]

/**
 * Makes the logo that pages show from a PNG, JPEG or WebP file of at most 256 KB. What goes out are new bytes:
 * metadata, trailing data and whatever else the file held stay behind.
 */
export const encodeLogo = (file: Uint8Array): Promise<LogoEncoding> => encode(file, () => LOGO_SIZE)

/** The same of a till's picture: the square in its middle. */
export const encodeSquare = (file: Uint8Array): Promise<LogoEncoding> =>
  encode(file, (shorter) => {
    const side = Math.min(SQUARE_SIDE, shorter)
    return { width: side, height: side, fit: 'cover' }
  })

async function encode(
  file: Uint8Array,
  sizeFor: (shorterSide: number) => ResizeOptions,
): Promise<LogoEncoding> {
  if (file.length > LOGO_BYTES_IN_MAX) return { kind: 'refused', reason: 'too_large' }
  const bytes = Buffer.from(file)
  const format = SIGNATURES.find(([, matches]) => matches(bytes))?.[0]
  if (format === undefined) return { kind: 'refused', reason: 'not_a_picture' }
  try {
    // Fifteen megabytes that most processes never need.
    const { default: sharp } = await import('sharp')
    const header = await sharp(bytes, { limitInputPixels: false }).metadata()
    if (header.width * header.height > PIXELS_MAX) return { kind: 'refused', reason: 'too_many_pixels' }
    if (header.format !== format || Math.min(header.width, header.height) < SIDE_MIN)
      return { kind: 'refused', reason: 'not_a_picture' }
    const size = sizeFor(Math.min(header.width, header.height))
    return { kind: 'encoded', logo: await smallEnough(sharp(bytes, READ_OPTIONS), size) }
  } catch (error) {
    if (error instanceof NothingFits) throw error
    return { kind: 'refused', reason: 'not_a_picture' }
  }
}

class NothingFits extends Error {}

async function smallEnough(read: Sharp, size: ResizeOptions): Promise<EncodedLogo> {
  const picture = read.timeout({ seconds: SECONDS_MAX }).autoOrient().resize(size).toColourspace('srgb')
  for (const quality of QUALITIES) {
    const { data, info } = await picture
      .clone()
      .webp({ quality, effort: 6 })
      .toBuffer({ resolveWithObject: true })
    if (data.length > LOGO_BYTES_OUT_MAX) continue
    const digest = createHash('sha256').update(data).digest('hex').slice(0, DIGEST_LENGTH)
    return { bytes: data, digest, width: info.width, height: info.height }
  }
  throw new NothingFits(`a picture of ${size.width} × ${size.height} could not be made small enough`)
}
