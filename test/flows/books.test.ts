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
import { insertLedgerTransfer } from '../../src/db/ledger/ledger.ts'
import { setBranding } from '../../src/flows/branding.ts'
import { writeBooks } from '../../src/flows/write-books.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { keepCurrencyRatesOnce } from '../../src/rates/keep-currency-rates.ts'
import { recordPayment } from '../compat/record-payment.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { programPath } from '../support/programs.ts'

/** A merchant's books, read by the programs that accountants read them with. */

const run = promisify(execFile)
let api: TestApi
let merchant: TestMerchant
let folder: string
beforeAll(async () => {
  api = await createTestApi({ serviceFeeBps: 100 })
  merchant = await api.addMerchant()
  folder = await mkdtemp(join(tmpdir(), 'paylink-books-'))
  await haveBusiness()
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await api.drop()
})

const tenant = () => ({ merchantId: merchant.id, livemode: false })

/**
 * Invoices that are paid, short and over, with the service's fee, and moves of other coins, to the last unit; of a shop in
 * euros, whose rate was not kept on the second day.
 */
async function haveBusiness(): Promise<void> {
  const { clock } = api.deps
  await setBranding({ pool: api.database.pools.api, clock }, merchant.id, { homeCurrency: 'EUR' })
  const rates = { refresh: async () => {}, quote: api.deps.currencyRates.quote }
  const keepRates = () => keepCurrencyRatesOnce({ pool: api.database.pools.api, rates, clock })
  await keepRates()
  const body = { price: { amount: '49.99', currency: 'EUR' }, asset: 'LTC' }
  const priced = await api.call('POST', '/invoices', { key: merchant.testKey, body })
  await recordPayment(api, merchant, priced.body.id, 'final')
  for (const share of [100n, 40n, 160n]) {
    const body = { usd_amount: '12.34', asset: 'LTC' }
    const made = await api.call('POST', '/invoices', { key: merchant.testKey, body })
    await recordPayment(api, merchant, made.body.id, 'final', share)
    api.time.advance(86_400_000)
    if (share === 40n) await keepRates()
  }
  const moves = [
    ['a', 'deposit', 'ETH', 'chain', 'available', 10n ** 21n + 1n],
    ['b', 'payout', 'ETH', 'available', 'reserved', 10n ** 20n + 7n],
    ['c', 'payout_sent', 'ETH', 'reserved', 'chain', 10n ** 20n],
    ['d', 'network_fee', 'ETH', 'reserved', 'chain', 7n],
    ['e', 'deposit', 'USDC_BASE', 'chain', 'suspense', 1n],
    ['f', 'deposit', 'ETH_BASE', 'chain', 'pending', 3n],
    ['g', 'deposit_void', 'ETH_BASE', 'pending', 'chain', 3n],
  ] as const
  for (const [id, kind, asset, from, to, amount] of moves) {
    await withTransaction(api.database.pools.watcher, tenant(), (tx) =>
      insertLedgerTransfer(tx, tenant(), {
        id: `books:${id}`,
        kind,
        invoiceId: null,
        paymentId: null,
        asset,
        from,
        to,
        amount,
        usdCents: id === 'e' ? null : 1_234n,
        createdAt: api.time.now,
      }),
    )
  }
}

async function booksIn(format: BookFormat): Promise<string> {
  const lines: string[] = []
  await writeBooks({ pool: api.database.owner }, tenant(), format, (line) => lines.push(line))
  return `${lines.join('\n')}\n`
}

type Balances = { [account: string]: { [asset: string]: string } }

/** `GET /balances`, without what is nothing. */
async function balances(): Promise<Balances> {
  const { body } = await api.call('GET', '/balances', { key: merchant.testKey })
  const told: Balances = {}
  for (const row of body.data) {
    for (const account of ['available', 'pending', 'suspense', 'reserved', 'shortfall']) {
      if (row[account] !== '0') told[account] = { ...told[account], [row.asset]: row[account] }
    }
  }
  return told
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
    await balances(),
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
    await balances(),
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

test('Koinly’s lines sum up to what the merchant has of each coin', async () => {
  const [head, ...lines] = (await booksIn(KOINLY)).trimEnd().split('\n')
  expect(head?.split(',')).toHaveLength(7)
  const sums = new Map<string, bigint>()
  for (const line of lines) {
    const [at, amount = '', coin = ''] = line.split(',')
    expect(at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    const units = parseCoinAmount(amount.replace('-', ''), 18) ?? 0n
    sums.set(coin, (sums.get(coin) ?? 0n) + (amount.startsWith('-') ? -units : units))
  }
  const owned = new Map<string, bigint>()
  for (const assets of Object.values(await balances())) {
    for (const [asset, amount] of Object.entries(assets)) {
      const coin = asset.replace('_BASE', '')
      owned.set(coin, (owned.get(coin) ?? 0n) + (parseCoinAmount(amount, 18) ?? 0n))
    }
  }
  const words = (all: ReadonlyMap<string, bigint>) =>
    Object.fromEntries([...all].map(([coin, units]) => [coin, formatCoinAmount(units, 18)]))
  expect(words(sums)).toEqual(words(owned))
})
