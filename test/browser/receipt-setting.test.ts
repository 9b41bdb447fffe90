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
    await page.getByLabel('The link, when the invoice is created').check()
    await page.getByLabel('The receipt, once it is paid').check()
    await page.getByLabel('Language of these emails').selectOption('Deutsch')
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
    // The link goes to whom the invoice names, and the dashboard says so; a stranger gets none in test mode.
    const named = { ...body, customer_email: email }
    const [own, strange] = [
      (await askFromPage(shop, 'POST', '/api/v1/invoices', named)).body,
      (await askFromPage(shop, 'POST', '/api/v1/invoices', { ...body, customer_email: 'you@example.com' }))
        .body,
    ]
    const linked = () => server.lines.some((line) => line.startsWith('Subject: [TEST] Zahlungsaufforderung'))
    await until(linked, { what: 'the link is mailed', timeoutMs: MAILED_MS_MAX })
    expect(server.addressees.filter((to) => to !== email)).toEqual([])
    const card = page.locator('section', { has: page.getByRole('heading', { name: 'Emails to the buyer' }) })
    await open(`/invoices/${own.id}`)
    await card.getByText(/^Sent [A-Z]/).waitFor()
    await open(`/invoices/${strange.id}`)
    await card.getByText('Not sent: in test mode only confirmed addresses of your team get emails').waitFor()
    // What is due later is not promised to an address that gets nothing.
    await card.getByText('Will not be sent: in test mode').waitFor()
    await photograph(page, 'buyer-email-not-sent')
    await until(() => server.lines.some((line) => line.includes('List-Unsubscribe:')), { what: 'headers' })
    const unsubscribe =
      /List-Unsubscribe: <([^>]+)>/.exec(server.lines.join(' ').replace(/\s+/g, ' '))?.[1] ?? ''
    await buyer.page.goto(unsubscribe.replace(/^https?:\/\/[^/]+/, dashboard.url))
    await photograph(buyer.page, 'unsubscribe')
    await buyer.page.locator('#action').click()
    await expect.poll(() => buyer.page.locator('h1').textContent()).toBe('Sie sind abgemeldet')
    expect([alerts, buyer.alerts]).toEqual([[], []])
  } finally {
    await dashboard.close()
    server.close()
  }
})
