import { z } from 'zod'
import { PAYOUT_STATUSES } from '../core/payout/payout.ts'
import { amountView, coinAmount, id, idView, text, timestamp } from './fields.ts'
import { assetName } from './invoice.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

/** `POST /payout-destinations`. */
export const createPayoutDestinationBody = z
  .strictObject({
    asset: assetName,
    address: text(1, 120).meta({
      description: 'Where the money goes. Checked for the network of the mode and for typing errors.',
    }),
    name: text(1, 120).meta({ description: 'What it is to you, such as "Treasury".' }),
  })
  .meta({ id: 'CreatePayoutDestination' })

export const payoutDestinationView = z
  .object({
    id: idView('dst'),
    object: z.literal('payout_destination'),
    livemode: z.boolean(),
    asset: assetName,
    address: z.string(),
    name: z.string(),
    usable_at: timestamp.meta({
      description: 'From then on payouts may go there: a day after it was added in live mode.',
    }),
    digest: z
      .string()
      .meta({ description: 'SHA-256 of asset, mode and address, to compare with what you wrote down.' }),
    created_at: timestamp,
  })
  .meta({ id: 'PayoutDestination' })
export const payoutDestinationList = listOf(payoutDestinationView)
export const listPayoutDestinationsQuery = z
  .strictObject({
    ...listParameters('dst'),
    asset: assetName.meta({ description: 'Only destinations of this asset.' }).optional(),
  })
  .superRefine(refuseTwoPositions)

/** `POST /payouts`. */
export const createPayoutBody = z
  .strictObject({
    destination_id: id('dst'),
    amount: coinAmount.meta({
      description: 'What leaves your balance, in coins. The network fee is taken from it.',
    }),
    asset: assetName
      .meta({ description: "The destination's asset unless given; it cannot be another one." })
      .optional(),
  })
  .meta({ id: 'CreatePayout' })

export const payoutView = z
  .object({
    id: idView('po'),
    object: z.literal('payout'),
    livemode: z.boolean(),
    status: z.enum(PAYOUT_STATUSES),
    asset: assetName,
    amount: amountView.meta({ description: 'What left the available balance.' }),
    network_fee: amountView.meta({
      description: 'Taken from the amount: an estimate until the payout is submitted, then what it is.',
    }),
    net_amount: amountView.meta({ description: 'What reaches the destination.' }),
    destination_id: idView('dst'),
    destination: z.string().meta({ description: 'The whole address.' }),
    requested_by: z.string().meta({ description: 'The API key or the person.' }),
    approved_by: z.string().nullable(),
    txid: z
      .string()
      .nullable()
      .meta({ description: 'May change while the payout is submitted: a higher fee makes a new one.' }),
    failure_code: z.string().nullable().meta({ description: 'Why it failed; see the guide.' }),
    created_at: timestamp,
    approved_at: timestamp.nullable(),
    submitted_at: timestamp.nullable(),
    confirmed_at: timestamp.nullable(),
  })
  .meta({ id: 'Payout' })
export const payoutList = listOf(payoutView)

/** base64url without padding, as WebAuthn's JSON has it. */
const webauthnBytes = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[\w-]+$/)

/** `POST /payouts/:id/approve`. */
export const approvePayoutBody = z
  .strictObject({
    passkey: z
      .strictObject({
        credential_id: webauthnBytes,
        authenticator_data: webauthnBytes,
        client_data_json: webauthnBytes,
        signature: webauthnBytes,
      })
      .meta({
        description:
          'Live mode: the WebAuthn assertion, in base64url, over the `challenge` of `GET /payouts/:id/approval`.',
      })
      .optional(),
    code: z
      .string()
      .regex(/^\d{6}$/)
      .meta({
        description: 'Live mode, where you have no passkey: the 6-digit code of your authenticator app.',
      })
      .optional(),
  })
  .meta({ id: 'ApprovePayout' })

/** `GET /payouts/:id/approval`. */
export const payoutApprovalView = z
  .object({
    object: z.literal('payout_approval'),
    payout_id: idView('po'),
    livemode: z.boolean(),
    method: z.enum(['none', 'passkey', 'code', 'not_ready']).meta({
      description:
        'What your approval needs: nothing more in test mode; `not_ready`: none of your passkeys and authenticator apps has been known for 24 hours.',
    }),
    challenge: z.string().meta({ description: 'What your passkey signs, in base64url.' }),
    passkeys: z.array(z.string()).meta({ description: 'Ids of your passkeys, in base64url.' }),
    ready_at: timestamp.nullable().meta({ description: 'From when you can approve, where not yet.' }),
  })
  .meta({ id: 'PayoutApproval' })

/** `GET /payout-destinations/:id/quote`. */
export const payoutQuoteQuery = z.strictObject({
  amount: coinAmount
    .meta({ description: 'What would leave your balance, in coins. Absent: all that is available.' })
    .optional(),
})
export const payoutQuoteView = z
  .object({
    object: z.literal('payout_quote'),
    livemode: z.boolean(),
    asset: assetName,
    amount: amountView.meta({ description: 'What would leave the available balance.' }),
    network_fee: amountView.meta({ description: 'Taken from the amount: an estimate of this moment.' }),
    network_fee_max: amountView.meta({ description: 'What the fee may become at most.' }),
    net_amount: amountView.meta({ description: 'What would reach the destination.' }),
    destination_id: idView('dst'),
    destination: z.string().meta({ description: 'The whole address.' }),
  })
  .meta({ id: 'PayoutQuote' })
export const listPayoutsQuery = z
  .strictObject({
    ...listParameters('po'),
    status: z.enum(PAYOUT_STATUSES, { error: 'Must be a status of a payout' }).optional(),
    asset: assetName.meta({ description: 'Only payouts in this asset.' }).optional(),
    q: text(1, 255)
      .meta({
        description:
          'Part of an id, address, transaction id or name of a destination, in any case of letters; among the newest 10,000.',
      })
      .optional(),
  })
  .superRefine(refuseTwoPositions)
