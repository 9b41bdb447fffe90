import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { checkoutView } from '../../src/core/checkout/checkout-state.ts'
import { renderInvoice } from '../../src/core/invoice/render.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { ENGLISH } from '../../src/web/checkout/language.ts'
import { notesOf } from '../../src/web/checkout/outcome-text.ts'
import { deployTestToken } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const USDC = 25_000_000n

let watched: WatchedChain<DrivenAnvil>
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH'))
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

async function load(id: string) {
  const { tenant, database } = watched
  const loaded = await withTransaction(database.owner, tenant, (tx) =>
    loadInvoice(tx, tenant, id, { forUpdate: false }),
  )
  if (loaded === null) throw new Error('there is no such invoice')
  return loaded.invoice
}

const viewOf = async (id: string) => renderInvoice(await load(id), { tipHeightOf: () => null })

/** What the buyer's page says of payments that do not count. */
async function notesFor(id: string): Promise<string[]> {
  const view = checkoutView(await load(id), Date.now(), { tipHeightOf: () => null })
  return notesOf({ view, merchantName: 'Tea Shop', language: ENGLISH })
}

async function balances(): Promise<readonly { asset: string; account: string; balance: bigint }[]> {
  const { rows } = await watched.database.owner.query<{ asset: string; account: string; balance: bigint }>(
    `select asset, account, balance from ledger_balance where account <> 'chain' and balance <> 0
     order by asset, account`,
  )
  return rows
}

test('USDC on Ethereum, where no invoice asks for it, is shown with its transaction and pays nothing', async () => {
  const watcher = await watched.watchAtTip()
  const base = { asset: 'USDC_BASE', amount: USDC, confirmations: { USDC_BASE: 1 } } as const
  const [forBase, forEther] = [
    await watched.openInvoice([watcher], base),
    await watched.openInvoice([watcher]),
  ]
  const txids: string[] = []
  for (const { address } of [forBase, forEther]) {
    txids.push(await watched.chain.anvil.send(watched.chain.token.mint(address, USDC)))
  }
  await watched.chain.mine(4)
  const reasons = ['wrong_network', 'wrong_asset']
  for (const [index, { id }] of [forBase, forEther].entries()) {
    await until(async () => (await watched.eventsOf(id)).includes('manual_review'), { what: 'it is told' })
    await until(async () => (await watched.paymentsOf(id))[0] === 'confirmed', { what: 'it is final' })
    const view = await viewOf(id)
    expect(view.status).toBe('awaiting_payment')
    expect(view.payments).toMatchObject([
      { asset: 'USDC_ETHEREUM', txid: txids[index], amount: '25', review_reason: reasons[index] },
    ])
  }
  expect(await notesFor(forBase.id)).toEqual([
    'We found 25.00 USDC on the Ethereum network. This payment is not taken on that network, so it does not count yet; Tea Shop must review it.',
  ])
  expect(await balances()).toEqual([{ asset: 'USDC_ETHEREUM', account: 'suspense', balance: USDC * 2n }])
  // What was asked for is still taken.
  await watched.chain.pay(forEther.address, watched.driver.amount)
  await watched.chain.mine(3)
  await watched.untilStatus(forEther.id, 'paid')
})

test('a token of the same name at another contract, and a transfer of nothing, are not shown', async () => {
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  const other = await deployTestToken(watched.chain.anvil)
  await watched.chain.anvil.send(other.mint(invoice.address, USDC))
  await watched.chain.anvil.send(watched.chain.token.mint(invoice.address, 0n))
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(4)
  await watched.untilStatus(invoice.id, 'paid')
  expect((await viewOf(invoice.id)).payments.map(({ asset }) => asset)).toEqual(['ETH'])
})

test('USDC that is sent on Polygon to an invoice on Arbitrum One pays nothing, and names where it is', async () => {
  const onPolygon = await WatchedChain.open(evmDriver('USDC_POLYGON'))
  try {
    const watcher = await onPolygon.watchAtTip()
    const terms = { asset: 'USDC_ARBITRUM', amount: USDC, confirmations: { USDC_ARBITRUM: 1 } } as const
    const { id, address } = await onPolygon.openInvoice([watcher], terms)
    const txid = await onPolygon.chain.pay(address, USDC)
    await onPolygon.chain.mine(4)
    await until(async () => (await onPolygon.paymentsOf(id))[0] === 'confirmed', { what: 'it is final' })
    const { tenant, database } = onPolygon
    const loaded = await withTransaction(database.owner, tenant, (tx) =>
      loadInvoice(tx, tenant, id, { forUpdate: false }),
    )
    if (loaded === null) throw new Error('there is no such invoice')
    const view = renderInvoice(loaded.invoice, { tipHeightOf: () => null })
    expect(view.status).toBe('awaiting_payment')
    expect(view.payments).toMatchObject([
      { asset: 'USDC_POLYGON', txid, amount: '25', review_reason: 'wrong_network' },
    ])
    expect(await onPolygon.availableBalance()).toBe(0n)
  } finally {
    await onPolygon.close()
  }
})
