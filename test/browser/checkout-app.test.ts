import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LANGUAGES } from '../../src/web/checkout/language.ts'
import { TEST_SCENARIOS as SCENARIOS } from '../../src/wire/test-payment.ts'
import { CARD_OFFERS } from '../support/card-offers.ts'
import { EXPIRES_AT_MS, final, INVOICES_BY_PAGE, litecoinInvoice } from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'

const payInvoice = vi.fn<(request: object) => Promise<unknown>>(async () => ({ txids: [] }))
let server: CheckoutServer
beforeEach(async () => {
  payInvoice.mockClear()
  server = await startCheckoutServer({ sandbox: { serves: (asset) => asset === 'LTC', payInvoice } })
})
afterEach(() => server.close())

const PAGE_BYTES_MAX = 20 * 1024
const SCRIPT_BYTES_MAX = 6 * 1024

describe('a checkout page’s answer', () => {
  test('forbids everything that its own hashes do not name, framing, caching and referring', async () => {
    const answer = await fetch(server.show('t', INVOICES_BY_PAGE.awaiting))
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).toContain(`frame-ancestors 'none'`)
    expect(policy).toContain(`base-uri 'none'`)
    expect(policy).toContain(`form-action 'self'`)
    expect(policy).toContain(`connect-src 'self'`)
    expect(policy).not.toContain('unsafe')
    expect(policy).toMatch(/script-src 'sha256-[\w+/=]{44}';/)
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('x-robots-tag')).toContain('noindex')
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
  })

  test('carries the same headers on the state, the events, the missing page and a failure', async () => {
    server.show('t', INVOICES_BY_PAGE.awaiting)
    const policies = new Set<string | null>()
    const paths = ['/i/t', '/i/t/state', '/i/none', '/i/t/nothing', '/i/none/events']
    for (const path of paths) {
      const answer = await fetch(server.url + path)
      policies.add(answer.headers.get('content-security-policy'))
      expect(answer.headers.get('cache-control'), path).toBe('no-store')
    }
    server.state.isDown = true
    const failed = await fetch(`${server.url}/i/t`)
    policies.add(failed.headers.get('content-security-policy'))
    expect(failed.status).toBe(503)
    expect(await failed.text()).toContain('Something went wrong on our side')
    expect(policies.size).toBe(1)
  })

  test('stays within its bytes in every state', async () => {
    for (const [name, invoice] of Object.entries(INVOICES_BY_PAGE)) {
      const html = await (await fetch(server.show(name, { ...invoice, id: `inv_${name}` }))).text()
      expect(gzipSync(html).length, name).toBeLessThan(PAGE_BYTES_MAX)
      const script = /<script>(.*)<\/script>/s.exec(html)?.[1] ?? ''
      expect(script).not.toContain('//')
      expect(gzipSync(script).length).toBeGreaterThan(500)
      expect(gzipSync(script).length).toBeLessThan(SCRIPT_BYTES_MAX)
    }
  })

  test('stays within its bytes while it offers a card, in every language', async () => {
    await server.close()
    server = await startCheckoutServer({
      sandbox: { serves: () => true, payInvoice },
      card: {
        sells: () => true,
        ask: async () => ({ kind: 'offered' }),
        offers: async () => CARD_OFFERS,
        leave: async () => ({ kind: 'over' }),
        test: { read: async () => CARD_OFFERS[0] ?? null, play: async () => 'played' },
      },
    })
    const can = { card: { asset: 'LTC', waiting: null }, receipt: 'offered' } as const
    const url = server.show('t', INVOICES_BY_PAGE.awaiting, 'Blue Heron Books', can)
    for (const { tag } of LANGUAGES) {
      for (const path of ['', '/card', `/card/test?purchase=${CARD_OFFERS[0]?.id}`]) {
        const answer = await fetch(`${url}${path}${path.includes('?') ? '&' : '?'}lang=${tag}`)
        const html = await answer.text()
        expect(html, path).toMatch(/id="(by-card|offer-moonpay|test-card-form)"/)
        expect(gzipSync(html).length, `${path} ${tag}`).toBeLessThan(PAGE_BYTES_MAX)
      }
    }
  })

  test('leads back to the shop second while the chain is read once more, so that nobody pays twice', async () => {
    const url = server.show('t', litecoinInvoice({ returnUrl: 'https://shop.example/' }))
    server.state.nowMs = EXPIRES_AT_MS + 1
    expect(await (await fetch(url)).text()).toContain('class="button second" id="shop-back"')
  })

  test('a live transaction leads to an explorer, and one of a private chain nowhere', async () => {
    const paid = INVOICES_BY_PAGE.paid
    const txid = paid.payments[0]?.txid ?? ''
    const link = `<a href="https://litecoinspace.org/tx/${txid}" target="_blank" rel="noreferrer">`
    const staging = await startCheckoutServer({ staging: true })
    for (const [at, livemode, isLinked] of [
      [server, true, true],
      [server, false, false],
      [staging, true, false],
    ] as const) {
      at.show('t', { ...paid, livemode })
      for (const path of ['/i/t', '/i/t/receipt']) {
        const html = await (await at.checkout.app.request(path)).text()
        expect(html).toContain(txid)
        expect([path, livemode, html.includes(link)]).toEqual([path, livemode, isLinked])
      }
    }
    await staging.close()
  })

  test('is compressed for whoever asks', async () => {
    const app = server.checkout.app
    server.show('t', INVOICES_BY_PAGE.awaiting)
    const answer = await app.request('/i/t', { headers: { 'accept-encoding': 'gzip' } })
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(await answer.arrayBuffer()).toString()).toContain('0.4123')
  })

  test('never repeats a forged Host, nor the buyer’s email or the order’s metadata', async () => {
    const secret = 'must-not-be-seen'
    server.show(
      't',
      litecoinInvoice({
        customerEmail: secret,
        metadata: { secret },
      }),
    )
    for (const path of ['/i/t', '/i/t/state']) {
      const answer = await server.checkout.app.request(path, {
        headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
      })
      const text = await answer.text()
      expect(text).not.toContain('evil.example')
      expect(text).not.toContain(secret)
    }
  })
})

describe('a token that opens nothing', () => {
  test('gets one and the same page, whatever was wrong with it', async () => {
    server.show('t', INVOICES_BY_PAGE.awaiting)
    const paths = [
      '/i/x',
      '/i/T',
      '/i/t%00',
      '/i/..%2ft',
      `/i/${'a'.repeat(4_000)}`,
      '/i/%ff',
      '/i/<script>',
      '/i/',
      '/i/t/other',
    ]
    const bodies = new Set<string>()
    for (const path of paths) {
      const answer = await fetch(server.url + path)
      expect(answer.status, path).toBe(404)
      bodies.add(await answer.text())
    }
    expect(bodies.size).toBe(1)
    expect(server.state.errors).toEqual([])
  })

  test('gets a bare 404 for its state and its events', async () => {
    for (const path of ['/i/x/state', '/i/x/events']) {
      const answer = await fetch(server.url + path)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toEqual({ error: 'not_found' })
    }
  })
})

describe('the state', () => {
  test('has version, deadline and the server’s time, and markup only where the page’s version is old', async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    const first = await (await fetch(`${url}/state`)).json()
    expect(first).toMatchObject({
      state: 'awaiting',
      title: 'Pay Blue Heron Books',
      deadline: '2026-11-21T14:05:00.000Z',
      server_time: '2026-11-21T13:09:00.000Z',
    })
    expect(first.html).toMatch(/^<main /)
    expect(await (await fetch(`${url}/state?version=${first.version}`)).json()).toEqual({
      ...first,
      html: null,
    })
    server.show('t', INVOICES_BY_PAGE.paid)
    expect(await (await fetch(`${url}/state?version=${first.version}`)).json()).toMatchObject({
      state: 'paid',
      deadline: null,
      html: expect.stringContaining('Payment complete'),
    })
  })

  test('has the markup that the page has', async () => {
    for (const [name, invoice] of Object.entries(INVOICES_BY_PAGE)) {
      const url = server.show(name, { ...invoice, id: `inv_${name}` })
      const page = await (await fetch(url)).text()
      const { html, title } = await (await fetch(`${url}/state`)).json()
      expect(page).toContain(html)
      expect(page).toContain(`<title>${title}</title>`)
    }
  })
})

describe('the events', () => {
  /** Reads the stream until it says `part`, and gives all that it said. */
  function readerOf(answer: Response) {
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    const until = async (part: string): Promise<string> => {
      let text = ''
      while (!text.includes(part)) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error(`the stream ended before it said ${part}`)
        text += value
      }
      return text
    }
    return { until, cancel: () => reader?.cancel() }
  }

  test("start with the page's current state, and send each change once it is committed", async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    const answer = await fetch(`${url}/events`)
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(answer.headers.get('content-encoding')).toBeNull()
    const stream = readerOf(answer)
    expect(await stream.until('\n\ndata: {"version"')).toMatch(/^retry: 3000\n/)
    for (const name of ['detected', 'confirming', 'paid'] as const) {
      server.show('t', INVOICES_BY_PAGE[name])
      expect(await stream.until(`"state":"${name}"`)).not.toContain('"html":null')
    }
    await stream.cancel()
  })

  test('leave the markup out for a page that has it, so that a heartbeat is small', async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    const { version } = await (await fetch(`${url}/state`)).json()
    const stream = readerOf(await fetch(`${url}/events?version=${version}`))
    expect((await stream.until('"html":null')).length).toBeLessThan(300)
    await stream.cancel()
  })

  test('end when the page goes, when the server stops, and are refused beyond their number', async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    const controllers = Array.from({ length: 50 }, () => new AbortController())
    const answers = await Promise.all(controllers.map(({ signal }) => fetch(`${url}/events`, { signal })))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(server.checkout.streams.size).toBe(50)
    expect((await fetch(`${url}/events`)).status).toBe(503)
    for (const controller of controllers.slice(1)) controller.abort()
    await expect.poll(() => server.checkout.streams.size).toBe(1)
    server.checkout.streams.close()
    expect(server.checkout.streams.size).toBe(0)
    const [left] = answers
    await expect(left?.text()).resolves.toContain('data: ')
    expect((await fetch(`${url}/events`)).status).toBe(503)
  })

  test('are not opened by HEAD, which could never close them', async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    expect((await fetch(`${url}/events`, { method: 'HEAD' })).status).toBe(200)
    expect(server.checkout.streams.size).toBe(0)
  })

  test('survive a database outage: comments keep the connection open, and updates resume afterwards', async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    const { until, cancel } = readerOf(await fetch(`${url}/events`))
    await until('"state":"awaiting"')
    server.state.isDown = true
    server.checkout.streams.refreshAll()
    await until(': unavailable')
    server.state.isDown = false
    server.show('t', INVOICES_BY_PAGE.paid)
    await until('"state":"paid"')
    expect(server.state.errors.length).toBeGreaterThan(0)
    await cancel()
  })

  test('read an invoice once for all its pages, and once more for changes that came meanwhile', async () => {
    const url = server.show('t', INVOICES_BY_PAGE.awaiting)
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/events`)))
    await Promise.all(answers.map((answer) => answer.body?.getReader().read()))
    await expect.poll(() => server.checkout.streams.size).toBe(20)
    const before = server.state.reads
    for (let change = 0; change < 100; change++)
      server.checkout.streams.invoiceChanged(INVOICES_BY_PAGE.awaiting.id)
    await expect.poll(() => server.state.reads).toBeGreaterThan(before)
    await new Promise((resolve) => setImmediate(resolve))
    expect(server.state.reads - before).toBeLessThanOrEqual(3)
  })
})

describe('the test panel', () => {
  const post = (token: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/i/${token}?form=test-pay`, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })

  test('plays every scenario and goes back to the page', async () => {
    const invoice = INVOICES_BY_PAGE.awaiting
    const page = await (await fetch(server.show('t', invoice))).text()
    for (const scenario of SCENARIOS) {
      expect(page).toContain(`value="${scenario}"`)
      const answer = await post('t', `scenario=${scenario}`)
      expect(answer.status).toBe(303)
      expect(new URL(answer.headers.get('location') ?? '', `${server.url}/i/t?form=test-pay`).pathname).toBe(
        '/i/t',
      )
      expect(payInvoice).toHaveBeenLastCalledWith({
        tenant: { merchantId: invoice.merchantId, livemode: false },
        invoiceId: invoice.id,
        scenario,
        source: 'checkout',
      })
    }
  })

  test('is neither shown nor served for a live invoice', async () => {
    const page = await (await fetch(server.show('t', litecoinInvoice({ livemode: true })))).text()
    expect(page).not.toContain('test-pay')
    expect((await post('t', 'scenario=exact')).status).toBe(404)
    expect(payInvoice).not.toHaveBeenCalled()
  })

  test('is neither shown nor served for an asset whose chain is no sandbox', async () => {
    const page = await (await fetch(server.show('t', litecoinInvoice({ asset: 'BTC' })))).text()
    expect(page).not.toContain('test-pay')
    expect((await post('t', 'scenario=exact')).status).toBe(404)
  })

  test('is neither shown nor served where no sandbox runs', async () => {
    const bare = await startCheckoutServer()
    const url = bare.show('t', INVOICES_BY_PAGE.awaiting)
    expect(await (await fetch(url)).text()).not.toContain('test-pay')
    expect(
      (
        await fetch(`${url}?form=test-pay`, {
          method: 'POST',
          body: new URLSearchParams({ scenario: 'exact' }),
        })
      ).status,
    ).toBe(404)
    await bare.close()
  })

  test.each([
    ['', {}],
    ['scenario=', {}],
    ['scenario=Exact', {}],
    ['scenario=exact&scenario=under', {}],
    ['scenario=__proto__', {}],
    [`scenario=${'x'.repeat(5_000)}`, {}],
    ['{"scenario":"exact"}', { 'content-type': 'application/json' }],
    ['scenario=exact', { 'sec-fetch-site': 'cross-site' }],
    ['scenario=exact', { 'sec-fetch-site': 'same-site' }],
    ['--x\r\n', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['nonsense', { 'content-type': 'multipart/form-data' }],
  ])('answers %j with plain words and pays nothing', async (body, headers) => {
    server.show('t', INVOICES_BY_PAGE.awaiting)
    const answer = await post('t', body, headers)
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('Invalid request')
    expect(payInvoice).not.toHaveBeenCalled()
  })

  test('says so when the sandbox could not', async () => {
    server.show('t', litecoinInvoice({ payments: [final()] }))
    payInvoice.mockRejectedValueOnce(new Error('no chain'))
    const answer = await post('t', 'scenario=exact')
    expect(answer.status).toBe(503)
    expect(await answer.text()).toMatch(/<p class="failure" id="sandbox-failure">The sandbox could not/)
  })
})
