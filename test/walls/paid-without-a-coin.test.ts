import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { PaymentAsset } from '../../src/core/assets.ts'
import { eventBody } from '../../src/core/event/envelope.ts'
import { renderInvoice } from '../../src/core/invoice/render.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { insertEvent } from '../../src/db/delivery/events.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { inBlock } from '../support/invoice.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'
import { seedMerchant } from '../support/seed.ts'

/**
 * Several rows written together, so that each agrees with the others: the API and a webhook say that an invoice is paid, and
 * no coin came to its address. The audit names it.
 */

const LTC = 100_000_000n
const HOUR_MS = 3_600_000
/** Of a block that the audit does not read: so are blocks below the newest 500. */
const FAR = 1_000_000

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
let node: ChainNode
let shop: Tenant
let block: { readonly height: number; readonly hash: string; readonly timeMs: number }
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
  world.now = new Date()
  shop = await world.openShop([LTC])
  block = { ...(await world.watch()), timeMs: Date.now() }
  await world.database.owner.query('update transfer set block_hash = $1', [block.hash])
  node = {
    network: world.network,
    chain: 'litecoin',
    livemode: false,
    rpcUrl: money.rpcUrl,
    furtherUrls: [],
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: null,
    tokenContracts: {},
    sandbox: null,
  }
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

const openInvoice = (terms: Partial<Invoice> = {}, tenant = shop) =>
  world.openInvoice(tenant, LTC, 0, { expiresAtMs: Date.now() + HOUR_MS, ...terms })

async function shown(id: string, tenant = shop) {
  const stored = await withTransaction(world.database.owner, tenant, (tx) => loadInvoice(tx, tenant, id))
  if (stored === null) throw new Error('no invoice')
  return renderInvoice(stored.invoice, { tipHeightOf: () => block.height })
}

async function findings(): Promise<string[]> {
  const results = await runAudit(world.database.pools.watcher, [node])
  return results.flatMap(({ name, findings }) =>
    findings.map(({ subject, detail }) => `${name}: ${subject} ${detail}`),
  )
}

/** The checks that find what they did not find before. */
async function namedAfter(write: () => Promise<unknown>): Promise<string[]> {
  const before = new Set(await findings())
  await write()
  const lines = (await findings()).filter((line) => !before.has(line))
  return [...new Set(lines.map((line) => line.split(':', 1)[0] ?? ''))]
}

type Forged = {
  readonly txid?: string
  readonly outputIndex?: number
  readonly network?: 'litecoin-live' | 'base-test'
  readonly asset?: PaymentAsset
}

/** All that the watcher's process writes of a payment, by its login: the payment, ledger, invoice, events and deliveries. */
async function forge(invoiceId: string, forged: Forged, tenant = shop): Promise<void> {
  const deps = { pool: world.database.pools.watcher, clock: () => new Date() }
  const { txid = randomBytes(32).toString('hex'), outputIndex = 0, ...changes } = forged
  const of = { outputIndex, firstSeenMs: Date.now(), network: world.network, ...changes }
  for (const confirmations of [1, 9]) {
    const fact = { ...inBlock(txid, LTC, confirmations), ...of, block }
    await recordTransfers(deps, { tenant, invoiceId, facts: [fact], tipHeight: block.height + 8 })
  }
}

/** Changes the payment that was just forged. */
const change = (invoiceId: string, set: string, tenant = shop) =>
  withTransaction(world.database.pools.watcher, tenant, async (tx) => {
    const { rowCount } = await tx.query(`update transfer set ${set} where invoice_id = $1`, [invoiceId])
    expect(rowCount).toBe(1)
  })

test.each(['api', 'watcher'] as const)(
  'the audit names an invoice that the login of %s calls accepted, and to which nothing was paid',
  async (role) => {
    const { invoiceId } = await openInvoice()
    const named = await namedAfter(() =>
      withTransaction(world.database.pools[role], shop, async (tx) => {
        await tx.query(
          `update invoice set status = 'paid', accepted_at = now(), paid_at = now(), event_count = 1 where id = $1`,
          [invoiceId],
        )
        const [createdAt, id] = [new Date(), newId('event', new Date())]
        const of = { id, type: 'invoice.paid', resourceId: invoiceId, sequence: 1, requestId: null }
        const data = { ...(await shown(invoiceId)), status: 'paid' }
        const body = eventBody({ ...shop, ...of, createdAtMs: createdAt.getTime(), data })
        await insertEvent(tx, shop, { ...of, createdAt, body })
      }),
    )
    expect((await shown(invoiceId)).status).toBe('paid')
    expect(named).toEqual(['acceptance_was_decided', 'milestone_is_told_once'])
  },
)

test("the audit names an invented live payment that the watcher's login says was left on another chain", async () => {
  const live = await seedMerchant(world.database, true)
  const { invoiceId } = await openInvoice({}, live)
  const named = await namedAfter(async () => {
    await forge(invoiceId, { network: 'litecoin-live' }, live)
    await change(invoiceId, `left_on_chain = 'another'`, live)
  })
  expect((await shown(invoiceId, live)).status).toBe('paid')
  expect(named).toEqual(['transfer_is_on_its_chain'])
})

test("the audit names a payment that the watcher's login books on a network without its coin", async () => {
  const { invoiceId } = await openInvoice({ asset: 'SOL' })
  const named = await namedAfter(async () => {
    await forge(invoiceId, { network: 'base-test', asset: 'SOL' })
    await change(invoiceId, `status = 'confirmed', confirmed_at = now()`)
  })
  expect(named).toContain('transfer_is_on_its_chain')
})

test("the audit names somebody else's coin, which the watcher's login books where no block is read in full", async () => {
  const { txid } = await money.pay(world.newAddress(), LTC)
  await money.mine(1)
  const { invoiceId } = await openInvoice()
  const named = await namedAfter(async () => {
    await forge(invoiceId, { txid })
    await change(invoiceId, `block_height = ${FAR}`)
  })
  expect((await shown(invoiceId)).status).toBe('paid')
  expect(named).toEqual(['coins_litecoin-test'])
})

test("the audit names another invoice's coin, which the watcher's login books as a sum, or in capitals", async () => {
  const { rows } = await world.database.owner.query<{ txid: string; index: number }>(
    'select txid, output_index as index from transfer where merchant_id = $1 order by id limit 1',
    [shop.merchantId],
  )
  const { txid = '', index = 0 } = rows[0] ?? {}
  const parts = JSON.stringify([{ txid, output_index: index, amount: LTC.toString() }])
  for (const [forged, set] of [
    [{ txid: txid.toUpperCase(), outputIndex: index }, `block_height = ${FAR}`],
    [{ txid: block.hash, outputIndex: -1 }, `is_block_sum = true, parts = '${parts}'`],
  ] as const) {
    const { invoiceId } = await openInvoice()
    const named = await namedAfter(async () => {
      await forge(invoiceId, forged)
      await world.database.owner.query(`update transfer set ${set} where invoice_id = $1`, [invoiceId])
    })
    expect((await shown(invoiceId)).status).toBe('paid')
    expect(named).toContain('coin_is_one_deposit')
  }
})
