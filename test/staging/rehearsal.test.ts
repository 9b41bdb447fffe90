// @module-tag bitcoind
// @module-tag litecoind
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ASSETS, type AssetId } from '../../src/core/assets.ts'
import { parseCoinAmount } from '../../src/core/money.ts'
import { ON_BY_DEFAULT } from '../../src/core/payment-rules.ts'
import { STAGING_NOTICE } from '../../src/core/staging.ts'
import { BASE_URL } from '../support/api.ts'
import { codeOf, PASSWORD } from '../support/people.ts'
import { MINUTES_MS, ok, StagingInstallation } from '../support/staging-installation.ts'
import { until } from '../support/until.ts'
import {
  answerChallenges,
  startReceiver,
  verifiedBy,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

/** Live mode from its first link to its last payout, with the processes of production, on private chains. */

const LIVE = { 'paylink-mode': 'live' }
const DAY_AND_HOUR_MS = 25 * 3_600_000
const USD = '25.00'
/** Less than was paid, so that fees fit in. */
const PAID_OUT: { readonly [asset in AssetId]?: string } = {
  BTC: '0.0001',
  LTC: '0.1',
  ETH: '0.004',
  ETH_BASE: '0.004',
  USDC_BASE: '20',
  SOL: '0.05',
}

let installation: StagingInstallation
let receiver: WebhookReceiver
beforeAll(async () => {
  installation = await StagingInstallation.start()
  receiver = await startReceiver({ respond: answerChallenges })
}, 5 * MINUTES_MS)
afterAll(async () => {
  await receiver?.close()
  await installation?.close()
})

/** A day passes for what the signer and the database remember of destinations and approvers. */
async function letADayPass(): Promise<void> {
  await installation.stopProcess('signer')
  const path = join(installation.dataDir, 'signer-staging', 'first-seen.jsonl')
  const lines = (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const older = lines.map((line) =>
    line.seen_at === undefined ? line : { ...line, seen_at: line.seen_at - DAY_AND_HOUR_MS },
  )
  await writeFile(path, older.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const { owner } = installation.database
  await owner.query(
    `update payout_destination set created_at = created_at - interval '25 hours', usable_at = usable_at - interval '25 hours'`,
  )
  await owner.query(`update approver_seen set counts_from = counts_from - interval '25 hours'`)
  await installation.startProcess('signer')
}

/** A code is good for one approval; those of the periods beside this one are taken as well, for clocks that are off. */
async function nextCode(secret: string, used: Set<string>): Promise<string> {
  let code = ''
  const isFound = async () => {
    for (const periods of [0, 1, -1]) {
      code = await codeOf(secret, periods)
      if (!used.has(code)) return true
    }
    return false
  }
  await until(isFound, { what: 'the next code', timeoutMs: 2 * MINUTES_MS })
  used.add(code)
  return code
}

test(
  'every coin goes from a link to a payout that two people decide, by all the rules of live money',
  async () => {
    const { chains, database } = installation
    const owner = await installation.openAccount('owner')
    // Nobody has a code for all of their payouts at once: two admins approve them by turns.
    const admins = [await installation.openAccount('admin'), await installation.openAccount('treasurer')]
    const { merchantId } = owner
    for (const { browser, email } of admins) {
      const invited = { email, role: 'admin', organizationId: merchantId }
      const invitation = await ok(owner.browser.ask('POST', '/api/auth/organization/invite-member', invited))
      const accepted = { invitationId: invitation.id }
      await ok(browser.ask('POST', '/api/auth/organization/accept-invitation', accepted))
      await ok(browser.ask('POST', '/api/auth/organization/set-active', { organizationId: merchantId }))
    }
    const signUp = { name: 'Stranger', email: 'stranger@example.com', password: PASSWORD }
    const stranger = await installation.browser('203.0.113.8').ask('POST', '/api/auth/sign-up/email', signUp)
    expect(stranger.status).toBe(403)

    const asOwner = (method: 'GET' | 'POST', path: string, body?: object) =>
      ok(owner.browser.ask(method, `/api/v1${path}`, body, LIVE))
    const endpoint = await asOwner('POST', '/webhook-endpoints', {
      url: receiver.url,
      subscribed_events: ['*'],
    })
    await asOwner('POST', `/webhook-endpoints/${endpoint.id}/verify`)

    const invoices: { id: string; asset: AssetId; token: string }[] = []
    for (const asset of ON_BY_DEFAULT) {
      const link = { name: `In ${asset}`, asset, allow_dynamic_amount: true, duration_minutes: 60 }
      const { id } = await asOwner('POST', '/payment-links', link)
      const order = { order_reference: `order ${asset}`, usd_amount: USD }
      const session = await asOwner('POST', `/payment-links/${id}/checkout-sessions`, order)
      const opened = await installation.page(session.checkout_url)
      const pressed = await installation.post(session.checkout_url, {
        visit: /name="visit" value="([^"]+)"/.exec(opened)?.[1] ?? '',
        checkout_token: new URL(session.checkout_url).searchParams.get('checkout_token') ?? '',
        asset,
      })
      const token = /\/i\/([^?]+)/.exec(pressed.headers.get('location') ?? '')?.[1] ?? ''
      expect([asset, pressed.status, token === '']).toEqual([asset, 303, false])
      const shown = await asOwner('GET', `/checkout-sessions/${session.id}`)
      const invoice = await asOwner('GET', `/invoices/${shown.invoice_id}`)
      expect(invoice).toMatchObject({ livemode: true, status: 'awaiting_payment', asset })
      await installation.page(`${BASE_URL}/i/${token}`)
      await chains.pay(asset, invoice.address, invoice.amount)
      invoices.push({ id: invoice.id, asset, token })
    }
    for (const { id, asset, token } of invoices) {
      await installation.mined(
        `${asset} is paid`,
        async () => (await asOwner('GET', `/invoices/${id}`)).status === 'paid',
      )
      const receipt = await (await fetch(`${installation.site}/i/${token}/receipt.json`)).json()
      expect(receipt).toMatchObject({ receipt: { livemode: true, staging: true, invoice_id: id } })
    }
    const told = (type: string) =>
      receiver.events.filter(({ body }) => JSON.parse(body.toString()).event_type === type)
    await until(() => told('invoice.paid').length === ON_BY_DEFAULT.length, { what: 'all are told' })
    for (const event of told('invoice.paid')) {
      expect(verifiedBy(event, [endpoint.secret])).toBe(endpoint.secret)
      expect(event.headers['paylink-staging']).toBe('true')
    }

    const destinations = new Map<AssetId, { id: string; address: string }>()
    for (const asset of ON_BY_DEFAULT) {
      const address = await chains.strangersAddress(asset)
      const listed = await asOwner('POST', '/payout-destinations', { asset, address, name: asset })
      destinations.set(asset, { id: listed.id, address })
      const early = await owner.browser.ask(
        'POST',
        '/api/v1/payouts',
        { destination_id: listed.id, amount: PAID_OUT[asset] },
        LIVE,
      )
      expect([asset, early.status, early.body.error.code]).toEqual([asset, 409, 'destination_not_usable'])
    }
    await until(
      async () => {
        const { rows } = await database.owner.query('select from destination_sighting')
        return rows.length === ON_BY_DEFAULT.length
      },
      { what: 'the signer has seen the destinations', timeoutMs: MINUTES_MS },
    )
    await letADayPass()

    const { hot, feePayer } = await installation.feeWallets()
    await chains.pay('ETH_BASE', hot, '1')
    await chains.pay('SOL', feePayer, '1')
    await chains.mine()

    const payouts: { id: string; asset: AssetId; address: string; before: bigint }[] = []
    for (const asset of ON_BY_DEFAULT) {
      const { id, address } = destinations.get(asset) ?? { id: '', address: '' }
      const before = await chains.holds(asset, address)
      const body = { destination_id: id, amount: PAID_OUT[asset] }
      await installation.mined(`a payout in ${asset} can be requested`, async () => {
        const asked = await owner.browser.ask('POST', '/api/v1/payouts', body, LIVE)
        if (asked.status !== 201) return false
        payouts.push({ id: asked.body.id, asset, address, before })
        return true
      })
    }
    const approvals = admins.map(({ browser, secret }) => {
      const used = new Set<string>()
      return async (id: string) => {
        const code = await nextCode(secret, used)
        await ok(browser.ask('POST', `/api/v1/payouts/${id}/approve`, { code }, LIVE))
      }
    })
    for (const [turn, { id, asset }] of payouts.entries()) {
      const own = await owner.browser.ask('POST', `/api/v1/payouts/${id}/approve`, { code: '000000' }, LIVE)
      expect([asset, own.status, own.body.error.code]).toEqual([asset, 403, 'approver_is_requester'])
      await approvals[turn % approvals.length]?.(id)
    }
    for (const { id, asset, address, before } of payouts) {
      const stateOf = () => asOwner('GET', `/payouts/${id}`)
      await installation.mined(`${asset} is paid out`, async () => (await stateOf()).status === 'confirmed')
      const { net_amount } = await stateOf()
      const arrived = (await chains.holds(asset, address)) - before
      expect([asset, arrived]).toEqual([asset, parseCoinAmount(net_amount, ASSETS[asset].decimals)])
    }
    await until(() => told('payout.confirmed').length === ON_BY_DEFAULT.length, {
      what: 'all payouts are told',
    })

    expect(await installation.command('audit')).toContain('Everything that was checked agrees.')
    const doctor = (await installation.run('doctor')).stdout.split('\n')
    expect(doctor).toContain(`· ${STAGING_NOTICE}`)
    // What the test's own server and node are, and no shop's should be.
    const faults = doctor.filter((line) => line.startsWith('✗') && !/fsync|LitecoinCore/.test(line))
    expect(faults).toEqual([])
    for (const path of ['/dashboard/', '/audit', '/docs']) await installation.page(BASE_URL + path)
    // Nobody had sent the hot wallet ether at first, nor the fee payer SOL.
    const isLow = /the hot wallet is low on gas|the fee payer of payouts on Solana runs low/
    expect(installation.errors().filter((line) => !isLow.test(line))).toEqual([])
  },
  15 * MINUTES_MS,
)
