import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { continueCheckout } from '../../src/flows/continue-checkout.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { readPaymentPage } from '../../src/flows/read-payment-page.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createMarketReader } from '../../src/http/api/market.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { inBlock } from '../support/invoice.ts'
import { type Random, seededRandom } from '../support/random.ts'

/** Random histories of a merchant's sessions, held after every step against a few lines that say what must be. */

const HISTORIES = process.env.LONG === '1' ? 200 : 8
const STEPS = 60
const SEED = 20_261_121
const MINUTE_MS = 60_000
const HORIZON_MS = 10 * MINUTE_MS
/** 10 and 20 dollars at 84.37 a coin, rounded up. */
const UNITS: { readonly [usd: string]: bigint } = { '10.00': 11_852_555n, '20.00': 23_705_109n }

type Expected = {
  readonly request: string
  readonly units: bigint
  readonly expiresAtMs: number
  id: string
  url: string
  cancelled: boolean
  invoiceId: string | null
  invoiceExpired: boolean
  paid: bigint
}

let api: TestApi
beforeAll(async () => {
  api = await createTestApi()
})
afterAll(() => api.drop())

const nowMs = () => api.time.now.getTime()

function statusOf(session: Expected): string {
  if (session.paid >= session.units) return 'completed'
  if (session.cancelled) return 'cancelled'
  if (session.paid > 0n) return 'active'
  return session.invoiceExpired || nowMs() >= session.expiresAtMs ? 'expired' : 'active'
}
const isShown = (session: Expected) =>
  ['active', 'completed'].includes(statusOf(session)) || session.paid > 0n

class History {
  readonly sessions = new Map<string, Expected>()
  readonly active = new Map<string, boolean>()
  readonly #random: Random
  readonly #merchant: TestMerchant
  readonly #deps: Parameters<typeof continueCheckout>[0]
  #payments = 0

  constructor(seed: number, merchant: TestMerchant) {
    this.#random = seededRandom(seed)
    this.#merchant = merchant
    this.#deps = { ...api.deps, marketOf: createMarketReader(api.deps) }
  }

  call(method: string, path: string, body?: unknown) {
    return api.call(method, path, { key: this.#merchant.testKey, ...(body === undefined ? {} : { body }) })
  }

  async makeLinks(): Promise<void> {
    for (const name of ['a', 'b']) {
      const link = await this.call('POST', '/payment-links', {
        name,
        asset: 'LTC',
        allow_dynamic_amount: true,
        duration_minutes: 15,
      })
      this.active.set(link.body.id, true)
    }
  }

  async create(): Promise<void> {
    const link = this.#random.pick([...this.active.keys()])
    const order = this.#random.pick(['1', '2', '3', '4'])
    const usd = this.#random.pick(['10.00', '20.00'])
    const minutes = this.#random.pick([null, 5, 30])
    const answer = await this.call('POST', `/payment-links/${link}/checkout-sessions`, {
      order_reference: order,
      usd_amount: usd,
      ...(minutes === null ? {} : { expires_in_minutes: minutes }),
    })
    const request = JSON.stringify([link, usd, minutes])
    const known = this.sessions.get(order)
    if (known !== undefined) {
      if (known.request !== request) expect(answer.body.error?.code).toBe('order_reference_conflict')
      else {
        expect(answer.status).toBe(200)
        const { id, checkout_url: url, status, replayed } = answer.body
        expect({ id, url, status, replayed }).toEqual({
          id: known.id,
          url: known.url,
          status: statusOf(known),
          replayed: true,
        })
      }
    } else if (this.active.get(link) === false) expect(answer.body.error.code).toBe('payment_link_inactive')
    else {
      expect(answer.status, answer.text).toBe(201)
      this.sessions.set(order, {
        request,
        units: UNITS[usd] ?? 0n,
        expiresAtMs: nowMs() + (minutes ?? 15) * MINUTE_MS,
        id: answer.body.id,
        url: answer.body.checkout_url,
        cancelled: false,
        invoiceId: null,
        invoiceExpired: false,
        paid: 0n,
      })
    }
  }

  async press(session: Expected): Promise<void> {
    const outcome = await continueCheckout(this.#deps, { ...partsOf(session.url), asset: 'LTC' })
    if (!isShown(session)) return expect(outcome.kind).toBe('neutral')
    if (outcome.kind !== 'invoice')
      throw new Error(`${outcome.kind} for ${JSON.stringify(statusOf(session))}`)
    session.invoiceId ??= outcome.invoiceId
    expect(outcome.invoiceId).toBe(session.invoiceId)
  }

  async pay(session: Expected): Promise<void> {
    const inTime = nowMs() <= session.expiresAtMs + HORIZON_MS
    if (session.invoiceId === null || session.cancelled || !inTime) return
    const amount = this.#random.pick([100n, session.units / 2n + 1n, session.units])
    const settled = statusOf(session) === 'completed'
    this.#payments += 1
    const txid = createHash('sha256').update(`${session.id} ${this.#payments}`).digest('hex')
    await recordTransfers(
      { pool: api.database.pools.watcher, clock: api.deps.clock },
      {
        tenant: { merchantId: this.#merchant.id, livemode: false },
        invoiceId: session.invoiceId,
        facts: [inBlock(txid, amount, 99, { firstSeenMs: nowMs() })],
        tipHeight: 1_000,
      },
    )
    // A hundred litoshi are dust; what comes after settlement is for review.
    if (amount > 293n && !settled) session.paid += amount
  }

  async cancel(session: Expected): Promise<void> {
    const allowed = ['active', 'expired'].includes(statusOf(session)) && session.paid === 0n
    const answer = await this.call('POST', `/checkout-sessions/${session.id}/cancel`)
    expect(answer.status, answer.text).toBe(allowed ? 200 : 409)
    if (allowed) session.cancelled = true
  }

  async readChain(): Promise<void> {
    await expireInvoices(
      { pool: api.database.pools.watcher, clock: api.deps.clock },
      {
        network: 'litecoin-test',
        readAtMs: nowMs(),
        tipHeight: 1_000,
        tipHash: 'a'.repeat(64),
        providers: [],
      },
    )
    for (const session of this.sessions.values()) {
      const isDue = session.invoiceId !== null && nowMs() > session.expiresAtMs
      if (isDue && !session.cancelled && session.paid === 0n) session.invoiceExpired = true
    }
  }

  async toggle(): Promise<void> {
    const link = this.#random.pick([...this.active.keys()])
    const active = this.active.get(link) !== true
    await this.call('PATCH', `/payment-links/${link}`, { active })
    this.active.set(link, active)
  }

  async step(): Promise<string> {
    const name = this.#random.pick([
      'create',
      'create',
      'press',
      'press',
      'pay',
      'cancel',
      'time',
      'chain',
      'toggle',
    ])
    if (name === 'time') api.time.advance(this.#random.pick([1, 4 * MINUTE_MS, 11 * MINUTE_MS]))
    else if (name === 'chain') await this.readChain()
    else if (name === 'toggle') await this.toggle()
    else if (name === 'create' || this.sessions.size === 0) await this.create()
    else {
      const session = this.#random.pick([...this.sessions.values()])
      if (name === 'press') await this.press(session)
      else if (name === 'pay') await this.pay(session)
      else await this.cancel(session)
    }
    return name
  }

  /** Everything that can be read says what it must. */
  async compare(about: string): Promise<void> {
    for (const [order, session] of this.sessions) {
      const { body } = await this.call('GET', `/checkout-sessions/${session.id}`)
      const page = await readPaymentPage(this.#deps, partsOf(session.url))
      expect(
        { status: body.status, invoice: body.invoice_id, page: page.kind },
        `${about}, order ${order}`,
      ).toEqual({
        status: statusOf(session),
        invoice: session.invoiceId,
        page: isShown(session) ? (session.invoiceId === null ? 'open' : 'invoice') : 'neutral',
      })
    }
  }
}

function partsOf(url: string) {
  const { pathname, searchParams } = new URL(url)
  return { slug: pathname.split('/').at(-1) ?? '', checkoutToken: searchParams.get('checkout_token') ?? '' }
}

test(`${HISTORIES} random histories of sessions agree with what must be, after every step`, async () => {
  for (let index = 0; index < HISTORIES; index++) {
    const merchant = await api.addMerchant()
    const history = new History(SEED + index, merchant)
    await history.makeLinks()
    for (let step = 0; step < STEPS; step++) {
      const name = await history.step()
      await history.compare(`history ${index}, step ${step} (${name})`)
    }
    const { rows } = await api.database.owner.query<{ sessions: number; invoices: number }>(
      `select (select count(*)::int from checkout_session where merchant_id = $1) as sessions,
         (select count(*)::int from invoice where merchant_id = $1) as invoices`,
      [merchant.id],
    )
    const all = [...history.sessions.values()]
    expect(rows[0]).toEqual({
      sessions: all.length,
      invoices: all.filter(({ invoiceId }) => invoiceId !== null).length,
    })
  }
}, 900_000)
