import { randomBytes } from 'node:crypto'
import type { Tenant } from '../../src/db/transaction.ts'
import { newId } from '../../src/new-id.ts'
import type { TestApi } from './api.ts'
import { seedInvoice } from './seed.ts'

export type ResourceKind = 'invoice' | 'webhookEndpoint' | 'event'

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
  return { invoice: invoice.id, event, webhookEndpoint: await seedEndpoint(api, tenant) }
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
