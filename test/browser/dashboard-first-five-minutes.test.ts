// @module-tag chromium
import { afterAll, beforeAll, expect, test } from 'vitest'
import { photograph } from '../support/browser.ts'
import { type Dashboard, fillSignUp, startDashboard } from '../support/dashboard.ts'

const MS_MAX = 3 * 60_000
let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard()
})
afterAll(() => dashboard?.close())

test('a newcomer signs up and sees their first invoice.paid within three minutes, all in the browser', async () => {
  const { page, alerts, open } = await dashboard.visitor()
  const startedAt = performance.now()
  await open('/')
  await page.getByRole('link', { name: 'New here? Sign up' }).click()
  await fillSignUp(page, 'Ada Newcomer')
  await page.getByRole('heading', { name: 'Your first payment, in five minutes' }).waitFor()
  // Key, link and invoice were made with the shop; the command to paste has the key in it.
  const curl = (await page.locator('.snippet').first().textContent()) ?? ''
  const key = /authorization: Bearer (sk_test_[0-9A-Za-z]{43})/.exec(curl)?.[1] ?? ''
  const asked = await fetch(`${dashboard.url}/api/v1/payment-links`, {
    headers: { authorization: `Bearer ${key}` },
  })
  expect((await asked.json()).data).toMatchObject([{ usd_amount: '4.50', active: true }])
  await page.getByText('0 of 1 invoices paid').waitFor()
  // Nothing to draw yet: one card says what will be drawn, and when.
  const [charts, noCharts] = [
    page.locator('figure.chart'),
    page.getByText('Your first paid invoice draws them'),
  ]
  await noCharts.waitFor()
  expect(await charts.count()).toBe(0)
  const headings = await page.locator('main').getByRole('heading', { level: 2 }).allTextContents()
  expect(headings[0]).toBe('Your first payment, in five minutes')
  // What needs no developer comes first; "done" is for a screen reader.
  const steps = await page.locator('.checklist-card h3').allTextContents()
  expect(steps.map((step) => step.replace(', done', ''))).toEqual([
    'Create a payment link',
    'Pay it with test coins',
    'For your developer',
    'Create an API key',
    'Create your first invoice',
    'Set up webhooks',
  ])
  await photograph(page, 'home-checklist')
  await page.getByRole('button', { name: 'Create a payment link' }).click()
  await page.getByRole('heading', { name: 'New payment link' }).waitFor()
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('link', { name: 'Open “Coffee, for example”' }).waitFor()
  await page.getByRole('button', { name: 'Pay with test coins' }).click()
  await page.getByText('invoice.paid happened').waitFor({ timeout: MS_MAX })
  const ms = performance.now() - startedAt
  console.info(`first invoice.paid after ${(ms / 1_000).toFixed(1)} s`)
  expect(ms).toBeLessThan(MS_MAX)
  await page.getByText('1 of 1 invoices paid').waitFor()
  await charts.first().waitFor()
  expect(await noCharts.count()).toBe(0)
  await page.getByRole('link', { name: 'Look at the event' }).click()
  await page.getByRole('heading', { name: 'invoice.paid' }).waitFor()
  expect(alerts).toEqual([])
})
