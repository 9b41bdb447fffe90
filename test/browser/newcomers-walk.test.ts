// @module-tag chromium
import { afterAll, beforeAll, expect, test } from 'vitest'
import { photograph } from '../support/browser.ts'
import { type Dashboard, fillSignUp, startDashboard } from '../support/dashboard.ts'
import { answerChallenges, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

/** A newcomer's first hour, page by page; `npm run screenshots` keeps a picture of each. */
const ARRIVED_MS_MAX = 120_000
let dashboard: Dashboard
let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await startReceiver({ respond: answerChallenges })
  dashboard = await startDashboard({ WEBHOOK_ALLOW_PRIVATE: '1' })
})
afterAll(async () => {
  await dashboard?.close()
  await receiver.close()
})

test('sign-up, the first payment, webhook and payout, and what going live takes', async () => {
  const shop = await dashboard.visitor()
  const { page, open } = shop
  // No picture of something half drawn.
  await page.emulateMedia({ reducedMotion: 'reduce' })

  let steps = 0
  const picture = async (name: string) => {
    await page.locator('[aria-busy=true], .skeleton').first().waitFor({ state: 'detached' })
    await photograph(page, `walk/${String(++steps).padStart(2, '0')}-${name}`)
  }
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

  await open('/sign-up')
  await fillSignUp(page, 'Ada Newcomer')
  await page.getByRole('heading', { name: 'Your first payment, in five minutes' }).waitFor()
  await picture('home')

  await open('/links')
  await page.getByRole('button', { name: 'New link' }).first().click()
  await page.getByLabel('Product or description').fill('Coffee beans, 1 kg')
  await page.getByLabel('Amount in US dollars').fill('24.50')
  await picture('new-link')
  await press('Create link')
  await page.getByRole('heading', { name: 'Coffee beans, 1 kg' }).waitFor()
  await picture('link')
  const link = (await page.locator('.copy-field code').first().textContent()) ?? ''
  await page.goto(dashboard.url + new URL(link).pathname)
  await picture('buyer-chooses-a-coin')
  await page.getByText('Litecoin').first().click()
  await page.locator('#continue').click()
  await page.locator('#sandbox-exact').waitFor()
  await picture('buyer-pays')
  await page.locator('#sandbox-exact').click()
  await page.getByRole('heading', { name: 'Payment complete' }).waitFor({ timeout: ARRIVED_MS_MAX })
  await picture('buyer-has-paid')
  await page.locator('#receipt').click()
  await page.getByRole('heading', { name: 'Receipt' }).waitFor()
  await picture('receipt')
  await open('/invoices')
  await page.getByRole('link', { name: 'Coffee beans, 1 kg' }).waitFor()
  await picture('invoices')
  await page.getByRole('link', { name: 'Coffee beans, 1 kg' }).click()
  await page.getByRole('heading', { name: '$24.50 for Coffee beans, 1 kg' }).waitFor()

  await open('/developers/webhooks')
  await page.getByRole('button', { name: 'Add endpoint' }).first().click()
  await page.getByLabel('Endpoint URL').fill(receiver.url)
  await picture('new-endpoint')
  await press('Create endpoint')
  await press('I have copied it')
  await press('Verify')
  await page.getByText('Enabled', { exact: true }).waitFor()
  await press('Send test event')
  await receiver.waitFor(1)
  await page.getByRole('row').filter({ hasText: 'invoice.paid' }).first().waitFor()
  await picture('endpoint')

  await open('/payouts/destinations')
  await page.getByRole('button', { name: 'Add destination' }).first().click()
  await page.getByLabel('Coin').selectOption('LTC')
  await press('Use a test address')
  await page.getByText('It takes test coins').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('Treasury')
  await picture('new-destination')
  await press('Add')
  await page.getByText('The address is on the list.').waitFor()
  await open('/payouts')
  await press('New payout')
  await page.getByText('available. The network').waitFor()
  await press('Everything')
  await page.getByRole('heading', { name: 'Review payout' }).waitFor()
  await page.getByText('about $24.50').first().waitFor()
  await picture('new-payout')
  await press('Request payout')
  await press('Approve')
  await page.getByRole('heading', { name: /^Send / }).waitFor()
  await picture('approve-payout')
  await press('Approve and send')
  await page.locator('.badge', { hasText: 'Completed' }).waitFor({ timeout: ARRIVED_MS_MAX })
  await picture('payout')
  await open('/balances')
  await page.getByText('available, at current prices').waitFor()
  await picture('balances')

  await open('/')
  await page.getByText('1 of 2 invoices paid').waitFor()
  await picture('home-with-figures')
  await open('/settings/go-live')
  await picture('going-live')
  expect(shop.alerts).toEqual([])
})
