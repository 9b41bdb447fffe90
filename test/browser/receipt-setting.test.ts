// @module-tag chromium
import { expect, test } from 'vitest'
import { photograph } from '../support/browser.ts'
import { askFromPage, startDashboard } from '../support/dashboard.ts'
import { startMailServer } from '../support/mail-server.ts'
import { until } from '../support/until.ts'

const MAILED_MS_MAX = 120_000

test('a shop turns receipts on, its own people try one in test mode, and the whole program mails it', async () => {
  const server = await startMailServer()
  const dashboard = await startDashboard({ SMTP_URL: server.url })
  try {
    const { page, open, alerts } = await dashboard.signUp('Mara Keeper')
    const email = 'mara.keeper@example.com'
    await dashboard.writeSealed('update person set email_verified = true where email = $1', [email])
    await open('/settings/rules')
    await page.getByLabel('Buyers may ask for the receipt by email').check()
    await photograph(page, 'receipt-setting')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('status').getByText('saved').waitFor()
    const shop = { page, open, alerts, context: page.context() }
    const body = { usd_amount: '12', asset: 'LTC', external_reference: 'order-12' }
    const invoice = (await askFromPage(shop, 'POST', '/api/v1/invoices', body)).body
    const buyer = await dashboard.visitor()
    await buyer.page.goto(`${dashboard.url}${new URL(invoice.checkout_url).pathname}`)
    await buyer.page.locator('#receipt-summary').click()
    await buyer.page.locator('#email').fill(email)
    await buyer.page.locator('#receipt-send').click()
    await buyer.page.locator('#receipt-requested').waitFor({ state: 'attached' })
    await buyer.page.locator('#sandbox-exact').click()
    await expect.poll(() => buyer.page.locator('h1').textContent()).toBe('Payment complete')
    const subject = () => server.lines.find((line) => line.startsWith('Subject: [TEST] Receipt from'))
    await until(() => subject() !== undefined, { what: 'the receipt is mailed', timeoutMs: MAILED_MS_MAX })
    expect(server.addressees.at(-1)).toBe(email)
    // The text follows the subject.
    await until(() => server.lines.join('\n').includes('order-12'), { what: 'the receipt names the order' })
    expect([alerts, buyer.alerts]).toEqual([[], []])
  } finally {
    await dashboard.close()
    server.close()
  }
})
