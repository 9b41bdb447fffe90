import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { setBranding } from '../../src/flows/branding.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { keepCurrencyRatesOnce } from '../../src/rates/keep-currency-rates.ts'
import { recordPayment } from '../compat/record-payment.ts'
import type { TestApi, TestMerchant } from '../support/api.ts'

/**
 * Invoices that are paid, short and over, with the service's fee, and moves of other coins, to the last unit; of a shop in
 * euros, whose rate was not kept on the second day.
 */
export async function haveBusiness(api: TestApi, merchant: TestMerchant): Promise<void> {
  const tenant = { merchantId: merchant.id, livemode: false }
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
  await insertPayout(api, tenant)
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
    await withTransaction(api.database.pools.watcher, tenant, (tx) =>
      insertLedgerTransfers(tx, tenant, [
        {
          id: `books:${id}`,
          kind,
          invoiceId: null,
          paymentId: null,
          payoutId: 'bcd'.includes(id) ? PAYOUT : null,
          asset,
          from,
          to,
          amount,
          usdCents: id === 'e' ? null : 1_234n,
          createdAt: api.time.now,
        },
      ]),
    )
  }
}

const PAYOUT = 'po_books'
/** Of the shop's payout. */
export const PAYOUT_TXID = `0x${'ab'.repeat(32)}`

/** A payout as its transaction's confirmation leaves it: what was sent and its fee are two transfers of the ledger. */
async function insertPayout(api: TestApi, tenant: { merchantId: string; livemode: boolean }): Promise<void> {
  const owner = api.database.owner
  await owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, 'dst_books', $2, 'ETH', '0x0', 'x', 'x', now(), now())`,
    [tenant.merchantId, tenant.livemode],
  )
  await owner.query(
    `insert into payout (merchant_id, id, livemode, status, asset, network, amount, network_fee, network_fee_max,
       destination_id, destination, requested_by, created_at, txid, confirmed_at)
     values ($1, $3, $2, 'confirmed', 'ETH', 'ethereum-test', $5, 7, 7, 'dst_books', '0x0', 'x', now(), $4, now())`,
    [tenant.merchantId, tenant.livemode, PAYOUT, PAYOUT_TXID, 10n ** 20n + 7n],
  )
}

export type Balances = { [account: string]: { [asset: string]: string } }

/** `GET /balances`, without what is nothing. */
export async function balancesOf(api: TestApi, merchant: TestMerchant, at?: string): Promise<Balances> {
  const { body } = await api.call('GET', at === undefined ? '/balances' : `/balances?at=${at}`, {
    key: merchant.testKey,
  })
  const told: Balances = {}
  for (const row of body.data) {
    for (const account of ['available', 'pending', 'suspense', 'reserved', 'shortfall']) {
      if (row[account] !== '0') told[account] = { ...told[account], [row.asset]: row[account] }
    }
  }
  return told
}
