import { randomBytes } from 'node:crypto'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { insertRequests } from '../../src/db/requests/request-log.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { requestPayout } from '../../src/payouts/request-payout.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import type { TestApi } from './api.ts'
import { inBlock } from './invoice.ts'
import { creditLitecoin } from './payout-money.ts'
import { seedDepositAccount, seedInvoice } from './seed.ts'

export type ResourceKind =
  | 'invoice'
  | 'webhookEndpoint'
  | 'event'
  | 'paymentLink'
  | 'checkoutSession'
  | 'apiKey'
  | 'requestLog'
  | 'payoutDestination'
  | 'payout'
  | 'depositAddress'
  | 'deposit'

/** Ids of one of each, of one tenant. */
export type Resources = { readonly [kind in ResourceKind]: string }

/** One of each resource, written as the service writes them, in either mode. */
export async function seedResources(api: TestApi, tenant: Tenant): Promise<Resources> {
  const invoice = await seedInvoice(api.database, tenant)
  const { owner } = api.database
  const event = newId('event', api.time.now)
  await owner.query(
    `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, request_id, created_at)
     values ($1, $2, $3, 'invoice.created', $4, 1, $5, null, $6)`,
    [
      tenant.merchantId,
      event,
      tenant.livemode,
      invoice.id,
      eventBody(event, tenant, invoice.id),
      api.time.now,
    ],
  )
  const webhookEndpoint = await seedEndpoint(api, tenant)
  const apiKey = (await api.addKey(tenant.merchantId, tenant.livemode, [])).id
  const checkout = await seedCheckout(api, tenant)
  const requestLog = newId('requestLog', api.time.now)
  await insertRequests(owner, [
    {
      ...tenant,
      id: requestLog,
      requestId: `req_${requestLog}`,
      caller: apiKey,
      method: 'GET',
      route: '/invoices',
      path: '/api/v1/invoices',
      status: 200,
      errorCode: null,
      durationMs: 5,
      createdAt: api.time.now,
    },
  ])
  return {
    invoice: invoice.id,
    event,
    webhookEndpoint,
    apiKey,
    requestLog,
    ...checkout,
    ...(await seedPayout(api, tenant)),
    ...(await seedDeposit(api, tenant)),
  }
}

/** A new address of Litecoin's; nobody has its key. */
export const randomLitecoinAddress = (chain: 'main' | 'regtest'): string =>
  encodeAddress(chain === 'main' ? 'ltc' : 'rltc', randomBytes(20))

const LTC = 100_000_000n

/** A customer's permanent addresses, and a payment to one of them. */
async function seedDeposit(
  api: TestApi,
  tenant: Tenant,
): Promise<{ depositAddress: string; deposit: string }> {
  const { owner, pools } = api.database
  const addressBytes = randomBytes(20)
  const own = {
    keyspace: `litecoin-${tenant.livemode ? 'live' : 'test'}`,
    address: encodeAddress(tenant.livemode ? 'ltc' : 'rltc', addressBytes),
    addressBytes,
  } as const
  const depositAddress = await seedDepositAccount(api.database, tenant, {}, [own])
  const network = tenant.livemode ? 'litecoin-live' : 'litecoin-test'
  const fact = inBlock(randomBytes(32).toString('hex'), LTC, 1, { network })
  const clock = () => api.time.now
  await recordTransfers(
    { pool: pools.watcher, clock },
    { tenant, invoiceId: depositAddress, facts: [fact], tipHeight: 100 },
  )
  const { rows } = await owner.query<{ id: string }>('select id from deposit where account_id = $1', [
    depositAddress,
  ])
  return { depositAddress, deposit: rows[0]?.id ?? '' }
}

/** Money, a destination that can be used, and a payout to it that waits for approval. */
async function seedPayout(
  api: TestApi,
  tenant: Tenant,
): Promise<{ payoutDestination: string; payout: string }> {
  const { now } = api.time
  const payoutDestination = newId('payoutDestination', now)
  await api.database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, $3, 'LTC', $4, 'Treasury', 'somebody', $5, $5)`,
    [
      tenant.merchantId,
      payoutDestination,
      tenant.livemode,
      randomLitecoinAddress(tenant.livemode ? 'main' : 'regtest'),
      new Date('2026-11-01T00:00:00Z'),
    ],
  )
  await creditLitecoin(api.database.owner, tenant, { units: LTC, now })
  const payout = await withTransaction(api.database.owner, tenant, async (tx) => {
    const requested = await requestPayout(tx, {
      tenant,
      source: 'available',
      destinationId: payoutDestination,
      amount: '0.1',
      asset: null,
      by: 'somebody',
      dailyLimits: {},
      requestId: 'req_seed',
      now: new Date(),
    })
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    return requested.payout.id
  })
  return { payoutDestination, payout }
}

/** An active link with dynamic amounts, whose page is a till, and an open session on it. */
async function seedCheckout(
  api: TestApi,
  tenant: Tenant,
): Promise<{ paymentLink: string; checkoutSession: string }> {
  const { owner } = api.database
  const now = api.time.now
  const paymentLink = newId('paymentLink', now)
  const checkoutSession = newId('checkoutSession', now)
  await owner.query(
    `insert into payment_link (merchant_id, id, livemode, slug, name, till, asset, allow_dynamic_amount, active,
       created_at)
     values ($1, $2, $3, $4, 'Coffee', '{"currency":"USD","items":[],"tips":[]}', 'LTC', true, true, $5)`,
    [tenant.merchantId, paymentLink, tenant.livemode, `pl_${randomBytes(5).toString('hex')}`, now],
  )
  await owner.query(
    `insert into checkout_session (merchant_id, id, livemode, payment_link_id, order_reference, usd_cents, created_at,
       expires_at)
     values ($1, $2, $3, $4, $2, 2500, $5, $6)`,
    [
      tenant.merchantId,
      checkoutSession,
      tenant.livemode,
      paymentLink,
      now,
      new Date(now.getTime() + 3_600_000),
    ],
  )
  return { paymentLink, checkoutSession }
}

function eventBody(id: string, tenant: Tenant, resourceId: string): Buffer {
  return Buffer.from(
    JSON.stringify({
      id,
      schema_version: 1,
      event_type: 'invoice.created',
      merchant_id: tenant.merchantId,
      resource_id: resourceId,
      livemode: tenant.livemode,
      created_at: '2026-11-21T12:00:00.000Z',
      sequence: 1,
      request_id: null,
      data: { id: resourceId, status: 'awaiting_payment' },
    }),
  )
}

/** A verified endpoint at an address where nobody listens, with its secret. */
async function seedEndpoint(api: TestApi, tenant: Tenant): Promise<string> {
  const { owner } = api.database
  const id = newId('webhookEndpoint', api.time.now)
  await owner.query(
    `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, status, verified_at, created_at)
     values ($1, $2, $3, 'http://127.0.0.1:9/hook', '{*}', 'enabled', $4, $4)`,
    [tenant.merchantId, id, tenant.livemode, api.time.now],
  )
  const secretId = `whs_${randomBytes(13).toString('hex')}`
  const sealed = api.deps.keyring.seal(
    Buffer.from(`whsec_${randomBytes(32).toString('hex')}`),
    `endpoint_secret/${tenant.merchantId}/${secretId}`,
  )
  await owner.query(
    `insert into endpoint_secret (merchant_id, id, endpoint_id, livemode, secret_sealed, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [tenant.merchantId, secretId, id, tenant.livemode, sealed, api.time.now],
  )
  return id
}
