export const PICTURE_TYPES = 'image/png,image/jpeg,image/webp'
export const NO_PICTURE = 'This file is no picture that can be read. Choose a PNG, JPEG or WebP.'

/** What fits into one request, before base64. */
const BYTES_MAX = 44_000
/** Each try is so much smaller than the one before. */
const SHRINK = 0.75
const TRIES_MAX = 8

/** A picture as base64 that fits into one request, made smaller where it does not; null where it is no picture. */
export async function pictureOf(
  file: Blob,
  most: { width: number; height: number; isSquare?: boolean },
): Promise<string | null> {
  const whole = await createImageBitmap(file).catch(() => null)
  if (whole === null) return null
  const picture = most.isSquare === true ? await middleOf(whole) : whole
  if (file.size <= BYTES_MAX && picture.width <= most.width) return base64Of(file)
  let scale = Math.min(1, most.width / picture.width, most.height / picture.height)
  for (let tries = 0; tries < TRIES_MAX; tries++, scale *= SHRINK) {
    const smaller = await drawn(picture, scale)
    if (smaller.size <= BYTES_MAX) return base64Of(smaller)
  }
  return null
}

function middleOf(whole: ImageBitmap): Promise<ImageBitmap> {
  const side = Math.min(whole.width, whole.height)
  const [left, top] = [Math.floor((whole.width - side) / 2), Math.floor((whole.height - side) / 2)]
  return createImageBitmap(whole, left, top, side, side)
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
