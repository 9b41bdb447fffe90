import { z } from 'zod'
import { amountView, coinAmount, idView } from './fields.ts'
import { assetName } from './invoice.ts'

/** What a sandbox chain can do to an invoice. */
export const TEST_SCENARIOS = [
  'exact',
  'under',
  'over',
  'two_parts',
  'late',
  'double_spend',
  'reorg',
] as const

const SCENARIO_DESCRIPTION = `What happens on chain:

- \`exact\` pays what remains. \`under\` pays 40% of it, \`over\` 160%.
- \`two_parts\` pays half, and the rest once the first part is confirmed.
- \`late\` moves the invoice's deadline into the past, lets it expire, then pays what remains.
- \`double_spend\` pays unconfirmed; then another transaction, which pays you nothing, takes the coin.
- \`reorg\` pays; once confirmed, the block leaves the chain, and some seconds later the payment is in a block again.`

export const payTestInvoiceBody = z
  .strictObject({
    scenario: z
      .enum(TEST_SCENARIOS, { error: `Must be one of ${TEST_SCENARIOS.join(', ')}` })
      .meta({ description: SCENARIO_DESCRIPTION }),
  })
  .meta({ id: 'PayTestInvoice' })

export const testPaymentView = z
  .object({
    object: z.literal('test_payment'),
    invoice_id: idView('inv'),
    scenario: z.enum(TEST_SCENARIOS),
    txids: z.array(z.string()).meta({
      description:
        'The transactions, in the order in which they are sent; all are signed, and later ones may not be sent yet.',
    }),
  })
  .meta({ id: 'TestPayment' })

/** Test coins are many, and no chain of theirs has them without end. */
export const TEST_DEPOSIT_COINS_MAX = 1_000

export const payTestDepositBody = z
  .strictObject({
    asset: assetName,
    amount: coinAmount.meta({ description: `In coins, at most ${TEST_DEPOSIT_COINS_MAX}.` }),
  })
  .meta({ id: 'PayTestDeposit' })

export const testDepositView = z
  .object({
    object: z.literal('test_deposit'),
    deposit_address_id: idView('da'),
    asset: assetName,
    amount: amountView,
    address: z.string().meta({ description: 'Where it was sent: the customer’s address for this asset.' }),
  })
  .meta({ id: 'TestDeposit' })
