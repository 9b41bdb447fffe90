import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Dashboard, fillSignUp, startDashboard } from '../support/dashboard.ts'

const MINUTES_MAX = 3
let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard()
})
afterAll(() => dashboard?.close())

test('a newcomer signs up and sees their first invoice.paid in under three minutes, without leaving the browser', async () => {
  const { page, complaints, open } = await dashboard.visitor()
  const startedAt = performance.now()
  await open('/')
  await page.getByRole('link', { name: 'New here? Sign up' }).click()
  await fillSignUp(page, 'Ada Newcomer')
  await page.getByRole('heading', { name: 'Your first payment, in five minutes' }).waitFor()
  await page.getByRole('button', { name: 'Make a key' }).click()
  const curl = page.locator('.snippet').first()
  await expect.poll(() => curl.textContent()).toMatch(/authorization: Bearer sk_test_[0-9A-Za-z]{43}/)
  await page.getByRole('button', { name: 'Or make it here' }).click()
  await page.getByRole('button', { name: 'Pay with test coins' }).click()
  await page.getByText('invoice.paid happened').waitFor()
  const seconds = (performance.now() - startedAt) / 1_000
  console.info(`first invoice.paid after ${seconds.toFixed(1)} s`)
  expect(seconds).toBeLessThan(MINUTES_MAX * 60)
  await page.getByRole('link', { name: 'Look at the event' }).click()
  await page.getByRole('heading', { name: 'invoice.paid' }).waitFor()
  expect(complaints).toEqual([])
})
