import { setTimeout as pause } from 'node:timers/promises'
import { renderUnicodeCompact } from 'uqr'
import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { createApiKey } from '../../flows/create-api-key.ts'
import { revokeApiKey } from '../../flows/revoke-api-key.ts'
import { systemClock } from '../../runtime/clock.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { type Output, withOwnerPool } from '../command-context.ts'
import { openCommandSeals } from '../open-seals.ts'
import { apiErrorShape, requestOwnApi } from '../request-own-api.ts'

const LOOK_MS = 1_000
/** Whoever has not paid by then does it later, from the dashboard. */
const FOLLOW_MS_MAX = 3_600_000
/** The signer publishes its keys and the watcher loads the first addresses. */
const READY_MS_MAX = 60_000
const RETRY_MS = 200
/** Black modules on white, whatever the terminal's colours are. */
const [PAPER, END] = ['\u001b[40;97m', '\u001b[0m']

const linkShape = z.object({ id: z.string(), url: z.string() })
const invoicesShape = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      amount: z.string(),
      asset: z.string(),
      payment_link_id: z.string().nullable(),
    }),
  ),
})

type Shop = { readonly merchantId: string; readonly livemode: boolean }

/**
 * Makes a payment link for one dollar and follows it to `paid`; Ctrl-C leaves it. The link ends with it, and so does the
 * key that made it. Whether it was paid.
 */
export async function followTestPayment(config: Config, shop: Shop, output: Output): Promise<boolean> {
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, onSignal)
  try {
    const key = await makeKey(shop)
    try {
      return await payLink(config, key.key, shop, output, stop.signal)
    } finally {
      await endKey(key.id)
    }
  } finally {
    for (const name of signals) process.off(name, onSignal)
  }
}

const makeKey = (shop: Shop): Promise<{ id: string; key: string }> =>
  withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    const scopes = ['payment_links:write', 'invoices:read'] as const
    const created = await createApiKey({ pool, clock: systemClock, seals }, { ...shop, scopes })
    if (created.kind !== 'created')
      throw new StartRefused('the shop has as many keys as it may: revoke one with paylink key revoke')
    return created
  })

const endKey = (id: string): Promise<unknown> =>
  withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    return revokeApiKey({ pool, clock: systemClock, seals }, id)
  })

async function payLink(
  config: Config,
  key: string,
  { livemode }: Shop,
  output: Output,
  stop: AbortSignal,
): Promise<boolean> {
  const link = await makeLink(config, key, stop)
  if (link === null) return false
  output.line(`\n${invitationTo(livemode, config.staging)}`)
  output.line(`\n  ${link.url}\n`)
  output.line(qrCode(link.url))
  output.line('\nWaiting for the payment. Ctrl-C ends the wait.')
  const isPaid = await followLink(config, key, link.id, output, stop)
  await requestOwnApi(config, key, 'PATCH', `/api/v1/payment-links/${link.id}`, { active: false })
  if (!isPaid) output.line('Not paid. The link is inactive now; make others at the dashboard.')
  return isPaid
}

function invitationTo(livemode: boolean, staging: boolean): string {
  if (!livemode) return 'Pay one dollar of test money here, with the test panel of the page:'
  return staging
    ? 'Pay one dollar here, from a wallet of your private chain. It is no real money:'
    : 'Pay one dollar of real money here, from any wallet:'
}

function qrCode(url: string): string {
  const drawn = renderUnicodeCompact(url, { ecc: 'L', border: 2 })
  if (!process.stdout.isTTY) return drawn
  return drawn
    .split('\n')
    .map((line) => `${PAPER}${line}${END}`)
    .join('\n')
}

async function makeLink(
  config: Config,
  key: string,
  stop: AbortSignal,
): Promise<z.output<typeof linkShape> | null> {
  const giveUpAt = performance.now() + READY_MS_MAX
  while (!stop.aborted) {
    const order = { name: 'First payment', usd_amount: '1.00' }
    const created = await requestOwnApi(config, key, 'POST', '/api/v1/payment-links', order)
    if (created.status === 201) return linkShape.parse(created.body)
    const { code, message } = apiErrorShape.parse(created.body).error
    if (code !== 'asset_unavailable' || performance.now() > giveUpAt)
      throw new StartRefused(`the payment link was refused: ${message} See paylink doctor`)
    await pause(RETRY_MS)
  }
  return null
}

async function followLink(
  config: Config,
  key: string,
  linkId: string,
  output: Output,
  stop: AbortSignal,
): Promise<boolean> {
  const reported = new Map<string, string>()
  const giveUpAt = performance.now() + FOLLOW_MS_MAX
  while (!stop.aborted && performance.now() < giveUpAt) {
    const { body } = await requestOwnApi(config, key, 'GET', '/api/v1/invoices')
    for (const invoice of invoicesShape.parse(body).data) {
      const { id, status, amount, asset } = invoice
      if (invoice.payment_link_id !== linkId || reported.get(id) === status) continue
      reported.set(id, status)
      const time = systemClock().toISOString().slice(11, 19)
      output.line(
        `${status === 'paid' ? '✓' : '·'} ${time} ${status.replaceAll('_', ' ')}: ${amount} ${asset}`,
      )
      if (status === 'paid') return true
    }
    await pause(LOOK_MS, undefined, { signal: stop }).catch(() => {
      // Ended by Ctrl-C: the loop ends as well.
    })
  }
  return false
}
