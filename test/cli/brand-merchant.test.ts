import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseColour } from '../../src/core/checkout/brand-colours.ts'
import { loadMerchantName } from '../../src/db/people/merchants.ts'
import { readBranding } from '../../src/flows/branding.ts'
import { makeDataDir, runProgram } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedMerchant } from '../support/seed.ts'

/** `paylink merchant brand`, as an operator runs it. */

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let merchant: string
let logo: string
beforeAll(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
  merchant = (await seedMerchant(database)).merchantId
  logo = join(place.dataDir, '..', 'logo.png')
  const picture = sharp({ create: { width: 400, height: 100, channels: 4, background: '#0a6b8a' } })
  await writeFile(logo, await picture.png().toBuffer())
})
afterAll(async () => {
  await place?.remove()
  await database?.drop()
})

const brand = (...words: string[]) =>
  runProgram(['merchant', 'brand', ...words], {
    DATA_DIR: place.dataDir,
    DATABASE_URL: database.ownerUrl,
  })
const looks = () => readBranding(database.owner, merchant)

test('sets name, colour and logo, leaves alone what is not given, and takes colour and logo back', async () => {
  const set = await brand(
    '--merchant',
    merchant,
    '--name',
    'Blue Heron',
    '--colour',
    '#FFB400',
    '--logo',
    logo,
  )
  expect([set.stderr, set.code, set.stdout]).toEqual(['', 0, expect.stringContaining('have their new look')])
  const first = await looks()
  expect(await loadMerchantName(database.owner, merchant)).toBe('Blue Heron')
  expect(parseColour(first.colour ?? '')).toBe('#ffb400')
  expect(first.logo).toMatchObject({ width: expect.any(Number), height: expect.any(Number) })
  expect((await brand('--merchant', merchant, '--colour', '#123456')).code).toBe(0)
  expect(await looks()).toEqual({ ...first, colour: '#123456' })
  expect((await brand('--merchant', merchant, '--reset')).code).toBe(0)
  expect(await looks()).toMatchObject({ colour: null, logo: null })
})

test('sets who sells for receipts, line by line of the address, and forgets it with the rest', async () => {
  const seller = [
    '--legal-name',
    'Blue Heron Ltd',
    '--postal-address',
    '1 Marsh Lane',
    'Norwich',
    '--tax-number',
    'GB 1',
  ]
  const set = await brand('--merchant', merchant, ...seller)
  expect([set.stderr, set.code]).toEqual(['', 0])
  expect((await looks()).seller).toEqual({
    legalName: 'Blue Heron Ltd',
    postalAddress: '1 Marsh Lane\nNorwich',
    taxNumber: 'GB 1',
  })
  expect((await brand('--merchant', merchant, '--reset')).code).toBe(0)
  expect((await looks()).seller).toEqual({ legalName: null, postalAddress: null, taxNumber: null })
})

test('refuses what is wrong in one line that names the option, and changes nothing', async () => {
  const before = await looks()
  const text = join(place.dataDir, '..', 'logo.txt')
  await writeFile(text, '<svg onload=alert(1)>')
  const wrong: [string[], RegExp][] = [
    [
      ['--merchant', merchant],
      /give --name, --colour, --logo, --legal-name, --postal-address, --tax-number or --reset/,
    ],
    [['--merchant', merchant, '--colour', 'red'], /--colour must have # and six digits/],
    [
      ['--merchant', merchant, '--postal-address', '1', '2', '3', '4', '5', '6'],
      /--postal-address must be at most 5 lines/,
    ],
    [['--merchant', merchant, '--tax-number', 'a\nb'], /--tax-number must be words on one line/],
    [['--merchant', merchant, '--name', ''], /--name must have 1 to 120 characters/],
    [['--merchant', merchant, '--logo', text], /--logo must be a PNG, JPEG or WebP picture/],
    [['--merchant', merchant, '--logo', join(place.dataDir, 'absent.png')], /--logo: .* cannot be read/],
    [['--merchant', 'mer_x', '--reset'], /--merchant must be a merchant’s id/],
  ]
  for (const [words, line] of wrong) {
    const refused = await brand(...words)
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toMatch(line)
    expect(refused.stderr).not.toMatch(/\n\s+at /)
  }
  expect(await looks()).toEqual(before)
})
