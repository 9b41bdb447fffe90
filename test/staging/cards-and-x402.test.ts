// @module-tag bitcoind
// @module-tag litecoind
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MINUTES_MS, ok, type Person, StagingInstallation } from '../support/staging-installation.ts'
import { newPayer } from '../support/x402-payer.ts'
import { type RecordedOnramps, startRecordedOnramps } from './recorded-onramps.ts'

/** The ways to pay that are no wallet's, by the rules of live money, on private chains. */

const LIVE = { 'paylink-mode': 'live' }
/** As in the recorded quotes. */
const AMOUNT = '50'

let onramps: RecordedOnramps
let installation: StagingInstallation
let owner: Person
beforeAll(async () => {
  onramps = await startRecordedOnramps()
  installation = await StagingInstallation.start({ ...onramps.environment, X402: '1' })
  owner = await installation.openAccount('owner')
}, 5 * MINUTES_MS)
afterAll(async () => {
  await installation?.close()
  await onramps?.close()
})

const asOwner = (method: 'GET' | 'POST', path: string, body?: object) =>
  ok(owner.browser.ask(method, `/api/v1${path}`, body, LIVE))
const makeInvoice = async (): Promise<{ id: string; address: string; checkout_url: string }> =>
  await asOwner('POST', '/invoices', { amount: AMOUNT, asset: 'USDC_BASE' })
const untilPaid = (id: string) =>
  installation.mined('it is paid', async () => (await asOwner('GET', `/invoices/${id}`)).status === 'paid')

test.each([
  ['coinbase', 'Coinbase', 'You pay $51.25'],
  ['moonpay', 'MoonPay', 'You pay $54.00'],
] as const)(
  'a card at a stand-in of %s buys the coins that pay an invoice',
  async (provider, name, price) => {
    const invoice = await makeInvoice()
    const card = `${invoice.checkout_url}/card`
    expect((await installation.post(card, { place: 'US-CA' })).status).toBe(303)
    const offers = await installation.page(card)
    const offer = new RegExp(`id="offer-${provider}".*?name="purchase" value="(card_[0-9a-z]+)"`, 's').exec(
      offers,
    )
    expect(offer?.[0]).toContain(price)
    const left = await installation.post(`${card}/leave`, { purchase: offer?.[1] ?? '' })
    const away = /0;url=([^"]+)"/.exec(await left.text())?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(new URL(away).origin).toBe(onramps.url)
    expect(await (await fetch(away)).text()).toContain(`${name}, rehearsed`)
    expect(onramps.purchase()).toEqual({ reference: offer?.[1], address: invoice.address })

    const { body, headers } = onramps.webhook(provider, onramps.purchase())
    const told = await fetch(`${installation.site}/onramp/${provider}/webhook`, {
      method: 'POST',
      body,
      headers,
    })
    expect(told.status).toBe(200)
    expect(await installation.page(invoice.checkout_url)).toContain(
      `${name} says that it has sent your payment`,
    )
    // A provider's word is no money.
    expect((await asOwner('GET', `/invoices/${invoice.id}`)).status).toBe('awaiting_payment')
    await installation.chains.pay('USDC_BASE', onramps.purchase().address, AMOUNT)
    await untilPaid(invoice.id)
    expect(await asOwner('GET', `/invoices/${invoice.id}`)).toMatchObject({
      livemode: true,
      amount_confirmed: AMOUNT,
    })
  },
)

test('an x402 client without ether pays an invoice', async () => {
  const { chains } = installation
  const invoice = await makeInvoice()
  const url = installation.site + new URL(`${invoice.checkout_url}/x402`).pathname
  // Nobody signs what could not be sent: the hot wallet has no ether.
  expect((await fetch(url)).status).toBe(503)
  const { hot } = await installation.feeWallets()
  await chains.pay('ETH_BASE', hot, '1')
  const payer = newPayer()
  await chains.pay('USDC_BASE', payer.address, AMOUNT)
  await installation.mined('the price is told', async () => (await fetch(url)).status === 402)
  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [
      { network: `eip155:${chains.environment.LIVE_BASE_CHAIN_ID}`, client: new ExactEvmScheme(payer) },
    ],
    spendControls: { maxAmountPerPayment: `$${AMOUNT}`, allowedAssets: true },
  })
  let response: Response | null = null
  const answered = pay(url).then((answer) => {
    response = answer
  })
  await installation.mined('the payment is in a block', async () => response !== null)
  await answered
  const { status, headers } = (response as Response | null) ?? new Response(null, { status: 500 })
  expect([status, headers.get('paylink-staging')]).toEqual([200, 'true'])
  await untilPaid(invoice.id)
  expect(await chains.holds('USDC_BASE', payer.address)).toBe(0n)
})

test('the audit and doctor find nothing, and no process logged an error', async () => {
  expect(await installation.command('audit')).toContain('Everything that was checked agrees.')
  const doctor = (await installation.run('doctor')).stdout.split('\n')
  expect(doctor.filter((line) => line.includes('Cards by'))).toEqual([
    '✓ Cards by Coinbase: answers',
    '✓ Cards by MoonPay: answers',
  ])
  expect(installation.errors()).toEqual([])
})
