import { readFile } from 'node:fs/promises'
import { address } from '@solana/kit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LEDGER_CHECKS } from '../../src/audit/ledger-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { type AssetId, COINS, type PaymentAsset } from '../../src/core/assets.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { resolveInvoice } from '../../src/flows/invoices.ts'
import { releaseDecided } from '../../src/flows/release-decided.ts'
import { requestPayoutAlone } from '../../src/payouts/request-payout.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { anyAddress } from '../support/any-address.ts'
import type { ChainDriver } from '../support/chain-driver.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const UNITS = 25_000_000n

async function standings({ owner }: TestDatabase): Promise<string[]> {
  const { rows } = await owner.query<{ text: string }>(
    `select asset || ' ' || account || ' ' || balance as text from ledger_balance
     where account <> 'chain' and balance <> 0 order by asset, account`,
  )
  return rows.map(({ text }) => text)
}

async function ledgerFindings({ owner }: TestDatabase) {
  const asked = new Set(LEDGER_CHECKS.map(({ name }) => name))
  return (await runAudit(owner, [])).filter(({ name, findings }) => asked.has(name) && findings.length > 0)
}

type Case<Driven extends DrivenAnvil | DrivenSolana> = {
  readonly driver: ChainDriver<Driven>
  /** What comes in place of the invoice's asset, and where it stands once somebody has decided. */
  readonly sent: PaymentAsset
  readonly stands: 'suspense' | 'available'
  readonly send: (chain: Driven, to: string) => Promise<unknown>
}

/** What comes to an invoice's address and is not its asset. Whatever is decided, it is no balance of that asset. */
function describeWrongAsset<Driven extends DrivenAnvil | DrivenSolana>(of: Case<Driven>): void {
  describe(`${of.sent} on an invoice in ${of.driver.asset}`, () => {
    let watched: WatchedChain<Driven>
    beforeAll(async () => {
      watched = await WatchedChain.open(of.driver)
    }, 180_000)
    afterEach(() => watched.stopWatchers())
    afterAll(() => watched?.close())

    async function askForAll(asset: AssetId): Promise<string> {
      const now = new Date()
      await watched.database.owner.query(
        `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
         values ($1, 'dst', false, $2, 'x', 'x', 'x', $3, $3) on conflict do nothing`,
        [watched.tenant.merchantId, asset, now],
      )
      const { pools } = watched.database
      const of = { tenant: watched.tenant, source: 'available', destinationId: 'dst' } as const
      const who = { by: 'key', dailyLimits: {}, requestId: 'req' }
      return (await requestPayoutAlone(pools.api, { ...of, ...who, amount: null, asset: null, now })).kind
    }

    test('whether it is accepted or dismissed, no payout of the invoice’s asset can spend it', async () => {
      const watcher = await watched.watchAtTip()
      let total = 0n
      for (const resolution of ['accept', 'dismiss'] as const) {
        const { id, address } = await watched.openInvoice([watcher])
        await of.send(watched.chain, address)
        total += UNITS
        await watched.chain.mine(4)
        await until(async () => (await watched.paymentsOf(id))[0] === 'confirmed', { what: 'it is final' })
        const resolved = await resolveInvoice(
          { pool: watched.database.pools.api, clock: () => new Date(), issuedAddresses: anyAddress },
          {
            tenant: watched.tenant,
            invoiceId: id,
            resolution,
            note: null,
            actor: 'key',
            networkFacts: { tipHeightOf: () => null },
            requestId: 'req',
          },
        )
        expect(resolved.kind).toBe('resolved')
        expect(await standings(watched.database)).toEqual([`${of.sent} ${of.stands} ${total}`])
      }
      expect(await askForAll(of.driver.asset)).toBe('not_covered')
      expect(await ledgerFindings(watched.database)).toEqual([])
    })
  })
}

describeWrongAsset({
  driver: solanaDriver('blocks'),
  sent: 'WSOL',
  stands: 'suspense',
  send: async ({ payer }, to) => payer.send(await payer.wrap(address(to), UNITS)),
})

// It lies where the sweeps of its own asset find it.
describeWrongAsset({
  driver: evmDriver('ETH'),
  sent: 'USDC_ETHEREUM',
  stands: 'available',
  send: ({ anvil, token }, to) => anvil.send(token.mint(to, UNITS)),
})

describeWrongAsset({
  driver: evmDriver('ETH_BASE'),
  sent: 'USDC_BASE',
  stands: 'available',
  send: ({ anvil, token }, to) => anvil.send(token.mint(to, UNITS)),
})

describe('what an earlier release left in suspense after a decision', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database?.drop())

  const release = () =>
    releaseDecided({
      pool: database.pools.watcher,
      clock: () => new Date(),
      onFailed: (_, error) => {
        throw error
      },
    })

  /** A final payment in suspense, as an earlier release booked it. */
  async function leave(
    tenant: Tenant,
    of: {
      id: string
      asset: PaymentAsset
      resolution: string | null
      invoiceId: string
      isBlockSum?: boolean
    },
  ): Promise<void> {
    const { id, asset, resolution, invoiceId, isBlockSum = false } = of
    const index = isBlockSum ? -7 : 1
    await withTransaction(database.owner, tenant, async (tx) => {
      await tx.query(
        `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
           first_seen_at, detected_at, confirmed_at, block_height, block_hash, block_time, confirmations_required, late, dust,
           announced_confirming, announced_review, review_reason, resolution, ledger_bucket, ledger_postings, is_block_sum)
         values ($1, $4, false, $2, $6, $4, $7, $8, $3, 'confirmed', now(), now(), now(), 5, 'h', now(), 1,
           false, false, true, true, 'wrong_asset', $5, 'suspense', 1, $9)`,
        [
          tenant.merchantId,
          invoiceId,
          UNITS,
          id,
          resolution,
          `${COINS[asset].chain}-test`,
          index,
          asset,
          isBlockSum,
        ],
      )
      const name = `dep:${COINS[asset].chain}-test:${id}:${index}:${invoiceId}:1`
      const deposit = { id: name, kind: 'deposit', invoiceId, paymentId: id, asset, usdCents: 2_498n }
      const move = { amount: UNITS, from: 'chain', to: 'suspense', createdAt: new Date() } as const
      await insertLedgerTransfers(tx, tenant, [{ ...deposit, ...move }])
    })
  }

  const checked = new Set([...LEDGER_CHECKS.map(({ name }) => name)])
  const findings = async () => {
    const results = await runAudit(database.owner, [])
    return results.flatMap(({ name, findings }) =>
      checked.has(name) ? findings : findings.filter(({ detail }) => detail.includes('stands in')),
    )
  }

  test('becomes available, less the service fee, at what it was worth, once and no more', async () => {
    const tenant = await seedMerchant(database)
    const { id: invoiceId } = await seedInvoice(database, tenant, { asset: 'ETH', serviceFeeBps: 100 })
    const other = await seedInvoice(database, tenant, { asset: 'SOL' })
    const asset = 'USDC_ETHEREUM'
    await leave(tenant, { id: 'pay_accepted', asset, resolution: 'accepted', invoiceId })
    await leave(tenant, { id: 'pay_dismissed', asset, resolution: 'dismissed', invoiceId })
    await leave(tenant, { id: 'pay_sum', asset, resolution: 'dismissed', invoiceId, isBlockSum: true })
    await leave(tenant, { id: 'pay_open', asset, resolution: null, invoiceId })
    await leave(tenant, { id: 'pay_wsol', asset: 'WSOL', resolution: 'accepted', invoiceId: other.id })
    expect(await release()).toBe(1)
    const stands = [
      `USDC_ETHEREUM available ${(3n * UNITS * 99n) / 100n}`,
      `USDC_ETHEREUM fees ${(3n * UNITS) / 100n}`,
      `USDC_ETHEREUM suspense ${UNITS}`,
      `WSOL suspense ${UNITS}`,
    ]
    expect(await standings(database)).toEqual(stands)
    const { rows } = await database.owner.query<{ worth: string }>(
      `select kind || ' ' || usd_cents as worth from ledger_transfer where payment_id = 'pay_sum' order by id`,
    )
    expect(rows.map(({ worth }) => worth)).toEqual(['deposit 2498', 'deposit 2498', 'service_fee 24'])
    expect(await findings()).toEqual([])
    expect(await release()).toBe(0)
    expect(await standings(database)).toEqual(stands)
    // The buyers of these invoices are told nothing: nothing happened to them.
    const events = await database.owner.query(`select from event where merchant_id = $1`, [tenant.merchantId])
    expect(events.rowCount).toBe(0)
  })
})

test('wrapped SOL that an earlier version booked as SOL is taken back and stands in suspense', async () => {
  const database = await createTestDatabase()
  try {
    const tenant = await seedMerchant(database)
    const { id: invoiceId } = await seedInvoice(database, tenant, { asset: 'SOL', serviceFeeBps: 100 })
    const move = { invoiceId, asset: 'SOL', usdCents: null, createdAt: new Date(), amount: UNITS } as const
    const wrapped = { ...move, paymentId: 'pay_wrapped', kind: 'deposit' }
    await withTransaction(database.owner, tenant, async (tx) => {
      await tx.query(
        `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
           first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
           announced_review, review_reason, resolution, ledger_bucket, ledger_postings)
         values ($1, 'pay_wrapped', false, $2, 'solana-test', 'tx', 1004, 'SOL', $3, 'confirmed', now(), now(), now(), 1,
           false, false, true, true, 'wrong_asset', 'dismissed', 'available', 1)`,
        [tenant.merchantId, invoiceId, UNITS],
      )
      const id = `dep:solana-test:tx:1004:${invoiceId}:1`
      await insertLedgerTransfers(tx, tenant, [{ ...wrapped, id, from: 'chain', to: 'available' }])
      const fee = { ...wrapped, id: `${id}:fee`, kind: 'service_fee', amount: UNITS / 100n }
      await insertLedgerTransfers(tx, tenant, [{ ...fee, from: 'available', to: 'fees' }])
    })
    expect(await ledgerFindings(database)).toEqual([])
    const migration = new URL('../../migrations/0230_wrapped_sol_apart.sql', import.meta.url)
    await database.owner.query(await readFile(migration, 'utf8'))
    expect(await standings(database)).toEqual([`WSOL suspense ${UNITS}`])
    expect(await ledgerFindings(database)).toEqual([])
  } finally {
    await database.drop()
  }
})
