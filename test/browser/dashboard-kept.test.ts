// @module-tag chromium
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Dashboard, emailOf, PASSWORD, startDashboard, type Visitor } from '../support/dashboard.ts'
import { axeFaults } from '../support/page-checks.ts'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard()
})
afterAll(() => dashboard?.close())

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()

describe('nothing that was typed is lost', () => {
  let one: Visitor
  beforeAll(async () => {
    one = await dashboard.signUp('Gil Careful')
  })
  afterAll(() => one.context.close())

  const fillInvoice = async (reference: string) => {
    await one.open('/invoices')
    await press(one.page, 'New invoice')
    await one.page.getByLabel('Amount in US dollars').fill('7.25')
    await one.page.getByLabel('Your reference').fill(reference)
  }

  test('when the session ends: the same person signs in over the form, and the invoice is created', async () => {
    const { page, context } = one
    await fillInvoice('kept-1')
    await context.clearCookies()
    await press(page, 'Create invoice')
    const again = page.getByRole('dialog', { name: 'Your session expired: sign in to continue' })
    await again.getByLabel('Password').waitFor()
    expect(await axeFaults(page, 'dialog')).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await again.getByLabel('Email').inputValue()).toBe(emailOf('Gil Careful'))
    await again.getByLabel('Password').fill('not my password')
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await again.getByRole('alert').waitFor()
    await again.getByLabel('Password').fill(PASSWORD)
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('kept-1').first().waitFor()
    expect(page.url()).toMatch(/invoices\/inv_/)
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('when somebody else signs in instead: nothing of the first person is sent or shown', async () => {
    const { page, context } = one
    const other = await dashboard.signUp('Hal Other')
    await other.context.close()
    await fillInvoice('kept-other')
    await context.clearCookies()
    await press(page, 'Create invoice')
    const again = page.getByRole('dialog', { name: 'Your session expired' })
    await again.getByLabel('Email').fill(emailOf('Hal Other'))
    await again.getByLabel('Password').fill(PASSWORD)
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await heading(page, 'Home')
    await page.getByText('Shop of Hal Other').first().waitFor()
    const { rowCount } = await dashboard.database.owner.query(
      `select from invoice where external_reference = 'kept-other'`,
    )
    expect(rowCount).toBe(0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign in')
    await page.getByLabel('Email').fill(emailOf('Gil Careful'))
    await page.getByLabel('Password').fill(PASSWORD)
    await press(page, 'Sign in')
    await page.getByText('Shop of Gil Careful').first().waitFor()
  })

  test('when the server is away: the form stays, pages say so in their place, and Retry goes on', async () => {
    const { page, context } = one
    await fillInvoice('kept-2')
    await context.setOffline(true)
    await press(page, 'Create invoice')
    await page.getByRole('dialog').getByText('Paylink cannot be reached').waitFor()
    expect(await page.getByLabel('Your reference').inputValue()).toBe('kept-2')
    await page.keyboard.press('Escape')
    await page.getByText('what you typed is kept').waitFor()
    // A page whose code is not loaded yet: the application around it stays.
    await page.getByRole('link', { name: 'Shop details' }).click()
    await heading(page, 'This page could not be shown')
    await page.getByRole('link', { name: 'Invoices' }).click()
    await heading(page, 'Invoices')
    await context.setOffline(false)
    await page.getByRole('alert').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('what you typed is kept').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Shop details' }).click()
    await heading(page, 'Shop details')
  })
})
