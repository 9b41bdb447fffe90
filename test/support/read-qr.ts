import jsqr from 'jsqr'
import type { Page } from 'playwright-core'

type Pixels = { readonly width: number; readonly height: number; readonly rgba: number[] }

/** What a camera pointed at this element of the page reads; null where it finds no QR code. */
export async function readQr(page: Page, selector: string): Promise<string | null> {
  return decodeQr(page, (await page.locator(selector).screenshot()).toString('base64'))
}

/** The same of a PNG in base64. */
export async function decodeQr(page: Page, picture: string): Promise<string | null> {
  // A page of its own decodes the picture: the checkout's policy lets no script of ours in.
  const decoder = await page.context().newPage()
  try {
    const { width, height, rgba } = await decoder.evaluate(async (base64): Promise<Pixels> => {
      const image = new Image()
      image.src = `data:image/png;base64,${base64}`
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = image.naturalWidth
      canvas.height = image.naturalHeight
      const drawing = canvas.getContext('2d')
      if (drawing === null) throw new Error('the browser cannot draw')
      drawing.drawImage(image, 0, 0)
      const { data } = drawing.getImageData(0, 0, canvas.width, canvas.height)
      return { width: canvas.width, height: canvas.height, rgba: [...data] }
    }, picture)
    return jsqr.default(Uint8ClampedArray.from(rgba), width, height)?.data ?? null
  } finally {
    await decoder.close()
  }
}
