// @module-tag hledger
// @module-tag beancount
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BookFormat } from '../../src/core/books/book-entry.ts'
import { BEANCOUNT, HLEDGER, KOINLY } from '../../src/core/books/formats.ts'
import { formatCoinAmount, parseCoinAmount } from '../../src/core/money.ts'
import { writeBooks } from '../../src/flows/write-books.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { programPath } from '../support/programs.ts'
import { type Balances, balancesOf, haveBusiness, PAYOUT_TXID } from './books-of-a-shop.ts'

/** A merchant's books, read by the programs that accountants read them with. */

const run = promisify(execFile)
let api: TestApi
let merchant: TestMerchant
let folder: string
beforeAll(async () => {
  api = await createTestApi({ serviceFeeBps: 100 })
  merchant = await api.addMerchant()
  folder = await mkdtemp(join(tmpdir(), 'paylink-books-'))
  await haveBusiness(api, merchant)
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await api.drop()
})

const tenant = () => ({ merchantId: merchant.id, livemode: false })

async function booksIn(format: BookFormat): Promise<string> {
  const lines: string[] = []
  await writeBooks({ pool: api.database.owner }, tenant(), format, (line) => lines.push(line))
  return `${lines.join('\n')}\n`
}

/** `account,asset,amount` of the accounts of Paylink, as the API would say it. */
function told(rows: readonly (readonly [string, string, string])[]): Balances {
  const found: Balances = {}
  for (const [name, asset, amount] of rows) {
    const account = /^Assets:Paylink:(\w+)$/.exec(name)?.[1]?.toLowerCase()
    const canonical = amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount
    // Beancount writes nothing as 0E-18.
    if (account !== undefined && !/^0(?:E-\d+)?$/.test(canonical))
      found[account] = { ...found[account], [asset]: canonical }
  }
  return found
}

test('hledger finds every closing balance as the API gives it, to the last unit', async () => {
  const file = join(folder, 'books.journal')
  await writeFile(file, await booksIn(HLEDGER))
  await run(programPath('hledger'), ['-f', file, 'check'])
  const { stdout } = await run(programPath('hledger'), [
    ...['-f', file, 'balance', 'Assets:Paylink', '--flat', '--no-total', '-O', 'csv', '--layout', 'bare'],
  ])
  const rows = [...stdout.matchAll(/^"([^"]+)","([^"]+)","([^"]+)"$/gm)]
  expect(told(rows.map(([, account = '', asset = '', amount = '']) => [account, asset, amount]))).toEqual(
    await balancesOf(api, merchant),
  )
})

test('Beancount finds every closing balance as the API gives it, to the last unit', async () => {
  const file = join(folder, 'books.beancount')
  await writeFile(file, await booksIn(BEANCOUNT))
  await run(programPath('beancount'), [file])
  const query =
    'select account, currency, sum(number) where account ~ "^Assets:Paylink" group by account, currency'
  const { stdout } = await run(programPath('beancount').replace(/check$/, 'query'), [
    '-f',
    'csv',
    file,
    query,
  ])
  const rows = [...stdout.matchAll(/^(Assets:\S+?) *,(\w+) *, *(\S+) *$/gm)]
  expect(told(rows.map(([, account = '', asset = '', amount = '']) => [account, asset, amount]))).toEqual(
    await balancesOf(api, merchant),
  )
})

test('journals say what lines were worth in the shop’s currency, and where no rate of the day was kept', async () => {
  const journal = await booksIn(HLEDGER)
  expect(journal).toContain('P 2026-11-21 "EUR" 1.1 USD\n')
  expect(journal.match(/^P 2026-11-21 "LTC" 84\.37 USD$/gm)).toHaveLength(1)
  expect(journal).toMatch(/home:49\.99 EUR, home-rate:1\.1 by sandbox on 2026-11-21$/m)
  expect(journal).toContain('home:no EUR rate kept for 2026-11-22\n')
  const file = join(folder, 'valued.journal')
  await writeFile(file, journal)
  const { stdout } = await run(programPath('hledger'), [
    ...['-f', file, 'balance', 'Assets:Paylink:Available', 'cur:LTC', '-X', 'EUR', '-O', 'csv'],
    ...['--layout', 'bare', '--no-total'],
  ])
  expect(stdout).toMatch(/^"Assets:Paylink:Available","EUR","\d+\.\d+"$/m)
  const beancount = await booksIn(BEANCOUNT)
  expect(beancount).toContain('2026-11-21 price EUR 1.1 USD\n')
  expect(beancount).toContain('  home: "no EUR rate kept for 2026-11-22"\n')
})

test('a journal with one unit too much is refused by both', async () => {
  for (const [name, format, program] of [
    ['wrong.journal', HLEDGER, 'hledger'],
    ['wrong.beancount', BEANCOUNT, 'beancount'],
  ] as const) {
    const file = join(folder, name)
    const text = await booksIn(format)
    await writeFile(file, text.replaceAll('1000.000000000000000001', '1000.000000000000000002'))
    const args = name.endsWith('journal') ? ['-f', file, 'check'] : [file]
    await expect(run(programPath(program), args), name).rejects.toThrow()
  }
})

test('Koinly’s lines sum up to what the merchant has of each coin, a payout and its fee in one', async () => {
  const [head, ...lines] = (await booksIn(KOINLY)).trimEnd().split('\n')
  const columns = head?.split(',') ?? []
  const rows = lines.map((line) => {
    const cells = line.split(',')
    expect(cells).toHaveLength(columns.length)
    return (column: string) => cells[columns.indexOf(column)] ?? ''
  })
  const sums = new Map<string, bigint>()
  for (const row of rows) {
    expect(row('Date')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    for (const [side, sign] of [
      ['Sent', -1n],
      ['Received', 1n],
      ['Fee', -1n],
    ] as const) {
      const [amount, coin] = [row(`${side} Amount`), row(`${side} Currency`)]
      expect(amount === '').toBe(coin === '')
      if (coin !== '') sums.set(coin, (sums.get(coin) ?? 0n) + sign * (parseCoinAmount(amount, 18) ?? 0n))
    }
  }
  const owned = new Map<string, bigint>()
  for (const assets of Object.values(await balancesOf(api, merchant))) {
    for (const [asset, amount] of Object.entries(assets)) {
      const coin = asset.replace('_BASE', '')
      owned.set(coin, (owned.get(coin) ?? 0n) + (parseCoinAmount(amount, 18) ?? 0n))
    }
  }
  const words = (all: ReadonlyMap<string, bigint>) =>
    Object.fromEntries([...all].map(([coin, units]) => [coin, formatCoinAmount(units, 18)]))
  expect(words(sums)).toEqual(words(owned))
  const paidOut = rows.filter((row) => row('Description').startsWith('payout_sent'))
  expect(paidOut.map((row) => ['Sent Amount', 'Fee Amount', 'Fee Currency', 'TxHash'].map(row))).toEqual([
    ['100', '0.000000000000000007', 'ETH', PAYOUT_TXID],
  ])
  const [priced] = rows
  expect([priced?.('Net Worth Amount'), priced?.('Net Worth Currency')]).toEqual(['49.99', 'EUR'])
  expect(priced?.('TxHash')).toMatch(/^[0-9a-f]{64}$/)
})
