import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type Config, loadProcessConfig } from '../config/config.ts'
import { INVOICE_EVENT_TYPES, type InvoiceEventType } from '../core/invoice/types.ts'
import { describeError } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import type { TEST_SCENARIOS } from '../wire/test-payment.ts'
import type { Output } from './command-context.ts'
import { apiErrorShape, requestOwnApi } from './request-own-api.ts'
import { readDemoShop } from './seed-sandbox.ts'
import { UsageError } from './usage-error.ts'

/** What has to happen for an event to come. */
const STEPS: {
  readonly [type in InvoiceEventType]: readonly ((typeof TEST_SCENARIOS)[number] | 'cancel')[]
} = {
  'invoice.created': [],
  'invoice.payment_detected': ['exact'],
  'invoice.confirming': ['exact'],
  'invoice.paid': ['exact'],
  'invoice.partially_paid': ['under'],
  'invoice.overpaid': ['over'],
  'invoice.expired': ['late'],
  'invoice.manual_review': ['cancel', 'exact'],
}
const USD_AMOUNT = '10'
const EVENT_MS_MAX = 60_000
const POLL_MS = 200

const invoiceShape = z.object({ id: z.string(), checkout_url: z.string() })
const eventsShape = z.object({ data: z.array(z.object({ id: z.string(), event_type: z.string() })) })

/**
 * `paylink trigger EVENT`: makes an invoice of the demo shop and what its event needs on the sandbox's chain, and waits
 * for the event, which goes where every other one goes. Nothing is made up.
 */
export async function triggerCommand(
  eventType: string,
  options: { readonly asset: string },
  output: Output,
): Promise<number> {
  const type = INVOICE_EVENT_TYPES.find((each) => each === eventType)
  if (type === undefined) throw new UsageError(`use one of ${INVOICE_EVENT_TYPES.join(', ')}`)
  const config = loadProcessConfig()
  const shop = await readDemoShop(config)
  if (shop === null) throw new UsageError('there is no demo shop here: start the sandbox first')
  const ask = (method: string, path: string, body?: object) =>
    requestApi(config, shop.api_key, { method, path, body })
  const invoice = invoiceShape.parse(
    await ask('POST', '/invoices', { usd_amount: USD_AMOUNT, asset: options.asset }),
  )
  output.line(`Invoice ${invoice.id}: ${invoice.checkout_url}`)
  for (const step of STEPS[type]) {
    if (step === 'cancel') await ask('POST', `/invoices/${invoice.id}/cancel`)
    else await ask('POST', `/test/invoices/${invoice.id}/pay`, { scenario: step })
  }
  const giveUpAt = Date.now() + EVENT_MS_MAX
  for (;;) {
    const query = new URLSearchParams({ resource_id: invoice.id, event_type: type })
    const [event] = eventsShape.parse(await ask('GET', `/events?${query}`)).data
    if (event !== undefined) {
      output.line(`✓ ${type} ${event.id}`)
      return 0
    }
    if (Date.now() > giveUpAt)
      throw new StartRefused(
        `${type} did not come within ${EVENT_MS_MAX / 1_000} s: see the log of paylink start`,
      )
    await pause(POLL_MS)
  }
}

/** What the running service answers. Throws `StartRefused` where it does not run, or says no. */
async function requestApi(
  config: Config,
  apiKey: string,
  { method, path, body }: { method: string; path: string; body: object | undefined },
): Promise<unknown> {
  const answer = await requestOwnApi(config, apiKey, method, `/api/v1${path}`, body).catch(
    (error: unknown) => {
      throw new StartRefused(
        `nothing answers at port ${config.port}: run paylink start beside this (${describeError(error)})`,
        { cause: error },
      )
    },
  )
  if (answer.status < 300) return answer.body
  const refused = apiErrorShape.safeParse(answer.body)
  throw new StartRefused(
    refused.success ? refused.data.error.message : `${method} ${path} answers ${answer.status}`,
  )
}
