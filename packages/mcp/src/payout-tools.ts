import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { Paylink } from 'paylink-sdk'
import { z } from 'zod'
import { CREATES, idempotencyKey, json, limit, optionsOf, READS, startingAfter } from './tool.ts'

/** Approving, and adding a destination, is for people: no tool does it. */
export function addPayoutTools(server: McpServer, { balances, payouts, payoutDestinations }: Paylink): void {
  server.registerTool(
    'list_balances',
    {
      title: 'List balances',
      description:
        'What the merchant has, by coin: available, pending, set aside. Needs the scope balances:read.',
      inputSchema: z.strictObject({}),
      annotations: READS,
    },
    async () => json({ balances: (await balances.list().page()).data }),
  )
  server.registerTool(
    'list_payout_destinations',
    {
      title: 'List payout destinations',
      description: 'The addresses that payouts may go to. Needs the scope payouts:read.',
      inputSchema: z.strictObject({ limit, starting_after: startingAfter }),
      annotations: READS,
    },
    async (query) => {
      const page = await payoutDestinations.list(query).page()
      return json({ payout_destinations: page.data, has_more: page.has_more })
    },
  )
  server.registerTool(
    'draft_payout',
    {
      title: 'Draft a payout',
      description:
        'Requests a payout to a destination that a person added before. Sets the amount aside; nothing is sent until a person approves it at the dashboard. Needs the scope payouts:write.',
      inputSchema: z.strictObject({
        idempotency_key: idempotencyKey,
        destination_id: z.string().describe('dst_…'),
        amount: z.string().describe("In coins of the destination's asset; the network fee is taken from it"),
      }),
      annotations: CREATES,
    },
    async ({ idempotency_key: key, ...body }) => json(await payouts.create(body, optionsOf(key))),
  )
  server.registerTool(
    'find_payouts',
    {
      title: 'Find payouts',
      description: 'Payouts, newest first. Needs the scope payouts:read.',
      inputSchema: z.strictObject({
        status: z.enum(['requested', 'approved', 'submitted', 'confirmed', 'rejected', 'failed']).optional(),
        limit,
        starting_after: startingAfter,
      }),
      annotations: READS,
    },
    async (query) => {
      const page = await payouts.list(query).page()
      return json({ payouts: page.data, has_more: page.has_more })
    },
  )
}
