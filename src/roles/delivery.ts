import { EVENT_FORMATS } from '../compat/event-formats.ts'
import { countThrottled, readOldestDue } from '../db/delivery/endpoint-queues.ts'
import { startDeliveryWorker } from '../delivery/worker.ts'
import { mailFrom, openMail } from '../mail/mail.ts'
import { startBuyerEmails } from '../mail/write-buyer-emails.ts'
import { startNotices } from '../mail/write-notices.ts'
import type { Opener } from '../secrets/keyring.ts'
import { buyerEmail } from '../web/checkout/buyer-email.ts'
import { receiptEmail } from '../web/checkout/receipt-email.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** Sends the deliveries that the other roles wrote, and the emails to merchants and buyers. */
export async function startDeliveryRole(
  context: RoleContext & { readonly keyring: Opener },
): Promise<RunningRole> {
  const { activity, config, clock, log, keyring, metrics, poolOf, urls } = context
  const pool = poolOf('delivery')
  const worker = await startDeliveryWorker({
    pool,
    clock,
    log,
    keyring,
    listenUrl: urls.delivery,
    allowPrivateTest: config.webhookAllowPrivate,
    staging: config.staging,
    formats: EVENT_FORMATS,
    activity,
    onAttempt: (code) => metrics.deliveryAttempts.inc({ code }),
    onUnrecorded: (end) => metrics.deliveriesUnrecorded.inc({ end }),
  })
  metrics.gauge('paylink_deliveries_in_flight', 'Webhook requests being made', async () => [
    { value: worker.report().inFlight },
  ])
  metrics.gauge('paylink_delivery_halted', '1 while nothing is sent, because clocks disagree', async () => [
    { value: worker.report().halted === null ? 0 : 1 },
  ])
  metrics.gauge('paylink_delivery_oldest_due_seconds', 'How late the latest delivery is', async () => [
    { value: (await readOldestDue(pool)).seconds },
  ])
  metrics.gauge('paylink_delivery_throttled_endpoints', 'Endpoints that fail and are throttled', async () => [
    { value: await countThrottled(pool) },
  ])
  metrics.gauge(
    'paylink_delivery_throttled_oldest_due_seconds',
    'How late the latest delivery to a throttled endpoint is',
    async () => [{ value: (await readOldestDue(pool)).throttledSeconds }],
  )
  const { baseUrl, smtpUrl, staging } = config
  const mail = openMail({ smtpUrl, from: mailFrom(baseUrl), log, staging })
  const notices = startNotices({ pool, log, baseUrl, mail })
  const buyerEmails = startBuyerEmails({
    pool,
    log,
    mail,
    keyring,
    write: receiptEmail,
    writeInvoice: buyerEmail,
    sendsMail: smtpUrl !== null,
    onEnd: (kind, reason) => metrics.buyerEmails.inc({ kind, outcome: reason ?? 'sent' }),
  })
  return {
    stop: async () => {
      await Promise.all([worker.stop(), notices.stop(), buyerEmails.stop()])
      await mail.close()
    },
  }
}
