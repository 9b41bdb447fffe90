import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { resolveInvoice } from '../../src/flows/invoices.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { anyAddress } from '../support/any-address.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { until } from '../support/until.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'

/** A contract's payment that brings another amount in the block that a reorganisation puts it in. */

const AMOUNT = 10n ** 16n
const HALF = AMOUNT / 2n
const QUARTER = AMOUNT / 4n

let watched: WatchedChain<DrivenAnvil>
let payer: string
beforeAll(async () => {
  watched = await WatchedChain.open(evmDriver('ETH'))
  payer = await watched.chain.anvil.deploy(await bytecodeOf('PriceTaker'))
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

/** Brings `first` in the next block, and `afterwards` in any later one. */
async function pay(to: OpenInvoice, first: bigint, afterwards: bigint): Promise<string> {
  const { anvil } = watched.chain
  const next = BigInt((await anvil.height()) + 1)
  const data = callData('pay(address,uint256,uint256,uint256)', to.address, next, first, afterwards)
  const txid = await anvil.send({ to: payer, data, value: first + afterwards, gas: 200_000 })
  await watched.chain.mine(1)
  return txid
}

async function resolve({ id }: OpenInvoice, resolution: 'accept' | 'dismiss'): Promise<string> {
  const { database, tenant } = watched
  const deps = { pool: database.pools.api, clock: systemClock, issuedAddresses: anyAddress }
  const word = { resolution, note: null, actor: 'usr_owner', requestId: `req_${randomUUID()}` }
  const networkFacts = { tipHeightOf: () => null }
  return (await resolveInvoice(deps, { tenant, invoiceId: id, ...word, networkFacts })).kind
}

async function amountsTold({ id }: OpenInvoice): Promise<string[]> {
  const { rows } = await watched.database.owner.query<{ amount: string }>(
    `select convert_from(body, 'UTF8')::json #>> '{data,amount_detected}' as amount from event
     where resource_id = $1 order by sequence`,
    [id],
  )
  return rows.map(({ amount }) => amount)
}

async function findings(): Promise<string[]> {
  const { driver, chain, database } = watched
  const place = { network: driver.network, chain: 'ethereum', livemode: false, sandbox: null } as const
  const urls = { rpcUrl: chain.url, rpcSetting: 'TEST_ETHEREUM_RPC_URL', furtherUrls: [], zmqUrl: null }
  const results = await runAudit(database.owner, [{ ...place, ...urls, tokenContracts: {} }])
  return results.flatMap(({ name, findings: found, notChecked }) => [
    ...found.map(({ subject, detail }) => `${name}: ${subject} ${detail}`),
    ...(notChecked === null ? [] : [`${name}: ${notChecked}`]),
  ])
}

test('the final amount counts, and the audit accepts what was reported from the first block', async () => {
  const watcher = await watched.watchAtTip()
  // The first block must not be final before it leaves the chain.
  const invoice = await watched.openInvoice([watcher], watched.needs(3))
  const before = await watched.availableBalance()
  const txid = await pay(invoice, AMOUNT, QUARTER)
  await watched.untilStatus(invoice.id, 'confirming')
  await watched.chain.reorganise(1, txid)
  await watched.chain.mine(3)
  await watched.untilStatus(invoice.id, 'partially_paid')
  expect((await watched.availableBalance()) - before).toBe(QUARTER)
  expect(await amountsTold(invoice)).toEqual(['0.01', '0.01', '0.0025'])
  expect(await findings()).toEqual([])
})

test('less than the merchant accepted is no full payment, though it is the same transaction', async () => {
  const watcher = await watched.watchAtTip()
  const invoice = await watched.openInvoice([watcher])
  const before = await watched.availableBalance()
  const txid = await pay(invoice, HALF, QUARTER)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'partially_paid')
  expect(await resolve(invoice, 'accept')).toBe('resolved')
  expect(await watched.statusOf(invoice.id)).toBe('paid')
  await watched.chain.reorganise(2, txid)
  await watched.chain.mine(3)
  await until(async () => (await watched.availableBalance()) - before === QUARTER, {
    what: 'the payment is final again',
  })
  expect(await watched.statusOf(invoice.id)).toBe('manual_review')
  expect((await watched.eventsOf(invoice.id)).slice(-2)).toEqual(['paid', 'manual_review'])
  expect(await findings()).toEqual([])
  expect(await resolve(invoice, 'accept')).toBe('resolved')
  expect(await watched.statusOf(invoice.id)).toBe('paid')
  expect(await findings()).toEqual([])
})
