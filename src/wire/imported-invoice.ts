import { z } from 'zod'
import { idView, text, timestamp } from './fields.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

/** An invoice of the past, as the service that it was made with exported it. */
export const importedInvoiceView = z
  .object({
    id: idView('imp'),
    object: z.literal('imported_invoice'),
    livemode: z.boolean(),
    source: z.string().meta({ description: 'Where it comes from.', examples: ['btcpay'] }),
    source_id: z.string().meta({ description: 'Its id there.' }),
    status: z.string().meta({ description: 'In the words of its source.' }),
    amount: z.string().meta({ description: 'As it was exported, in `currency`.' }),
    currency: z.string(),
    order_reference: z.string().nullable(),
    customer_email: z.string().nullable(),
    payments: z.array(
      z.object({ id: z.string(), coin: z.string(), amount: z.string(), received_at: timestamp.nullable() }),
    ),
    created_at: timestamp,
    imported_at: timestamp,
  })
  .meta({ id: 'ImportedInvoice' })

export const importedInvoiceList = listOf(importedInvoiceView)

/** `GET /imported-invoices`. */
export const listImportedInvoicesQuery = z
  .strictObject({
    ...listParameters('imp'),
    order_reference: text(1, 255).meta({ description: 'Only those of this order.' }).optional(),
    q: text(1, 255)
      .meta({ description: 'A whole order, id at the source or email address, in any case of letters.' })
      .optional(),
  })
  .superRefine(refuseTwoPositions)
