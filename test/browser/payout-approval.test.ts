// @module-tag chromium
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/runtime/new-id.ts'
import { addAuthenticator, photograph } from '../support/browser.ts'
import {
  askFromPage,
  type Dashboard,
  emailLink,
  emailOf,
  PASSWORD,
  pretendLiveNetworks,
  startDashboard,
  type Visitor,
} from '../support/dashboard.ts'
import { axeFaults } from '../support/page-checks.ts'
import { creditLitecoin } from '../support/payout-money.ts'
import { codeOf } from '../support/people.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { until } from '../support/until.ts'

/** A live payout is approved in the dashboard, and the signer's own process looks at what the person gave. */

const SIGNER_MS_MAX = 60_000
const LTC = 100_000_000n

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard()
})
afterAll(() => dashboard?.close())

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Asks for a live payout to an address on the list, and shows its page. */
async function requestLivePayout(visitor: Visitor, merchantId: string): Promise<string> {
  const { page, open } = visitor
  const { owner } = dashboard.database
  const address = randomLitecoinAddress('main')
  await creditLitecoin(owner, { merchantId, livemode: true }, { units: LTC, now: new Date() })
  await owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, true, 'LTC', $3, 'Cold wallet', 'x', now(), now())`,
    [merchantId, newId('payoutDestination', new Date()), address],
  )
  await pretendLiveNetworks(visitor)
  await open('/payouts?mode=live')
  await press(page, 'New payout')
  await page.getByLabel('Amount in LTC').fill('0.5')
  await press(page, 'Continue')
  await press(page, 'Request payout')
  await page.getByRole('heading', { name: 'Approve this payout?' }).waitFor()
  return address
}

/** The signer has seen the person's credentials; as if that were a day ago, as far as the API knows. */
async function endWaitingTime(merchantId: string): Promise<void> {
  const { owner } = dashboard.database
  await until(
    async () => {
      const { rowCount } = await owner.query(
        `update approver_seen set counts_from = now()
       where member_id in (select id from organization_member where organization_id = $1)`,
        [merchantId],
      )
      return rowCount === 1
    },
    { timeoutMs: SIGNER_MS_MAX },
  )
}

/** What the signer found, and what is stored of how it was approved. */
async function verdictOn(merchantId: string): Promise<{ code: string; kind: string }> {
  const { owner } = dashboard.database
  const query = () =>
    owner.query<{ code: string; kind: string }>(
      `select r.code, a.evidence ->> 'kind' as kind
       from payout_refusal r join payout_approval a using (merchant_id, payout_id) where merchant_id = $1`,
      [merchantId],
    )
  await until(async () => (await query()).rowCount === 1, { timeoutMs: SIGNER_MS_MAX })
  const { rows } = await query()
  if (rows[0] === undefined) throw new Error('no verdict')
  return rows[0]
}

const merchantOf = async (visitor: Visitor): Promise<string> =>
  (await askFromPage(visitor, 'GET', '/api/v1/merchant')).body.id

test('a passkey approves a live payout, shown whole, in one step, and the signer goes by its own list', async () => {
  const shop = await dashboard.signUp('Kim Key')
  const { page, open } = shop
  await addAuthenticator(page)
  const merchantId = await merchantOf(shop)
  await open(await emailLink(dashboard, emailOf('Kim Key'), 'verify-email'))
  await press(page, 'Confirm my address')
  await page.getByText('Your address is confirmed.').waitFor()
  const address = await requestLivePayout(shop, merchantId)
  const path = new URL(page.url()).pathname.replace('/dashboard', '')
  await press(page, 'Approve')
  await page.getByText('add a passkey or set up your authenticator app').waitFor()
  await photograph(page, 'not-ready')
  await open('/settings/security')
  await page.getByPlaceholder('Laptop').fill('Work laptop')
  await press(page, 'Add a passkey')
  await page.getByText('Work laptop').waitFor()
  await endWaitingTime(merchantId)
  // The passkey itself is the second factor: nothing else is asked for.
  await dashboard.forgetSecondFactors()
  await open(`${path}?mode=live`)
  await press(page, 'Approve')
  const dialog = page.getByRole('dialog')
  await dialog.getByText(address).waitFor()
  await dialog.getByText('0.5 LTC').first().waitFor()
  expect(await axeFaults(page, 'dialog')).toEqual([])
  await photograph(page, 'passkey')
  await press(page, 'Approve with passkey')
  await page.locator('.badge', { hasText: /Approved|Failed/ }).waitFor()
  // Its signature is right; what the table says of the waiting time is not what the signer knows.
  expect(await verdictOn(merchantId)).toEqual({ kind: 'passkey', code: 'approver_too_new' })
  await shop.context.close()
})

test('without a passkey an authenticator code approves, and a wrong one is refused at once', async () => {
  const shop = await dashboard.signUp('Tom Totp')
  const { page, open } = shop
  const merchantId = await merchantOf(shop)
  await open(await emailLink(dashboard, emailOf('Tom Totp'), 'verify-email'))
  await press(page, 'Confirm my address')
  await page.getByText('Your address is confirmed.').waitFor()
  await open('/settings/security')
  await press(page, 'Set it up')
  await page.getByLabel('Your password').fill(PASSWORD)
  await press(page, 'Continue')
  const secret = (await page.locator('.copy-field code').textContent()) ?? ''
  await page.getByLabel('6-digit code').fill(await codeOf(secret, -1))
  await press(page, 'Turn it on')
  await press(page, 'I have kept them')
  // The code's secret is the server's too: a passkey is recommended beside it.
  await page.getByText('Add a passkey too.').waitFor()
  expect(await axeFaults(page)).toEqual([])
  const { owner } = dashboard.database
  await until(
    async () => {
      const { rowCount } = await owner.query('select from person_totp_seal')
      return rowCount === 1
    },
    { timeoutMs: SIGNER_MS_MAX },
  )
  await endWaitingTime(merchantId)
  await dashboard.forgetSecondFactors()
  const address = await requestLivePayout(shop, merchantId)
  await press(page, 'Approve')
  const dialog = page.getByRole('dialog')
  await dialog.getByText(address).waitFor()
  const right = await codeOf(secret)
  const wrong = String((Number(right) + 1) % 1_000_000).padStart(6, '0')
  await page.getByLabel('6-digit code').fill(wrong)
  await press(page, 'Approve and send')
  await dialog.getByRole('alert').getByText("That code isn't right. Enter the 6-digit code").waitFor()
  await photograph(page, 'wrong-code')
  await page.getByLabel('6-digit code').fill(await codeOf(secret))
  await photograph(page, 'code')
  await press(page, 'Approve and send')
  await page.locator('.badge', { hasText: /Approved|Failed/ }).waitFor()
  expect(await verdictOn(merchantId)).toEqual({ kind: 'totp', code: 'approver_too_new' })
  await shop.context.close()
})
