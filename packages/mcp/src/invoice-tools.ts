import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CreateInvoice, Invoice, Paylink } from 'paylink-sdk'
import { z } from 'zod'
import { explainInvoice } from './explain-invoice.ts'
import {
  CREATES,
  idempotencyKey,
  json,
  limit,
  optionsOf,
  pick,
  price,
  READS,
  startingAfter,
  text,
} from './tool.ts'

const invoiceId = z.string().describe('inv_…')
const PAYMENTS_TOLD_MAX = 100
/** Of an invoice in a list. */
const LISTED = [
  'id',
  'status',
  'review_reason',
  'usd_amount',
  'price',
  'asset',
  'amount',
  'amount_confirmed',
  'external_reference',
  'order_reference',
  'description',
  'customer_email',
  'created_at',
  'expires_at',
  'paid_at',
] as const satisfies readonly (keyof Invoice)[]

export function addInvoiceTools(server: McpServer, paylink: Paylink): void {
  addCreate(server, paylink)
  addReads(server, paylink)
}

function addCreate(server: McpServer, { invoices }: Paylink): void {
  server.registerTool(
    'create_invoice',
    {
      title: 'Create an invoice',
      description:
        'Creates an invoice in US dollars (usd_amount), in another currency (price) or in coins (amount and asset). Give checkout_url to the buyer: the page to pay on. Needs the scope invoices:write.',
      inputSchema: z.strictObject({
        idempotency_key: idempotencyKey,
        usd_amount: z.string().optional().describe('Such as 49.99'),
        price,
        asset: z
          .string()
          .optional()
          .describe('Such as BTC or USDC_BASE: the coin to begin with, one that the shop accepts'),
        amount: z.string().optional().describe('In coins, in place of usd_amount'),
        allow_asset_selection: z.boolean().optional().describe('Whether the buyer may choose another coin'),
        customer_email: z.string().optional(),
        external_reference: z.string().optional().describe("The merchant's own reference"),
        description: z
          .string()
          .optional()
          .describe('What the buyer pays for: shown on the page and the receipt'),
      }),
      annotations: CREATES,
    },
    async ({ idempotency_key: key, ...body }) =>
      json(await invoices.create(body as CreateInvoice, optionsOf(key))),
  )
}

function addReads(server: McpServer, { invoices }: Paylink): void {
  server.registerTool(
    'get_invoice',
    {
      title: 'Get an invoice',
      description: 'The whole invoice with its payments. Needs the scope invoices:read.',
      inputSchema: z.strictObject({ invoice_id: invoiceId }),
      annotations: READS,
    },
    async ({ invoice_id: id }) => json(await invoices.get(id)),
  )
  server.registerTool(
    'find_invoices',
    {
      title: 'Find invoices',
      description:
        'Invoices, newest first: of a customer, by reference, by status, or all that need a person. Needs the scope invoices:read.',
      inputSchema: z.strictObject({
        q: z
          .string()
          .optional()
          .describe(
            'The beginning of an id, reference or email address, letters as written; a whole deposit address or transaction id',
          ),
        status: z
          .enum([
            'awaiting_payment',
            'payment_detected',
            'confirming',
            'partially_paid',
            'paid',
            'overpaid',
            'expired',
            'cancelled',
            'manual_review',
          ])
          .optional(),
        needs_review: z
          .boolean()
          .default(false)
          .describe('Only those that wait for the decision of a person'),
        created_after: z.string().optional().describe('ISO 8601, such as 2026-11-01T00:00:00Z'),
        created_before: z.string().optional(),
        limit,
        starting_after: startingAfter,
      }),
      annotations: READS,
    },
    async ({ needs_review: needsReview, ...query }) => {
      const page = await invoices.list({ ...query, ...(needsReview ? { attention: 'open' } : {}) }).page()
      return json({ invoices: page.data.map((invoice) => pick(invoice, LISTED)), has_more: page.has_more })
    },
  )
  server.registerTool(
    'explain_invoice',
    {
      title: 'Explain an invoice',
      description:
        'Why an invoice has its status: what came and when, why it expired or waits for a person, and what can be done. Needs the scope invoices:read.',
      inputSchema: z.strictObject({ invoice_id: invoiceId }),
      annotations: READS,
    },
    async ({ invoice_id: id }) => {
      const invoice = await invoices.get(id)
      const payments =
        invoice.payments_count > invoice.payments.length
          ? await invoices.payments(id).take(PAYMENTS_TOLD_MAX)
          : invoice.payments
      return text(explainInvoice(invoice, payments, new Date()))
    },
  )
}
