/** What fits into one request, before base64. */
const BYTES_MAX = 44_000
/** Twice the largest that a page shows, for sharp screens. */
const WIDTH_MAX = 640
const HEIGHT_MAX = 144
/** Each try is so much smaller than the one before. */
const SHRINK = 0.75
const TRIES_MAX = 8

/** A picture as base64 that fits into one request, made smaller where it does not; null where it is no picture. */
export async function logoOf(file: Blob): Promise<string | null> {
  const picture = await createImageBitmap(file).catch(() => null)
  if (picture === null) return null
  if (file.size <= BYTES_MAX && picture.width <= WIDTH_MAX) return base64Of(file)
  let scale = Math.min(1, WIDTH_MAX / picture.width, HEIGHT_MAX / picture.height)
  for (let tries = 0; tries < TRIES_MAX; tries++, scale *= SHRINK) {
    const smaller = await drawn(picture, scale)
    if (smaller.size <= BYTES_MAX) return base64Of(smaller)
  }
  return null
}

function drawn(picture: ImageBitmap, scale: number): Promise<Blob> {
  const width = Math.max(1, Math.round(picture.width * scale))
  const height = Math.max(1, Math.round(picture.height * scale))
  const canvas = new OffscreenCanvas(width, height)
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('this browser cannot draw')
  context.imageSmoothingQuality = 'high'
  context.drawImage(picture, 0, 0, width, height)
  // PNG keeps what is transparent in every browser.
  return canvas.convertToBlob({ type: 'image/png' })
}

async function base64Of(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer())
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
