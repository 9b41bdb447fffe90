import type { MedusaRequest, MedusaResponse } from '@medusajs/framework/http'
import { ContainerRegistrationKeys, Modules, PaymentActions } from '@medusajs/framework/utils'
import { processPaymentWorkflow } from '@medusajs/medusa/core-flows'
import { type InvoiceSnapshot, UnsupportedSchemaVersion, verify, WebhookRejected } from 'paylink-sdk/webhooks'
import { paylinkOptions } from '../../../provider/options.js'

/** Takes Paylink's signed events. 2xx only once the order is made: anything else comes again. */
export async function POST(request: MedusaRequest, response: MedusaResponse): Promise<void> {
  const log = request.scope.resolve(ContainerRegistrationKeys.LOGGER)
  try {
    const body = request.rawBody as Buffer | undefined
    const event = verify(body ?? Buffer.alloc(0), request.headers, paylinkOptions().webhookSecret)
    if (event.kind === 'endpoint_verification') {
      response.json({ challenge: event.data.challenge })
      return
    }
    if (event.event_type === 'invoice.paid' && event.kind === 'invoice') await settle(request, event.data)
    response.sendStatus(200)
  } catch (error) {
    log.error(`paylink: a webhook was not taken: ${String(error)}`)
    if (error instanceof WebhookRejected) response.sendStatus(400)
    else response.sendStatus(error instanceof UnsupportedSchemaVersion ? 503 : 500)
  }
}

/** Makes the order of the session's cart, once: Medusa locks the cart meanwhile, and reads the invoice again. */
async function settle({ scope }: MedusaRequest, { id, metadata, price, usd_amount }: InvoiceSnapshot) {
  const session = metadata?.medusa_session
  if (typeof session !== 'string') return
  const log = scope.resolve(ContainerRegistrationKeys.LOGGER)
  const query = scope.resolve(ContainerRegistrationKeys.QUERY)
  const sessionsWhere = async (
    filters: { readonly id: string } | { readonly payment_collection_id: string },
  ) =>
    (
      await query.graph({
        entity: 'payment_session',
        fields: ['id', 'status', 'payment_collection_id'],
        filters,
      })
    ).data
  const [found] = await sessionsWhere({ id: session })
  if (found === undefined) {
    log.error(
      `paylink: ${id} is paid, but its cart was changed since and has no session ${session}: refund it by hand`,
    )
    return
  }
  // Two presses at once leave two sessions. Nobody is to pay both, and Medusa would ask any of them whether it is paid.
  for (const other of await sessionsWhere({ payment_collection_id: found.payment_collection_id }))
    if (other.status === 'pending' && other.id !== session)
      await scope
        .resolve(Modules.PAYMENT)
        .deletePaymentSession(other.id)
        .catch((error: unknown) => log.error(`paylink: ${other.id} stays open: ${String(error)}`))
  const amount = Number(price?.amount ?? usd_amount)
  await processPaymentWorkflow(scope).run({
    input: { action: PaymentActions.SUCCESSFUL, data: { session_id: session, amount } },
  })
}
