import { base58, bech32, bech32m } from '@scure/base'
import type { z } from 'zod'
import { renderPayment } from '../../../core/invoice/render.ts'
import type { Invoice } from '../../../core/invoice/types.ts'
import { loadLinkNames } from '../../../db/checkout/payment-links.ts'
import { type ImportedInvoice, listImportedInvoices } from '../../../db/invoices/imported-invoices.ts'
import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { listPayments } from '../../../db/invoices/transfers.ts'
import { cancelInvoice, resolveInvoice } from '../../../flows/invoices.ts'
import { listShownInvoices, loadShownInvoice } from '../../../flows/steps/shown-invoices.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { type Tenant, type Tx, withTransaction } from '../../../postgres/transaction.ts'
import { importedInvoiceList, listImportedInvoicesQuery } from '../../../wire/imported-invoice.ts'
import {
  invoiceList,
  invoiceView,
  listInvoicesQuery,
  listPaymentsQuery,
  paymentList,
  resolveInvoiceBody,
} from '../../../wire/invoice.ts'
import { pageOf } from '../../../wire/list.ts'
import { invoiceViewOf } from '../../views/checkout-views.ts'
import { listView } from '../../views/list-view.ts'
import type { ApiDeps } from '../deps.ts'
import type { NetworkView } from '../network-states.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const listInvoicesRoute = defineRoute({
  method: 'get',
  path: '/invoices',
  operationId: 'listInvoices',
  tag: 'Invoices',
  summary: 'List invoices',
  description:
    'Newest first. Filters are combined; `created_after` and `created_before` are exclusive. `address` is empty where it is not one that the signer signed for the invoice.',
  scope: 'invoices:read',
  query: listInvoicesQuery,
  success: { status: 200, description: 'A page of invoices.', schema: invoiceList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const networks = await deps.networks.read()
    const { page, linkNames } = await withReadTransaction(deps, tenant, async (tx) => {
      const page = await listShownInvoices(tx, tenant, filtersOf(query, deps.clock()), deps.issuedAddresses)
      return { page, linkNames: await linkNamesOf(tx, tenant, page.invoices) }
    })
    const data = page.invoices.map((invoice) => invoiceViewOf(deps, networks, invoice, linkNames))
    return listView('/invoices', page.hasMore, data)
  },
})

/** The names of the payment links that these invoices came by. */
const linkNamesOf = (tx: Tx, tenant: Tenant, invoices: readonly Invoice[]) =>
  loadLinkNames(tx, tenant, [...new Set(invoices.flatMap(({ paymentLinkId }) => paymentLinkId ?? []))])

const millisecondsOf = (instant: string | undefined): number | undefined =>
  instant === undefined ? undefined : Date.parse(instant)

const filtersOf = (query: z.output<typeof listInvoicesQuery>, now: Date) => ({
  ...pageOf(query),
  status: query.status,
  asset: query.asset,
  waitingAt: query.attention === 'open' ? now : undefined,
  externalReference: query.external_reference,
  orderReference: query.order_reference,
  paymentLinkId: query.payment_link_id,
  createdAfterMs: millisecondsOf(query.created_after),
  createdBeforeMs: millisecondsOf(query.created_before),
  search: query.q === undefined ? undefined : { text: query.q, addressBytes: addressBytesOf(query.q) },
})

const BECH32_LENGTH_MAX = 90

/** A Solana owner: 32 bytes in base58. */
const SOLANA_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const OWNER_BYTES = 32

/**
 * The witness program of a segwit address (BIP173, BIP350) or the owner that a Solana address is, for finding whose it
 * is; null for any other text.
 */
function addressBytesOf(address: string): Uint8Array | null {
  if (SOLANA_ADDRESS.test(address)) {
    const owner = base58.decode(address)
    if (owner.length === OWNER_BYTES) return owner
  }
  if (address.length > BECH32_LENGTH_MAX || !address.includes('1')) return null
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(address)
    const addressBytes = decoded === undefined ? undefined : coder.fromWordsUnsafe(decoded.words.slice(1))
    if (addressBytes) return addressBytes
  }
  return null
}

export const getInvoiceRoute = defineRoute({
  method: 'get',
  path: '/invoices/:id',
  operationId: 'getInvoice',
  tag: 'Invoices',
  summary: 'Get an invoice',
  scope: 'invoices:read',
  success: { status: 200, description: 'The invoice with its payments.', schema: invoiceView },
  problems: ['address_unverified'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id }) => {
    const networks = await deps.networks.read()
    const { invoice, linkNames } = await withTransaction(deps.pool, tenant, async (tx) => {
      const stored = await loadShownInvoice(tx, tenant, id, deps.issuedAddresses)
      if (stored === null) throw new ApiProblem('not_found')
      return { invoice: stored.invoice, linkNames: await linkNamesOf(tx, tenant, [stored.invoice]) }
    })
    return invoiceViewOf(deps, networks, invoice, linkNames)
  },
})

export const listInvoicePaymentsRoute = defineRoute({
  method: 'get',
  path: '/invoices/:id/payments',
  operationId: 'listInvoicePayments',
  tag: 'Invoices',
  summary: 'List an invoice’s payments',
  description:
    'All payments, newest first; the invoice itself includes at most 20. Dust is not a payment: its sum is in the invoice’s `dust`.',
  scope: 'invoices:read',
  query: listPaymentsQuery,
  success: { status: 200, description: 'A page of payments.', schema: paymentList },
  problems: [],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, query }) => {
    const { networkFacts } = await deps.networks.read()
    const page = await withTransaction(deps.pool, tenant, async (tx) =>
      (await invoiceExists(tx, tenant, id)) ? listPayments(tx, tenant, id, pageOf(query)) : null,
    )
    if (page === null) throw new ApiProblem('not_found')
    const data = page.payments.map((payment) => renderPayment(payment, networkFacts))
    return listView(`/invoices/${id}/payments`, page.hasMore, data)
  },
})

/** An invoice as a commit left it. */
async function changedInvoiceView(deps: ApiDeps, networks: NetworkView, invoice: Invoice) {
  const tenant = { merchantId: invoice.merchantId, livemode: invoice.livemode }
  const linkNames = await withTransaction(deps.pool, tenant, (tx) => linkNamesOf(tx, tenant, [invoice]))
  return invoiceViewOf(deps, networks, invoice, linkNames)
}

export const cancelInvoiceRoute = defineRoute({
  method: 'post',
  path: '/invoices/:id/cancel',
  operationId: 'cancelInvoice',
  tag: 'Invoices',
  summary: 'Cancel an invoice',
  description:
    'Possible while it awaits payment or has expired, and its buyer has not reopened it: then cancel the invoice that the error names. Payments that arrive within the next ten minutes are still followed and put up for your review.',
  scope: 'invoices:write',
  success: { status: 200, description: 'The cancelled invoice.', schema: invoiceView },
  problems: ['invoice_not_cancellable', 'address_unverified'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, requestId }) => {
    const networks = await deps.networks.read()
    const { networkFacts } = networks
    const outcome = await cancelInvoice(deps, { tenant, invoiceId: id, networkFacts, requestId })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'not_cancellable') throw new ApiProblem('invoice_not_cancellable')
    if (outcome.kind === 'reopened')
      throw new ApiProblem('invoice_not_cancellable', {
        message: `The buyer reopened this invoice as ${outcome.as}: cancel that one.`,
      })
    deps.notifier.invoiceChanged(id)
    return changedInvoiceView(deps, networks, outcome.invoice)
  },
})

export const resolveInvoiceRoute = defineRoute({
  method: 'post',
  path: '/invoices/:id/resolve',
  operationId: 'resolveInvoice',
  tag: 'Invoices',
  summary: 'Resolve an invoice that waits for you',
  description:
    '`accept` credits what is confirmed and emits `invoice.paid`; `dismiss` closes the review, and the status is again what the payments say.',
  scope: 'invoices:write',
  live: 'session',
  body: resolveInvoiceBody,
  example: { resolution: 'accept', note: 'The buyer sent the rest in cash.' },
  success: { status: 200, description: 'The resolved invoice.', schema: invoiceView },
  problems: ['invoice_not_resolvable', 'address_unverified'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, body, callerId, requestId }) => {
    const networks = await deps.networks.read()
    const outcome = await resolveInvoice(deps, {
      tenant,
      invoiceId: id,
      resolution: body.resolution,
      paymentIds: body.payment_ids,
      note: body.note ?? null,
      actor: callerId,
      networkFacts: networks.networkFacts,
      requestId,
    })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'not_resolvable') throw new ApiProblem('invoice_not_resolvable')
    deps.notifier.invoiceChanged(id)
    if (outcome.deliveries > 0) deps.notifier.deliveriesWaiting()
    return changedInvoiceView(deps, networks, outcome.invoice)
  },
})

export const listImportedInvoicesRoute = defineRoute({
  method: 'get',
  path: '/imported-invoices',
  operationId: 'listImportedInvoices',
  tag: 'Invoices',
  summary: 'List invoices of the past',
  description:
    'What `paylink import` read from the export of another service: a record, with no money of Paylink behind it. Newest first.',
  scope: 'invoices:read',
  query: listImportedInvoicesQuery,
  success: { status: 200, description: 'A page of them.', schema: importedInvoiceList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withReadTransaction(deps, tenant, (tx) =>
      listImportedInvoices(tx, tenant, pageOf(query), {
        orderReference: query.order_reference ?? null,
        q: query.q ?? null,
      }),
    )
    return listView('/imported-invoices', page.hasMore, page.invoices.map(viewOf))
  },
})

const viewOf = (invoice: ImportedInvoice) => ({
  id: invoice.id,
  object: 'imported_invoice' as const,
  livemode: invoice.livemode,
  source: invoice.source,
  source_id: invoice.sourceId,
  status: invoice.status,
  amount: invoice.amount,
  currency: invoice.currency,
  order_reference: invoice.orderReference,
  customer_email: invoice.customerEmail,
  payments: [...invoice.payments],
  created_at: new Date(invoice.createdAtMs).toISOString(),
  imported_at: invoice.importedAt.toISOString(),
})
