// @module-tag chromium
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Dashboard, emailLink, emailOf, PASSWORD, signIn, startDashboard } from '../support/dashboard.ts'
import { axeFaults } from '../support/page-checks.ts'

const NEW_PASSWORD = 'another horse battery'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard()
})
afterAll(() => dashboard?.close())

test('an owner invites; the invited signs up, confirms, joins, gets another role and is removed', async () => {
  const owner = await dashboard.signUp('Olga Owner')
  await owner.page.getByText('This server sends no emails: ask whoever runs it for the link').waitFor()
  await owner.open(await emailLink(dashboard, emailOf('Olga Owner'), 'verify-email'))
  await owner.page.getByRole('button', { name: 'Confirm my address' }).click()
  await owner.page.getByRole('button', { name: 'Go to the dashboard' }).click()
  await owner.page.getByRole('heading', { name: 'Home' }).waitFor()
  expect(await owner.page.getByText('Confirm your email address').count()).toBe(0)

  await owner.open('/settings/team')
  await owner.page.getByRole('button', { name: 'Invite member' }).click()
  await owner.page.getByText('This server sends no emails. Copy the link').waitFor()
  await owner.page.getByLabel('Email').fill(emailOf('Max Member'))
  await owner.page.getByLabel('Viewer').check()
  await owner.page.getByRole('button', { name: 'Invite', exact: true }).click()
  await owner.page.getByRole('heading', { name: 'Invited' }).waitFor()

  const member = await dashboard.visitor()
  const invitation = await emailLink(dashboard, emailOf('Max Member'), 'invitation')
  await member.open(invitation)
  await member.page.getByRole('link', { name: 'Sign up' }).click()
  await member.page.getByLabel('Your name').fill('Max Member')
  expect(await member.page.getByLabel('Shop name').count()).toBe(0)
  await member.page.getByLabel('Email').fill(emailOf('Max Member'))
  await member.page.getByLabel('Password').fill(PASSWORD)
  await member.page.getByRole('button', { name: 'Sign up' }).click()
  await member.page.getByRole('heading', { name: 'Confirm your address first' }).waitFor()
  await member.open(await emailLink(dashboard, emailOf('Max Member'), 'verify-email'))
  await member.page.getByRole('button', { name: 'Confirm my address' }).click()
  await member.page.getByText('Your address is confirmed.').waitFor()
  await member.open(invitation)
  await member.page.getByRole('button', { name: 'Join the shop' }).click()
  await member.page.getByRole('heading', { name: 'Home' }).waitFor()
  await member.page.getByText('Shop of Olga Owner').waitFor()
  await member.open('/developers/keys')
  // The key that signing up made: a viewer sees that it works, and can neither make another nor end this one.
  await member.page.getByText('Works', { exact: true }).waitFor()
  expect(await member.page.getByRole('button', { name: /New key|Revoke/ }).count()).toBe(0)

  await owner.open('/settings/team')
  await owner.page.getByLabel('Role of Max Member').selectOption('member')
  await owner.page.getByText('Role changed').waitFor()
  await owner.page.getByRole('button', { name: 'Remove Max Member' }).click()
  await owner.page.getByRole('dialog', { name: 'Remove Max Member?' }).waitFor()
  expect(await axeFaults(owner.page, 'dialog')).toEqual([])
  await owner.page.getByRole('button', { name: 'Remove them' }).click()
  await owner.page.getByText('Member removed').waitFor()
  await member.page.goto(`${dashboard.url}/dashboard/invoices`)
  await member.page.getByRole('heading', { name: /Sign in|Open a shop/ }).waitFor()
  await Promise.all([owner.context.close(), member.context.close()])
})

test('a forgotten password is chosen anew by the message, and every sign-in before it is ended', async () => {
  const one = await dashboard.signUp('Rita Reset')
  const other = await dashboard.visitor()
  await other.open('/sign-in')
  await other.page.getByRole('link', { name: 'Forgot your password?' }).click()
  // The page before it also asks for an address, and stays until this one is loaded.
  await other.page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
  await other.page.getByLabel('Email').fill(emailOf('Rita Reset'))
  await other.page.getByRole('button', { name: 'Send the link' }).click()
  await other.page.getByText('a link is on its way').waitFor()
  await other.open(await emailLink(dashboard, emailOf('Rita Reset'), 'reset-password'))
  await other.page.getByLabel('New password').fill(NEW_PASSWORD)
  await other.page.getByRole('button', { name: 'Set the password' }).click()
  await other.page.getByRole('heading', { name: 'Your new password is set' }).waitFor()
  await one.page.goto(`${dashboard.url}/dashboard/invoices`)
  await one.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signIn(other, { email: emailOf('Rita Reset'), password: NEW_PASSWORD })
  await Promise.all([one.context.close(), other.context.close()])
})

test('the owner of a shop made by command chooses a password by the printed link, and sees that shop', async () => {
  const made = await dashboard.app.command(
    'merchant',
    'create',
    '--name',
    'Shop by Command',
    '--email',
    'Boss@shop.example',
    '--json',
  )
  const { set_password_url: url } = JSON.parse(made.stdout)
  const one = await dashboard.visitor()
  await one.open(url.slice(url.indexOf('/reset-password')))
  await one.page.getByLabel('New password').fill(NEW_PASSWORD)
  await one.page.getByRole('button', { name: 'Set the password' }).click()
  await one.page.getByRole('heading', { name: 'Your new password is set' }).waitFor()
  await signIn(one, { email: 'boss@shop.example', password: NEW_PASSWORD })
  await one.page.getByText('Shop by Command').waitFor()
  await one.context.close()
})

test('pages say whether the server sends emails', async () => {
  const one = await dashboard.signUp('Mia Mailer')
  const { page, open } = one
  await page.getByText('This server sends no emails').waitFor()
  for (const path of ['/settings/rules', '/settings/security']) {
    await open(path)
    await page.getByRole('main').getByText('This server sends no emails').first().waitFor()
  }
  await one.context.route('**/api/v1/merchant', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), sends_mail: true } })
  })
  for (const path of ['/settings/rules', '/settings/security']) {
    await open(path)
    await page.getByText(`open the link sent to ${emailOf('Mia Mailer')}`).waitFor()
    await page.getByRole('checkbox').first().waitFor()
    expect(await page.getByText('This server sends no emails').count()).toBe(0)
  }
  await open('/settings/team')
  await page.getByRole('button', { name: 'Invite member' }).click()
  await page.getByText('They get an email with a link').waitFor()
  // The page may be asking again.
  await one.context.unrouteAll({ behavior: 'ignoreErrors' })
  await one.context.close()
})

test('a stranger reads what Paylink is, and finds the guides', async () => {
  const one = await dashboard.visitor()
  await one.page.goto(`${dashboard.url}/`)
  await one.page.getByText('Paylink takes crypto payments').waitFor()
  await one.page.getByRole('link', { name: 'Read the guides' }).click()
  await one.page.getByRole('heading', { name: 'Guides', level: 1 }).waitFor()
  await one.context.close()
})

test('who was led to sign in comes back to where they were, and never to another site', async () => {
  const one = await dashboard.signUp('Nora Next')
  await one.page.getByRole('button', { name: 'Sign out' }).click()
  await one.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  for (const [next, path] of [
    ['/settings/team', '/dashboard/settings/team'],
    ['//evil.example/x', '/dashboard/'],
    ['/\\evil.example', '/dashboard/'],
    ['https://evil.example', '/dashboard/'],
    ['javascript:alert(1)', '/dashboard/'],
  ] as const) {
    await one.open(`/sign-in?next=${encodeURIComponent(next)}`)
    await one.page.getByLabel('Email').fill(emailOf('Nora Next'))
    await one.page.getByLabel('Password').fill(PASSWORD)
    await one.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await one.page.waitForURL(`${dashboard.url}${path}`)
    await one.context.clearCookies()
  }
  await one.context.close()
})
