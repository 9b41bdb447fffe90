// @module-tag bitcoind
// @module-tag litecoind
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ASSET_IDS, ASSETS, type AssetId } from '../../src/core/assets.ts'
import { parseCoinAmount } from '../../src/core/money.ts'
import { STAGING_WORDS } from '../../src/core/staging.ts'
import { EXCHANGE_NAMES } from '../../src/rates/exchanges.ts'
import { freePort } from '../../src/runtime/free-port.ts'
import { type FakeExchange, startFakeExchange } from '../rates/fake-exchange.ts'
import { BASE_URL } from '../support/api.ts'
import { makeDataDir, runProgram, startRoles } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { codeOf, createBrowser, PASSWORD, type TestBrowser } from '../support/people.ts'
import { type StagingChains, startStagingChains } from '../support/staging-chains.ts'
import { until } from '../support/until.ts'
import {
  answerChallenges,
  startReceiver,
  verifiedBy,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

/** Live mode from its first link to its last payout, with the processes of production, on private chains. */

const LIVE = { 'paylink-mode': 'live' }
/** Between two blocks of every chain. From its block 432 on, Litecoin's regtest wants more than payments. */
const BLOCK_MS = 1_000
const MINUTES_MS = 60_000
const DAY_AND_HOUR_MS = 25 * 3_600_000
const USD = '25.00'
/** Less than was paid, so that fees fit in. */
const PAID_OUT: { readonly [asset in AssetId]: string } = {
  BTC: '0.0001',
  LTC: '0.1',
  ETH: '0.004',
  ETH_BASE: '0.004',
  USDC_BASE: '20',
  SOL: '0.05',
}

type Environment = { readonly [name: string]: string }
type Role = Awaited<ReturnType<typeof startRoles>>

let chains: StagingChains
let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let receiver: WebhookReceiver
const exchanges: FakeExchange[] = []
const running = new Map<string, Role>()
let owning: Environment
let site: string

const command = async (...args: readonly string[]) => {
  const ended = await runProgram(args, owning)
  expect(ended.code, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`).toBe(0)
  return ended.stdout
}
const mined = (what: string, isDone: () => Promise<boolean>) =>
  until(
    async () => {
      await chains.mine()
      await pause(BLOCK_MS)
      return isDone()
    },
    { what, timeoutMs: 3 * MINUTES_MS },
  )

beforeAll(async () => {
  const started = await Promise.all([
    startStagingChains(),
    createTestDatabase(),
    makeDataDir(),
    startReceiver({ respond: answerChallenges }),
    Promise.all(EXCHANGE_NAMES.map((name) => startFakeExchange(name, Date.now))),
  ])
  ;[chains, database, place, receiver] = started
  exchanges.push(...started[4])
  const [coinbase, kraken, bitstamp] = exchanges.map(({ url }) => url)
  const port = String(await freePort())
  site = `http://127.0.0.1:${port}`
  const shared = {
    ...chains.environment,
    DATA_DIR: place.dataDir,
    PORT: port,
    BASE_URL,
    SECRET_KEY: 'ab'.repeat(32),
    WEBHOOK_ALLOW_PRIVATE: '1',
    PRICE_COINBASE_URL: coinbase ?? '',
    PRICE_KRAKEN_URL: kraken ?? '',
    PRICE_BITSTAMP_URL: bitstamp ?? '',
  }
  owning = { ...shared, DATABASE_URL: database.ownerUrl }
  await command('migrate')
  const { urls } = database
  roles = {
    signer: () => startRoles(['signer'], { ...shared, SIGNER_DATABASE_URL: urls.signer }),
    sandbox: () => startRoles(['sandbox'], shared),
    watcher: () => startRoles(['watcher'], { ...shared, WATCHER_DATABASE_URL: urls.watcher }),
    delivery: () => startRoles(['delivery'], { ...shared, DELIVERY_DATABASE_URL: urls.delivery }),
    site: () => startRoles(['api', 'checkout'], { ...shared, API_DATABASE_URL: urls.api }),
  }
  await Promise.all(Object.keys(roles).map(start))
}, 5 * MINUTES_MS)
afterAll(async () => {
  for (const [name, role] of running) {
    await role.stop()
    process.stderr.write(`--- ${name}\n${role.stdout()}${role.stderr()}\n`)
  }
  await receiver?.close()
  for (const exchange of exchanges) await exchange.close()
  await chains?.close()
  await place?.remove()
  await database?.drop()
})

let roles: { readonly [name: string]: () => Promise<Role> }
async function start(name: string): Promise<void> {
  const role = await roles[name]?.()
  if (role !== undefined) running.set(name, role)
}
async function stop(name: string): Promise<void> {
  expect(await running.get(name)?.stop()).toBe(0)
  running.delete(name)
}

/** Somebody at the dashboard, whose second factor is on. */
type Person = { readonly browser: TestBrowser; readonly email: string; readonly secret: string }

const fetchSite = (request: Request) => {
  const { pathname, search } = new URL(request.url)
  return fetch(new Request(site + pathname + search, request))
}
async function ok(asked: ReturnType<TestBrowser['ask']>) {
  const answer = await asked
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.body
}

/** The newest e-mail of the site that leads to a page; without a mail server it stands in the log. */
async function mailTo(email: string, page: string): Promise<{ subject: string; text: string }> {
  const mails = () =>
    (running.get('site')?.stderr() ?? '')
      .split('\n')
      .filter((line) => line.includes('"mail":{'))
      .map((line) => JSON.parse(line).mail)
      .filter(({ to, text }) => to === email && text.includes(`/dashboard/${page}?`))
  await until(() => mails().length > 0, { what: `an e-mail about ${page} was written` })
  const mail = mails().at(-1)
  expect(mail.subject).toMatch(/^\[Staging\] /)
  expect(mail.text).toContain(STAGING_WORDS)
  return mail
}

async function openAccount(name: string): Promise<Person & { readonly merchantId: string }> {
  const email = `${name}@example.com`
  const made = JSON.parse(await command('merchant', 'create', '--name', name, '--email', email, '--json'))
  const token = new URL(made.set_password_url).searchParams.get('token')
  const browser = createBrowser(fetchSite, '203.0.113.7')
  await ok(browser.ask('POST', '/api/auth/reset-password', { newPassword: PASSWORD, token }))
  await ok(browser.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD }))
  await ok(browser.ask('POST', '/api/auth/send-verification-email', { email }))
  const mail = await mailTo(email, 'verify-email')
  await ok(browser.ask('GET', `/api/auth/verify-email?token=${/token=(\S+)/.exec(mail.text)?.[1]}`))
  const enabled = await ok(browser.ask('POST', '/api/auth/two-factor/enable', { password: PASSWORD }))
  const secret = new URL(enabled.totpURI).searchParams.get('secret') ?? ''
  await ok(browser.ask('POST', '/api/auth/two-factor/verify-totp', { code: await codeOf(secret) }))
  return { browser, email, secret, merchantId: made.id }
}

/** A day passes for what the signer and the database remember of destinations and approvers. */
async function letADayPass(): Promise<void> {
  await stop('signer')
  const path = join(place.dataDir, 'signer-staging', 'first-seen.jsonl')
  const lines = (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const older = lines.map((line) =>
    line.seen_at === undefined ? line : { ...line, seen_at: line.seen_at - DAY_AND_HOUR_MS },
  )
  await writeFile(path, older.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const { owner } = database
  await owner.query(
    `update payout_destination set created_at = created_at - interval '25 hours', usable_at = usable_at - interval '25 hours'`,
  )
  await owner.query(`update approver_seen set counts_from = counts_from - interval '25 hours'`)
  await start('signer')
}

test(
  'every coin goes from a link to a payout that two people decide, by all the rules of live money',
  async () => {
    const owner = await openAccount('owner')
    const admin = await openAccount('admin')
    const { merchantId } = owner
    const invitation = await ok(
      owner.browser.ask('POST', '/api/auth/organization/invite-member', {
        email: admin.email,
        role: 'admin',
        organizationId: merchantId,
      }),
    )
    await ok(
      admin.browser.ask('POST', '/api/auth/organization/accept-invitation', { invitationId: invitation.id }),
    )
    await ok(admin.browser.ask('POST', '/api/auth/organization/set-active', { organizationId: merchantId }))
    const signUp = { name: 'Stranger', email: 'stranger@example.com', password: PASSWORD }
    const stranger = await createBrowser(fetchSite, '203.0.113.8').ask(
      'POST',
      '/api/auth/sign-up/email',
      signUp,
    )
    expect(stranger.status).toBe(403)

    const asOwner = (method: 'GET' | 'POST', path: string, body?: object) =>
      ok(owner.browser.ask(method, `/api/v1${path}`, body, LIVE))
    const endpoint = await asOwner('POST', '/webhook-endpoints', {
      url: receiver.url,
      subscribed_events: ['*'],
    })
    await asOwner('POST', `/webhook-endpoints/${endpoint.id}/verify`)

    const invoices: { id: string; asset: AssetId; token: string }[] = []
    for (const asset of ASSET_IDS) {
      const link = { name: `In ${asset}`, asset, allow_dynamic_amount: true, duration_minutes: 60 }
      const { id } = await asOwner('POST', '/payment-links', link)
      const order = { order_reference: `order ${asset}`, usd_amount: USD }
      const session = await asOwner('POST', `/payment-links/${id}/checkout-sessions`, order)
      const opened = await pageOf(session.checkout_url)
      expect(opened).toContain(STAGING_WORDS)
      const form = new URLSearchParams({
        visit: /name="visit" value="([^"]+)"/.exec(opened)?.[1] ?? '',
        checkout_token: new URL(session.checkout_url).searchParams.get('checkout_token') ?? '',
        asset,
      })
      const pressed = await fetch(site + new URL(session.checkout_url).pathname, {
        method: 'POST',
        body: form,
        redirect: 'manual',
        headers: { origin: BASE_URL, 'sec-fetch-site': 'same-origin' },
      })
      const token = /\/i\/([^?]+)/.exec(pressed.headers.get('location') ?? '')?.[1] ?? ''
      expect([asset, pressed.status, token === '']).toEqual([asset, 303, false])
      const shown = await asOwner('GET', `/checkout-sessions/${session.id}`)
      const invoice = await asOwner('GET', `/invoices/${shown.invoice_id}`)
      expect(invoice).toMatchObject({ livemode: true, status: 'awaiting_payment', asset })
      expect(await pageOf(`${BASE_URL}/i/${token}`)).toContain(STAGING_WORDS)
      await chains.pay(asset, invoice.address, invoice.amount)
      invoices.push({ id: invoice.id, asset, token })
    }
    for (const { id, asset, token } of invoices) {
      await mined(`${asset} is paid`, async () => (await asOwner('GET', `/invoices/${id}`)).status === 'paid')
      const receipt = await (await fetch(`${site}/i/${token}/receipt.json`)).json()
      expect(receipt).toMatchObject({ receipt: { livemode: true, staging: true, invoice_id: id } })
    }
    const told = (type: string) =>
      receiver.events.filter(({ body }) => JSON.parse(body.toString()).event_type === type)
    await until(() => told('invoice.paid').length === ASSET_IDS.length, { what: 'all are told' })
    for (const event of told('invoice.paid')) {
      expect(verifiedBy(event, [endpoint.secret])).toBe(endpoint.secret)
      expect(event.headers['paylink-staging']).toBe('true')
    }

    const destinations = new Map<AssetId, { id: string; address: string }>()
    for (const asset of ASSET_IDS) {
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
        return rows.length === ASSET_IDS.length
      },
      { what: 'the signer has seen the destinations', timeoutMs: MINUTES_MS },
    )
    await letADayPass()

    const wallets = await runProgram(['doctor'], owning)
    const [, hot = ''] = /base-live: the hot wallet (0x\w+)/.exec(wallets.stdout) ?? []
    const [, feePayer = ''] = /solana-live: the fee payer (\w+)/.exec(wallets.stdout) ?? []
    expect([hot, feePayer].includes(''), wallets.stdout).toBe(false)
    await chains.pay('ETH_BASE', hot, '1')
    await chains.pay('SOL', feePayer, '1')
    await chains.mine()

    const payouts: { id: string; asset: AssetId; address: string; before: bigint }[] = []
    for (const asset of ASSET_IDS) {
      const { id, address } = destinations.get(asset) ?? { id: '', address: '' }
      const before = await chains.holds(asset, address)
      const body = { destination_id: id, amount: PAID_OUT[asset] }
      await mined(`a payout in ${asset} can be requested`, async () => {
        const asked = await owner.browser.ask('POST', '/api/v1/payouts', body, LIVE)
        if (asked.status !== 201) return false
        payouts.push({ id: asked.body.id, asset, address, before })
        return true
      })
    }
    let usedCode = ''
    for (const { id, asset } of payouts) {
      const own = await owner.browser.ask('POST', `/api/v1/payouts/${id}/approve`, { code: '000000' }, LIVE)
      expect([asset, own.status, own.body.error.code]).toEqual([asset, 403, 'approver_is_requester'])
      // A code is good for one approval.
      await until(async () => (await codeOf(admin.secret)) !== usedCode, {
        what: 'the next code',
        timeoutMs: MINUTES_MS,
      })
      usedCode = await codeOf(admin.secret)
      await ok(admin.browser.ask('POST', `/api/v1/payouts/${id}/approve`, { code: usedCode }, LIVE))
    }
    for (const { id, asset, address, before } of payouts) {
      const stateOf = () => asOwner('GET', `/payouts/${id}`)
      await mined(`${asset} is paid out`, async () => (await stateOf()).status === 'confirmed')
      const { net_amount } = await stateOf()
      const arrived = (await chains.holds(asset, address)) - before
      expect([asset, arrived]).toEqual([asset, parseCoinAmount(net_amount, ASSETS[asset].decimals)])
    }
    await until(() => told('payout.confirmed').length === ASSET_IDS.length, { what: 'all payouts are told' })

    expect(await command('audit')).toContain('Everything that was checked agrees.')
    const doctor = (await runProgram(['doctor'], owning)).stdout.split('\n')
    expect(doctor).toContain(`· ${STAGING_WORDS}`)
    // What the test's own server and node are, and no shop's should be.
    const faults = doctor.filter((line) => line.startsWith('✗') && !/fsync|LitecoinCore/.test(line))
    expect(faults).toEqual([])
    for (const path of ['/dashboard/', '/audit', '/docs']) {
      const page = await fetch(site + path)
      expect([path, page.headers.get('paylink-staging')]).toEqual([path, 'true'])
      expect([path, (await page.text()).includes(STAGING_WORDS)]).toEqual([path, true])
    }
    const lines = [...running.values()].flatMap((role) => role.stderr().split('\n'))
    const errors = lines.filter((line) => /"level":"(error|fatal)"/.test(line))
    // Nobody had sent the hot wallet ether at first.
    expect(errors.filter((line) => !line.includes('the hot wallet is low on gas'))).toEqual([])
  },
  15 * MINUTES_MS,
)

async function pageOf(url: string): Promise<string> {
  const { pathname, search } = new URL(url)
  const response = await fetch(site + pathname + search)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  expect(response.headers.get('paylink-staging')).toBe('true')
  return text
}
