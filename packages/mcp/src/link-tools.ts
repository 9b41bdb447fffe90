import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CreatePaymentLink, Paylink } from 'paylink-sdk'
import { z } from 'zod'
import { CREATES, idempotencyKey, json, limit, optionsOf, price, READS, startingAfter } from './tool.ts'

export function addLinkTools(server: McpServer, { paymentLinks }: Paylink): void {
  server.registerTool(
    'create_payment_link',
    {
      title: 'Create a payment link',
      description:
        'Creates a page that many buyers can pay on. Give usd_amount, price, or allow_dynamic_amount for a price that the buyer or the shop names. Needs the scope payment_links:write.',
      inputSchema: z.strictObject({
        idempotency_key: idempotencyKey,
        name: z.string().describe('What the buyer pays for'),
        usd_amount: z.string().optional().describe('Such as 49.99'),
        price,
        allow_dynamic_amount: z.boolean().optional(),
        buyer_amount: z
          .strictObject({
            currency: z.string().optional().describe('Such as EUR; USD unless given'),
            minimum: z.string().optional().describe('Such as 5.00'),
            maximum: z.string().optional(),
            suggested: z.array(z.string()).optional().describe('At most six, offered with one press'),
          })
          .optional()
          .describe('For tips, donations and top-ups, with allow_dynamic_amount: what buyers may pay'),
      }),
      annotations: CREATES,
    },
    async ({ idempotency_key: key, ...body }) =>
      json(await paymentLinks.create(body as CreatePaymentLink, optionsOf(key))),
  )
  server.registerTool(
    'find_payment_links',
    {
      title: 'Find payment links',
      description: 'Payment links, newest first. Needs the scope payment_links:read.',
      inputSchema: z.strictObject({
        q: z.string().optional().describe('Part of a name or an id'),
        limit,
        starting_after: startingAfter,
      }),
      annotations: READS,
    },
    async (query) => {
      const page = await paymentLinks.list(query).page()
      return json({ payment_links: page.data, has_more: page.has_more })
    },
  )
}
