import { z } from 'zod'
import { NETWORKS } from '../core/assets.ts'
import { amountView, id, idView, line, text, timestamp } from './fields.ts'
import { assetName, paymentView, rateView } from './invoice.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

const customerReference = line(1, 255)
const customerReferenceView = z.string().meta({ examples: ['customer-4711'] })

/** `POST /deposit-addresses`. */
export const createDepositAddressBody = z
  .strictObject({
    customer_reference: customerReference.meta({
      description: 'Your own reference of the customer. The same reference has the same addresses for ever.',
    }),
  })
  .meta({ id: 'CreateDepositAddress' })

export const depositAddressView = z
  .object({
    id: idView('da'),
    object: z.literal('deposit_address'),
    livemode: z.boolean(),
    customer_reference: customerReferenceView,
    addresses: z
      .array(
        z.object({
          family: z.enum(['bitcoin', 'litecoin', 'evm', 'solana']),
          address: z.string(),
          networks: z.array(z.enum(NETWORKS)).meta({
            description: 'Where money to this address is seen now. On any other network it is not.',
          }),
          assets: z.array(assetName).meta({ description: 'The coins that you accept there now.' }),
        }),
      )
      .meta({
        description:
          'One for each family of chains. A family that had none to give out is missing: ask again for the same customer.',
      }),
    created_at: timestamp,
  })
  .meta({ id: 'DepositAddress' })

export const depositAddressList = listOf(depositAddressView)

/** `GET /deposit-addresses`. */
export const listDepositAddressesQuery = z
  .strictObject({
    ...listParameters('da'),
    customer_reference: text(1, 255).meta({ description: 'Only those of this customer.' }).optional(),
  })
  .superRefine(refuseTwoPositions)

const payment = paymentView.shape

export const depositView = z
  .object({
    id: idView('dep'),
    object: z.literal('deposit'),
    livemode: z.boolean(),
    deposit_address_id: idView('da'),
    customer_reference: customerReferenceView,
    address: z.string(),
    network: z.enum(NETWORKS),
    asset: payment.asset,
    amount: amountView,
    usd_amount: z.string().nullable().meta({
      description:
        'What it was worth when it came. Null where no price was known, and while `review_reason` is not null.',
    }),
    rate: rateView.nullable().meta({ description: 'The price when it came, and where it came from.' }),
    status: payment.status.meta({
      description:
        '`confirmed` is final: credit it then. `replaced` and `reorged`: it has left the mempool or the chain.',
    }),
    txid: z.string(),
    output_index: z.int(),
    transfers_count: z.int().meta({ description: 'How many outputs of the transaction the amount sums.' }),
    confirmations: payment.confirmations,
    confirmations_required: payment.confirmations_required,
    finality: payment.finality,
    review_reason: z.enum(['wrong_asset']).nullable().meta({
      description:
        '`wrong_asset`: a coin that Paylink does not pay out. It is in suspense, and no event tells of it.',
    }),
    detected_at: timestamp,
    confirmed_at: timestamp.nullable(),
  })
  .meta({ id: 'Deposit' })

export const depositList = listOf(depositView)

/** `GET /deposits`. */
export const listDepositsQuery = z
  .strictObject({
    ...listParameters('dep'),
    deposit_address_id: id('da').meta({ description: 'Only those to these addresses.' }).optional(),
  })
  .superRefine(refuseTwoPositions)
