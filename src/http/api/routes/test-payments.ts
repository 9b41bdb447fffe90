import { COINS } from '../../../core/assets.ts'
import { parseCoinAmount } from '../../../core/money.ts'
import { depositAccountExists } from '../../../db/deposits/deposit-accounts.ts'
import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { listShownAddresses } from '../../../flows/deposit-addresses.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import {
  payTestDepositBody,
  payTestInvoiceBody,
  TEST_DEPOSIT_COINS_MAX,
  testDepositView,
  testPaymentView,
} from '../../../wire/test-payment.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const payTestInvoiceRoute = defineRoute({
  method: 'post',
  path: '/test/invoices/:id/pay',
  operationId: 'payTestInvoice',
  tag: 'Test mode',
  summary: 'Pay a test invoice on its sandbox chain',
  description:
    'Sends real transactions on the sandbox chain that stands in for a network without a node; everything after that is as with any payment. Steps that wait for one another go on after the answer.',
  scope: 'invoices:write',
  live: 'test_only',
  body: payTestInvoiceBody,
  example: { scenario: 'exact' },
  success: { status: 200, description: 'The payment is on its way.', schema: testPaymentView },
  problems: ['sandbox_not_available'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, body }) => {
    const { scenario } = body
    if (deps.sandbox === undefined) {
      const found = await withTransaction(deps.pool, tenant, (tx) => invoiceExists(tx, tenant, id))
      throw new ApiProblem(found ? 'sandbox_not_available' : 'not_found')
    }
    const paid = await deps.sandbox.payInvoice({ tenant, invoiceId: id, scenario, source: 'api' })
    switch (paid.kind) {
      case 'sent':
        return { object: 'test_payment' as const, invoice_id: id, scenario, txids: [...paid.txids] }
      case 'not_found':
        throw new ApiProblem('not_found')
      case 'sandbox_not_available':
        throw new ApiProblem('sandbox_not_available', { message: paid.reason })
    }
  },
})

export const payTestDepositRoute = defineRoute({
  method: 'post',
  path: '/test/deposit-addresses/:id/pay',
  operationId: 'payTestDeposit',
  tag: 'Test mode',
  summary: 'Pay to a customer’s test address',
  description:
    'Sends coins on the sandbox chain to the customer’s permanent address, as the customer would. Everything after that is as with any deposit.',
  scope: 'deposits:write',
  live: 'test_only',
  body: payTestDepositBody,
  example: { asset: 'LTC', amount: '0.5' },
  success: { status: 200, description: 'The payment is on its way.', schema: testDepositView },
  problems: ['sandbox_not_available'],
  exists: depositAccountExists,

  handler: async (deps, { tenant, id, body: { asset, amount } }) => {
    const { decimals, keyFamily } = COINS[asset]
    const units = parseCoinAmount(amount, decimals)
    if (units === null || units === 0n || units > BigInt(TEST_DEPOSIT_COINS_MAX) * 10n ** BigInt(decimals))
      throw new ApiProblem('parameter_invalid', {
        param: 'amount',
        message: `Must be from the asset's smallest unit to ${TEST_DEPOSIT_COINS_MAX} coins.`,
      })
    const shown = await withTransaction(deps.pool, tenant, async (tx) =>
      (await depositAccountExists(tx, tenant, id))
        ? listShownAddresses(tx, tenant, [id], deps.issuedAddresses)
        : null,
    )
    if (shown === null) throw new ApiProblem('not_found')
    const address = shown.get(id)?.find(({ keyspace }) => keyspace === `${keyFamily}-test`)?.address
    if (address === undefined)
      throw new ApiProblem('parameter_invalid', {
        param: 'asset',
        message: 'The customer has no address for this asset.',
      })
    const isSent = await deps.sandbox?.sendCoins({ asset, address, amount: units, afterMs: 0 })
    if (isSent !== true)
      throw new ApiProblem('sandbox_not_available', {
        message: `No sandbox chain could send ${amount} of this asset: pay with a wallet.`,
      })
    return { object: 'test_deposit' as const, deposit_address_id: id, asset, amount, address }
  },
})
