import { readFile } from 'node:fs/promises'
import { expect, expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import type * as api from '../../packages/sdk/src/api.ts'
import * as entry from '../../packages/sdk/src/index.ts'
import { sdkSource } from '../../scripts/sdk-source.mjs'
import type { SUBSCRIBABLE_EVENT_TYPES } from '../../src/core/endpoint/subscriptions.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { openApiDocument } from '../../src/http/docs/openapi.ts'
import type { balanceEntryView } from '../../src/wire/account.ts'
import type { ErrorCode } from '../../src/wire/errors.ts'
import type { attemptView } from '../../src/wire/event.ts'
import type { createInvoiceBody, invoiceView, listInvoicesQuery } from '../../src/wire/invoice.ts'
import type { checkoutSessionView, updatePaymentLinkBody } from '../../src/wire/payment-link.ts'
import type { payoutView } from '../../src/wire/payout.ts'
import type { webhookEndpointView } from '../../src/wire/webhook-endpoint.ts'

/** The SDK's types and the server's schemas cannot drift apart: after a change of routes or schemas, `npm run sdk`. */

const FOLDER = new URL('../../packages/sdk/src/', import.meta.url)

test('the generated files are what the routes of today give; npm run sdk writes them', async () => {
  const routes = ROUTES.filter((route) => route.dashboardOnly !== true)
  const source = sdkSource(openApiDocument(routes, 'https://pay.example.com'))
  expect(await readFile(new URL('api.ts', FOLDER), 'utf8')).toBe(source.api)
  expect(await readFile(new URL('tables.ts', FOLDER), 'utf8')).toBe(source.tables)
})

test('every type of the API is exported, and the client besides', async () => {
  const text = await readFile(new URL('api.ts', FOLDER), 'utf8')
  const names = [...text.matchAll(/^export type (\w+) =/gm)].map((match) => match[1] ?? '')
  const index = await readFile(new URL('index.ts', FOLDER), 'utf8')
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => name !== 'Operations' && !index.includes(`  ${name},\n`))).toEqual([])
  expect(Object.keys(entry).sort()).toEqual([
    'ApiError',
    'ConnectionError',
    'Paylink',
    'PaylinkError',
    'UnexpectedAnswer',
  ])
})

type Plain<Value> = Value extends object ? { -readonly [Key in keyof Value]: Plain<Value[Key]> } : Value
type SameAs<Schema extends z.ZodType> = Plain<z.output<Schema>>

test('what the generator makes of a schema is the type that the schema itself has', () => {
  expectTypeOf<Plain<api.Invoice>>().toEqualTypeOf<SameAs<typeof invoiceView>>()
  expectTypeOf<Plain<api.BalanceEntry>>().toEqualTypeOf<SameAs<typeof balanceEntryView>>()
  expectTypeOf<Plain<api.Attempt>>().toEqualTypeOf<SameAs<typeof attemptView>>()
  expectTypeOf<Plain<api.CheckoutSession>>().toEqualTypeOf<SameAs<typeof checkoutSessionView>>()
  expectTypeOf<Plain<api.Payout>>().toEqualTypeOf<SameAs<typeof payoutView>>()
  expectTypeOf<Plain<api.WebhookEndpoint>>().toEqualTypeOf<SameAs<typeof webhookEndpointView>>()
  expectTypeOf<Plain<api.CreateInvoice>>().toEqualTypeOf<SameAs<typeof createInvoiceBody>>()
  expectTypeOf<api.ErrorCode>().toEqualTypeOf<ErrorCode>()
  expectTypeOf<api.EventType>().toEqualTypeOf<(typeof SUBSCRIBABLE_EVENT_TYPES)[number]>()
  // A link's duration is one of a few numbers: the document says which, the schema's own type only that it is a number.
  expectTypeOf<NonNullable<api.UpdatePaymentLink['duration_minutes']>>().toExtend<
    NonNullable<z.output<typeof updatePaymentLinkBody>['duration_minutes']>
  >()
  type Asked = NonNullable<api.Operations['listInvoices']['query']>
  expectTypeOf<Plain<Asked>>().toEqualTypeOf<SameAs<typeof listInvoicesQuery>>()
})
