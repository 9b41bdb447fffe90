import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_SELLER } from '../src/core/receipt/seller.ts'
import { loadMerchantName } from '../src/db/people/merchants.ts'
import { readBranding, readLogo, setBranding } from '../src/flows/branding.ts'
import { encodeLogo } from '../src/runtime/encode-logo.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { seedMerchant } from './support/seed.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

const clock = () => new Date('2026-11-21T12:00:00.000Z')
const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 4, background: '#2b50d8' } })
const noise = (width: number, height: number) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#fff',
      noise: { type: 'gaussian', mean: 128, sigma: 80 },
    },
  })

/** A PNG that says it is so large, with next to nothing in it. */
function pngOf(width: number, height: number): Buffer {
  const chunk = (type: string, body: Buffer) => {
    const typed = Buffer.concat([Buffer.from(type), body])
    const ends = Buffer.alloc(8)
    ends.writeUInt32BE(body.length, 0)
    ends.writeUInt32BE(crc32(typed), 4)
    return Buffer.concat([ends.subarray(0, 4), typed, ends.subarray(4)])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 0, 0, 0, 0], 8)
  const rows = deflateSync(Buffer.alloc(64 * 1024))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

test.each([
  ['png', 800, 200],
  ['jpeg', 300, 900],
  ['webp', 64, 64],
] as const)('a %s of %i × %i becomes a small WebP of our own making', async (format, width, height) => {
  const encoded = await encodeLogo(await picture(width, height).toFormat(format).toBuffer())
  if (encoded.kind !== 'encoded') throw new Error(encoded.reason)
  const { bytes, ...logo } = encoded.logo
  expect(logo.width).toBeLessThanOrEqual(320)
  expect(logo.height).toBeLessThanOrEqual(72)
  expect(logo.digest).toMatch(/^[0-9a-f]{32}$/)
  expect(bytes.length).toBeLessThanOrEqual(8 * 1024)
  expect((await sharp(bytes).metadata()).format).toBe('webp')
})

test('what a file carries beside the picture stays behind', async () => {
  const hidden = 'hidden-in-the-file'
  const withComment = await picture(50, 50)
    .withExif({ IFD0: { Copyright: hidden } })
    .jpeg()
    .toBuffer()
  expect(withComment.includes(hidden)).toBe(true)
  const polyglot = Buffer.concat([withComment, Buffer.from('<script>alert(1)</script>')])
  const encoded = await encodeLogo(polyglot)
  if (encoded.kind !== 'encoded') throw new Error(encoded.reason)
  expect(Buffer.from(encoded.logo.bytes).includes(hidden)).toBe(false)
  expect(Buffer.from(encoded.logo.bytes).includes('<script>')).toBe(false)
})

test('even noise fits into its bytes', async () => {
  const encoded = await encodeLogo(await noise(320, 72).webp({ quality: 80 }).toBuffer())
  if (encoded.kind !== 'encoded') throw new Error(encoded.reason)
  expect(encoded.logo.bytes.length).toBeLessThanOrEqual(8 * 1024)
})

test('documents, bombs, large files and damaged pictures are refused', async () => {
  const good = await picture(100, 100).png().toBuffer()
  const refusals: [Uint8Array, string][] = [
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), 'not_a_picture'],
    [Buffer.from(`<?xml version="1.0"?><svg/>`), 'not_a_picture'],
    [Buffer.from('GIF89a'), 'not_a_picture'],
    [Buffer.from('%PDF-1.7'), 'not_a_picture'],
    [Buffer.alloc(0), 'not_a_picture'],
    [Buffer.alloc(300 * 1024), 'too_large'],
    [good.subarray(0, 40), 'not_a_picture'],
    [Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(100)]), 'not_a_picture'],
    [pngOf(60_000, 60_000), 'too_many_pixels'],
    [pngOf(4_000, 4_000), 'not_a_picture'],
    [await picture(4, 4).png().toBuffer(), 'not_a_picture'],
  ]
  for (const [index, [file, reason]] of refusals.entries())
    expect([index, await encodeLogo(file)]).toEqual([index, { kind: 'refused', reason }])
})

test('a merchant’s look is set piece by piece, read back, and taken back', async () => {
  const { merchantId } = await seedMerchant(database)
  const deps = { pool: database.pools.api, clock }
  const encoded = await encodeLogo(await picture(100, 50).png().toBuffer())
  if (encoded.kind !== 'encoded') throw new Error(encoded.reason)
  const { bytes, ...logo } = encoded.logo
  expect(await setBranding(deps, merchantId, { colour: '#FF8800' })).toEqual({ kind: 'set' })
  expect(await setBranding(deps, merchantId, { logo: encoded.logo })).toEqual({ kind: 'set' })
  expect(await setBranding(deps, merchantId, { name: 'Blue Heron' })).toEqual({ kind: 'set' })
  expect(await readBranding(deps.pool, merchantId)).toEqual({ colour: '#ff8800', logo, seller: NO_SELLER })
  expect(await readLogo(deps.pool, merchantId, logo.digest)).toEqual(Buffer.from(bytes))
  expect(await loadMerchantName(database.owner, merchantId)).toBe('Blue Heron')
  const other = await seedMerchant(database)
  expect(await readBranding(deps.pool, other.merchantId)).toEqual({
    colour: null,
    logo: null,
    seller: NO_SELLER,
  })
  expect(await readLogo(deps.pool, other.merchantId, logo.digest)).toBeNull()
  expect(await readLogo(deps.pool, `mer_' or true --`, logo.digest)).toBeNull()
  await setBranding(deps, merchantId, { colour: null, logo: null, name: null })
  expect(await readBranding(deps.pool, merchantId)).toEqual({ colour: null, logo: null, seller: NO_SELLER })
})

test('a name or colour that is none is refused and changes nothing', async () => {
  const { merchantId } = await seedMerchant(database)
  const deps = { pool: database.pools.api, clock }
  for (const colour of ['red', '#fff', '#12345g', '#123456;}', ''])
    expect(await setBranding(deps, merchantId, { colour })).toEqual({ kind: 'invalid', field: 'colour' })
  for (const name of ['', '  ', 'a\nb', 'x'.repeat(121)])
    expect(await setBranding(deps, merchantId, { name })).toEqual({ kind: 'invalid', field: 'name' })
  const nobody = merchantId.replace(/.$/, (last) => (last === '0' ? '4' : '0'))
  expect(await setBranding(deps, nobody, { name: 'A' })).toEqual({ kind: 'not_found' })
})
