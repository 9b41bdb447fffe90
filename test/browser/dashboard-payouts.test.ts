// @module-tag chromium
import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { holdRequests, photograph } from '../support/browser.ts'
import {
  askFromPage,
  type Dashboard,
  emailOf,
  pretendLiveNetworks,
  startDashboard,
  stepUp,
  turnOnSecondFactor,
  type Visitor,
} from '../support/dashboard.ts'
import { inBlock } from '../support/invoice.ts'
import { axeContrastFaults, overflow } from '../support/page-checks.ts'
import { creditLitecoin } from '../support/payout-money.ts'
import { codeOf } from '../support/people.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { until } from '../support/until.ts'

const PAID_MS_MAX = 120_000
const ARRIVED_MS_MAX = 60_000
const LTC = 100_000_000n

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard()
})
afterAll(() => dashboard?.close())

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()

/** With another last letter. */
const mistyped = (address: string) => address.slice(0, -1) + (address.endsWith('q') ? 'p' : 'q')

async function allow(page: Page, address: string, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add destination' }).first().click()
  await page.getByLabel('Coin').selectOption('LTC')
  await page.getByLabel('Address', { exact: true }).fill(address)
  await page.getByLabel('Name', { exact: true }).fill(name)
  await press(page, 'Add')
}

/** An invoice of the visitor's shop, paid on the sandbox chain. */
async function earn(visitor: Visitor): Promise<void> {
  const made = await askFromPage(visitor, 'POST', '/api/v1/invoices', { usd_amount: '50', asset: 'LTC' })
  const path = `/api/v1/invoices/${made.body.id}`
  await askFromPage(visitor, 'POST', `/api/v1/test/invoices/${made.body.id}/pay`, { scenario: 'exact' })
  await until(async () => (await askFromPage(visitor, 'GET', path)).body.status === 'paid', {
    timeoutMs: PAID_MS_MAX,
  })
}

/** The file that the page's CSV button saves, by the names of its columns; none of its cells has a comma. */
async function savedRows(page: Page): Promise<{ [column: string]: string | undefined }[]> {
  const [saved] = await Promise.all([page.waitForEvent('download'), press(page, 'Export CSV')])
  const [columns = [], ...rows] = (await readFile(await saved.path(), 'utf8'))
    .trimEnd()
    .split('\r\n')
    .map((row) => row.split(','))
  return rows.map((row) => {
    expect(row.length).toBe(columns.length)
    return Object.fromEntries(columns.map((column, at) => [column, row[at]]))
  })
}

/** A payout's page takes focus from nobody, neither when it is loaded nor when the list of destinations is there and its title longer. */
async function keepsFocus(page: Page): Promise<void> {
  const releasePayout = await holdRequests(page, '**/api/v1/payouts/*')
  const releaseDestinations = await holdRequests(page, '**/api/v1/payout-destinations*')
  const hasFocus = (button: Locator) => button.evaluate((element) => element === document.activeElement)
  await page.reload()
  const signOut = page.getByRole('button', { name: 'Sign out' })
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  await page.getByRole('heading', { level: 1, name: 'Payout' }).waitFor()
  await signOut.focus()
  releasePayout()
  await approve.waitFor()
  expect(await hasFocus(signOut)).toBe(true)
  await approve.focus()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).not.toContain('Treasury')
  releaseDestinations()
  await page.getByRole('heading', { level: 1, name: 'Treasury' }).waitFor()
  expect(await hasFocus(approve)).toBe(true)
}

const merchantOf = async (visitor: Visitor): Promise<string> =>
  (await askFromPage(visitor, 'GET', '/api/v1/merchant')).body.id

test('deposits are listed with their customers, and a whole reference leads to the addresses', async () => {
  const shop = await dashboard.signUp('Dee Posit')
  const { page } = shop
  const asked = await askFromPage(shop, 'POST', '/api/v1/deposit-addresses', {
    customer_reference: 'player 7',
  })
  expect(asked.body.addresses.map(({ family }) => family)).toEqual(['bitcoin', 'litecoin', 'evm', 'solana'])
  const tenant = { merchantId: await merchantOf(shop), livemode: false }
  const final = inBlock('ab'.repeat(32), LTC / 2n, 60)
  await recordTransfers(
    { pool: dashboard.database.pools.watcher, clock: () => new Date() },
    { tenant, invoiceId: asked.body.id, facts: [final], tipHeight: 160 },
  )
  await page.getByRole('link', { name: 'Deposits', exact: true }).click()
  await page.getByRole('row', { name: /0\.5 LTC.*player 7.*Confirmed/ }).waitFor()
  await photograph(page, 'deposits')
  await page.getByRole('link', { name: 'player 7' }).click()
  await page.getByRole('heading', { name: 'Addresses of player 7' }).waitFor()
  const addresses = asked.body.addresses.map(({ address }) => address)
  expect(await page.locator('.copy-field code').allTextContents()).toEqual(addresses)
  await page.getByLabel('Coin', { exact: true }).selectOption('LTC')
  await page.getByLabel('Amount in coins').fill('0.25')
  await press(page, 'Send test coins')
  await page.getByText('The test deposit is on its way.').waitFor()
  await page.getByRole('row', { name: /0\.25 LTC.*player 7/ }).waitFor()
  await photograph(page, 'deposits-of-customer')
  await page.getByLabel('Find a customer').fill('player')
  await page.keyboard.press('Enter')
  await page.getByText('No customer has this reference.').waitFor()
  expect(shop.alerts).toEqual([])
})

test('an only owner adds an address, sees what arrives, requests, approves; it arrives in the statement', async () => {
  const shop = await dashboard.signUp('Pia Alone')
  const { page, open, alerts } = shop
  await earn(shop)
  await open('/payouts/destinations')
  const address = randomLitecoinAddress('regtest')
  await allow(page, mistyped(address), 'Treasury')
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('Address', { exact: true }).fill(address)
  await press(page, 'Add')
  await page.getByText('The address is on the list.').waitFor()
  await press(page, 'Check Treasury')
  await expect
    .poll(() => page.locator('.copy-field code').allTextContents())
    .toEqual([address, expect.stringMatching(/^[0-9a-f]{64}$/)])
  await press(page, 'Done')
  alerts.length = 0

  // While balances cannot be read the form is there all the same, and stays under the hands that fill it.
  await page.route('**/api/v1/balances*', (route) => route.fulfill({ status: 503, body: '{}' }))
  await open('/payouts')
  await press(page, 'New payout')
  const amount = page.getByRole('dialog').getByLabel('Amount in LTC', { exact: true })
  await amount.fill('0.5')
  for (let failures = 0; failures < 4; failures++)
    await page.waitForResponse((response) => response.url().includes('/balances') && !response.ok())
  expect(await amount.evaluate((field) => field === document.activeElement)).toBe(true)
  await page.unroute('**/api/v1/balances*')
  alerts.length = 0

  const releaseBalances = await holdRequests(page, '**/api/v1/balances*')
  await open('/payouts')
  await press(page, 'New payout')
  // The buttons come with all that stands above them: nothing moves under the pointer.
  await page.getByRole('dialog').locator('.skeleton').first().waitFor()
  expect(await page.getByRole('button', { name: 'Everything', exact: true }).count()).toBe(0)
  releaseBalances()
  await press(page, 'Everything')
  await heading(page, 'Review payout')
  const dialog = page.getByRole('dialog')
  await dialog.getByText(address).waitFor()
  const fact = (name: string) => dialog.locator('.facts div', { hasText: name }).locator('dd')
  const arrives = (await fact('Arrives').locator('strong').textContent()) ?? ''
  for (const name of ['Debited', 'Estimated network fee', 'Arrives'])
    await expect
      .poll(() => fact(name).textContent())
      .toMatch(/^[\d.]+ LTC \((about \$[\d.]+|less than \$0\.01)\)$/)
  await photograph(page, 'review-payout')
  await press(page, 'Request payout')
  await heading(page, 'Approve this payout?')
  await page.locator('main .facts div', { hasText: 'Estimated network fee' }).getByText(/\$/).waitFor()
  await photograph(page, 'approve-payout')
  await keepsFocus(page)
  await page.getByText('Approval details').click()
  await page.getByText('even in the database itself').waitFor()
  await page.getByText(arrives).first().waitFor()
  await open('/')
  await page.getByText('A payout waits for approval').waitFor()
  await page.getByRole('link', { name: 'Review it' }).click()
  await page.getByRole('link', { name: /LTC$/ }).click()
  await press(page, 'Approve')
  await press(page, 'Approve and send')
  await page.locator('.badge', { hasText: 'Completed' }).waitFor({ timeout: ARRIVED_MS_MAX })
  await page.getByText('Payout completed').waitFor()

  await open('/payouts')
  expect(await savedRows(page)).toMatchObject([
    {
      status: 'confirmed',
      asset: 'LTC',
      destination: address,
      txid: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  ])
  await open('/balances')
  await page
    .getByRole('link', { name: /^Payout sent/ })
    .first()
    .waitFor()
  const available = (await savedRows(page)).filter(({ account }) => account === 'available')
  expect(available.map(({ type }) => type)).toEqual(['payout', 'deposit'])
  expect(available[0]).toMatchObject({ balance_after: '0', payout_id: expect.stringMatching(/^po_/) })
  expect(available[0]).toMatchObject({ home_currency: '', home_value: '', home_rate_source: '' })

  await page.getByRole('link', { name: 'Monthly statement' }).click()
  await page.getByRole('link', { name: 'Set your currency' }).waitFor()
  // In the shop's own currency too: where no rate of the day was kept that is said, and today's is not taken.
  await askFromPage(shop, 'PATCH', '/api/v1/merchant', { home_currency: 'EUR' })
  await open('/balances')
  const isCredit = ({ type, account }: { [column: string]: string | undefined }) =>
    type === 'deposit' && account === 'available'
  expect((await savedRows(page)).find(isCredit)).toMatchObject({
    usd_value: '50.00',
    home_currency: 'EUR',
    home_value: '45.45',
    home_rate_usd: '1.1',
    home_rate_source: expect.stringMatching(/^sandbox at \d{4}-\d\d-\d\dT[\d:.]+Z$/),
  })
  await page.getByText('€45.45').first().waitFor()
  expect(await axeContrastFaults(page)).toEqual([])
  await photograph(page, 'statement-home-currency')
  await page.route('**/api/v1/balances/entries*', async (route) => {
    const body = await (await route.fetch()).json()
    for (const entry of body.data) entry.home_value = { currency: 'EUR', amount: null, rate: null }
    await route.fulfill({ json: body })
  })
  await open('/balances')
  await page.getByText('No EUR rate kept').first().waitFor()
  const [unvalued] = await savedRows(page)
  expect(unvalued).toMatchObject({ home_currency: 'EUR', home_value: '', home_rate_usd: '' })
  expect(unvalued?.home_rate_source).toMatch(/^no rate kept for \d{4}-\d\d-\d\d$/)
  await page.unroute('**/api/v1/balances/entries*')

  // A month of it on paper: what was available at both ends, and each line in both currencies.
  await page.getByRole('link', { name: 'Monthly statement' }).click()
  await page.getByRole('heading', { level: 1, name: /^Statement for \w+ 20\d\d$/ }).waitFor()
  const entryRows = page.getByRole('region', { name: 'Entries, oldest first' }).getByRole('row')
  await expect.poll(() => entryRows.count()).toBe(3)
  const rowTexts = await entryRows.allInnerTexts()
  expect(rowTexts[1]).toMatch(
    /Payment.*0\.5 LTC\s+\$50\.00\s+€45\.45\s+1 EUR = 1\.1 USD, sandbox, 20\d\d-\d\d-\d\d/s,
  )
  expect(rowTexts[2]).toMatch(/Payout.*-0\.5 LTC\s+-\$50\.00\s+-€45\.45/s)
  await page
    .getByRole('region', { name: 'Available balance by coin' })
    .getByRole('row', { name: /^Litecoin 0 LTC 0 LTC$/ })
    .waitFor()
  expect((await savedRows(page)).map(({ account }) => account)).toEqual(['available', 'available'])
  expect(await axeContrastFaults(page)).toEqual([])
  await photograph(page, 'monthly-statement')
  await page.setViewportSize({ width: 320, height: 900 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'monthly-statement-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('button', { name: 'Print or save as PDF' }).isVisible()).toBe(false)
  expect(await page.getByRole('navigation').first().isVisible()).toBe(false)
  // A4 between Chromium's margins.
  await page.setViewportSize({ width: 718, height: 900 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'monthly-statement-paper')
  await page.setViewportSize({ width: 1280, height: 900 })
  expect((await page.pdf()).subarray(0, 5).toString()).toBe('%PDF-')
  await page.emulateMedia({ media: 'screen' })
  await page.getByRole('link', { name: 'Previous month' }).click()
  await page.getByText('No activity in this month, and no available balance.').waitFor()
  await open('/balances/statement?month=2026-99')
  await page.getByRole('heading', { level: 1, name: /^Statement for \w+ 20\d\d$/ }).waitFor()
  expect(alerts).toEqual([])
  await shop.context.close()
})

test('in live mode a requester cannot approve; another manager does, by second factor; nobody else may', async () => {
  const asker = await dashboard.signUp('Ana Asker')
  await pretendLiveNetworks(asker)
  const approver = await dashboard.signUp('Ben Approver')
  const merchantId = await merchantOf(asker)
  await dashboard.writeSealed('update person set email_verified = true')
  const { backupCodes } = await turnOnSecondFactor(asker)
  const { secret } = await turnOnSecondFactor(approver)
  await join(approver, 'Ben Approver', merchantId, 'admin')
  await dashboard.forgetSecondFactors()

  const { page, open } = asker
  const address = randomLitecoinAddress('main')
  await open('/payouts/destinations?mode=live')
  await allow(page, address, 'Cold wallet')
  await stepUp(asker, backupCodes[0])
  await page.locator('.badge', { hasText: /^From / }).waitFor()
  const { owner } = dashboard.database
  await creditLitecoin(owner, { merchantId, livemode: true }, { units: LTC, now: new Date() })
  await open('/payouts?mode=live')
  await press(page, 'New payout')
  await page.getByText('still in their waiting time').waitFor()
  // As if the day were over.
  await owner.query(`update payout_destination set usable_at = created_at where merchant_id = $1`, [
    merchantId,
  ])
  await open('/payouts?mode=live')
  await press(page, 'New payout')
  await page.getByLabel('Amount in LTC').fill('0,5')
  await press(page, 'Continue')
  await press(page, 'Request payout')
  await page.getByText('You requested it: another owner or admin of this shop approves it.').waitFor()
  expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  const path = new URL(page.url()).pathname.replace('/dashboard', '')

  const viewer = await dashboard.signUp('Vic Viewer')
  await join(viewer, 'Vic Viewer', merchantId, 'viewer')
  await viewer.open(`${path}?mode=live`)
  await viewer.page.getByText('An owner or admin of this shop decides about it.').waitFor()
  expect(await viewer.page.getByRole('button', { name: /^(Approve|Reject)$/ }).count()).toBe(0)
  await viewer.open('/payouts/destinations?mode=live')
  await viewer.page.getByText('Cold wallet').waitFor()
  expect(await viewer.page.getByRole('button', { name: /Allow|Remove/ }).count()).toBe(0)

  // As if the signer had known the approver's authenticator app for a day.
  await until(
    async () => {
      const { rowCount } = await owner.query('update approver_seen set counts_from = now()')
      return rowCount === 3
    },
    { timeoutMs: ARRIVED_MS_MAX },
  )
  await approver.open(`${path}?mode=live`)
  await approver.page.getByText('Ana Asker', { exact: true }).first().waitFor()
  await press(approver.page, 'Approve')
  await approver.page.getByRole('dialog').getByText(address).waitFor()
  await approver.page.getByLabel('6-digit code').fill(await codeOf(secret))
  await press(approver.page, 'Approve and send')
  await approver.page.getByRole('dialog').waitFor({ state: 'detached' })
  const { rows } = await owner.query(
    'select approved_at, requested_by, approved_by from payout where merchant_id = $1',
    [merchantId],
  )
  expect(rows).toMatchObject([{ approved_at: expect.any(Date) }])
  expect(rows[0]?.requested_by).not.toBe(rows[0]?.approved_by)

  await Promise.all([asker, approver, viewer].map(({ context }) => context.close()))
})

/** Makes a person one of a shop's, as an accepted invitation does, and the shop the one that they see. */
async function join(visitor: Visitor, name: string, merchantId: string, role: string): Promise<void> {
  const { owner } = dashboard.database
  const { rows } = await owner.query<{ id: string }>('select id from person where email = $1', [
    emailOf(name),
  ])
  await dashboard.writeSealed(
    `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, $4, now())`,
    [newId('member', new Date()), merchantId, rows[0]?.id, role],
  )
  await askFromPage(visitor, 'POST', '/api/auth/organization/set-active', { organizationId: merchantId })
}

test('a rejected payout gives its money back, and a removed destination takes no more', async () => {
  const shop = await dashboard.signUp('Rob Rejecter')
  const { page, open } = shop
  const merchantId = await merchantOf(shop)
  await creditLitecoin(
    dashboard.database.owner,
    { merchantId, livemode: false },
    { units: LTC, now: new Date() },
  )
  await open('/payouts/destinations')
  await allow(page, randomLitecoinAddress('regtest'), 'Wallet')
  await page.getByText('The address is on the list.').waitFor()
  await open('/payouts')
  await press(page, 'New payout')
  await page.getByLabel('Amount in LTC').fill('2')
  await press(page, 'Continue')
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('Amount in LTC').fill('1')
  await press(page, 'Continue')
  await press(page, 'Request payout')
  await press(page, 'Reject')
  await press(page, 'Reject it')
  await page.locator('.badge', { hasText: 'Rejected' }).waitFor()
  await open('/balances')
  await page.getByText('1 LTC').first().waitFor()
  await open('/payouts/destinations')
  await press(page, 'Remove Wallet')
  await press(page, 'Remove it')
  await heading(page, 'No destinations yet')
  await shop.context.close()
})
