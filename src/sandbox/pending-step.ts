import { z } from 'zod'

/**
 * The second half of a scenario, kept in the chain's journal until it is done: a chain that starts again takes the
 * step itself, where whoever wanted to take it may be gone.
 */
export const pendingStepSchema = z.object({
  /** The transaction that the scenario began with; it names the step. */
  txid: z.string().regex(/^[0-9a-f]{64}$/),
  /** No block takes that transaction meanwhile. */
  held: z.boolean(),
  /** The raw transaction to send; null: the block of the first one is reorganised away once. */
  hex: z.string().nullable(),
})
export type PendingStep = z.output<typeof pendingStepSchema>
