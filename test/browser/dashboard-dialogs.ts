import type { Page } from 'playwright-core'

/** What the demo shop of the test has, by its ids. */
export type ShopIds = {
  readonly open: string
  readonly endpoint: string
  readonly payout: string
}

export type DialogCase = {
  readonly path: (ids: ShopIds) => string
  /** The button that opens it. */
  readonly trigger: string | RegExp
  /** Its title. */
  readonly title: string | RegExp
  readonly before?: (page: Page) => Promise<unknown>
  /** On to a later step of it. */
  readonly advance?: (page: Page, password: string) => Promise<void>
  /** Which button has focus again after it; the trigger, unless it opened over another window. */
  readonly returnsTo?: string
  /** The button that alone closes it: what it shows is shown once. */
  readonly heldBy?: string
  /** Below this width alone is there such a button. */
  readonly widthMax?: number
}

const press = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
const fill = (page: Page, label: string, text: string) =>
  page.getByRole('dialog').getByLabel(label, { exact: true }).fill(text)

/** The windows that can open over a page, and how. */
export const DIALOGS: { readonly [name: string]: DialogCase } = {
  menu: { path: () => '/', trigger: 'Open the menu', title: 'Menu', widthMax: 800 },
  search: { path: () => '/', trigger: 'Search everything', title: 'Search' },
  'edit-endpoint': {
    path: ({ endpoint }) => `/developers/webhooks/${endpoint}`,
    trigger: 'Edit',
    title: 'Edit endpoint',
  },
  'new-invoice': { path: () => '/invoices', trigger: 'New invoice', title: 'New invoice' },
  'cancel-invoice': {
    path: ({ open }) => `/invoices/${open}`,
    trigger: 'Cancel invoice',
    title: 'Cancel this invoice?',
  },
  'accept-invoice': { path: () => '/attention', trigger: 'Accept as paid', title: 'Mark as paid?' },
  'new-link': { path: () => '/links', trigger: 'New link', title: 'New payment link' },
  'new-payout': { path: () => '/payouts', trigger: 'New payout', title: 'New payout' },
  'new-payout-review': {
    path: () => '/payouts',
    trigger: 'New payout',
    title: 'Review payout',
    advance: (page) => press(page, 'Everything'),
  },
  'approve-payout': {
    path: ({ payout }) => `/payouts/${payout}`,
    trigger: 'Approve',
    title: /^Send /,
  },
  'reject-payout': {
    path: ({ payout }) => `/payouts/${payout}`,
    trigger: 'Reject',
    title: 'Reject this payout?',
  },
  'new-destination': {
    path: () => '/payouts/destinations',
    trigger: 'Add destination',
    title: 'Add destination',
  },
  'check-destination': { path: () => '/payouts/destinations', trigger: 'Check Treasury', title: 'Treasury' },
  'remove-destination': {
    path: () => '/payouts/destinations',
    trigger: 'Remove Treasury',
    title: 'Remove Treasury?',
  },
  'new-key': { path: () => '/developers/keys', trigger: 'New key', title: 'New API key' },
  'revoke-key': { path: () => '/developers/keys', trigger: /^Revoke /, title: /^Revoke / },
  'new-endpoint': {
    path: () => '/developers/webhooks',
    trigger: 'Add endpoint',
    title: 'Add endpoint',
  },
  'new-secret': {
    path: ({ endpoint }) => `/developers/webhooks/${endpoint}`,
    before: (page) => page.getByLabel('Old secret').selectOption('0'),
    trigger: 'Roll secret',
    title: 'New signing secret',
    advance: (page) => press(page, 'Roll secret now'),
    heldBy: 'I have copied it',
  },
  'roll-secret': {
    path: ({ endpoint }) => `/developers/webhooks/${endpoint}`,
    trigger: 'Roll secret',
    title: 'Roll the signing secret?',
  },
  'dismiss-invoice': { path: () => '/attention', trigger: 'Dismiss', title: 'Dismiss this payment?' },
  'disable-endpoint': {
    path: ({ endpoint }) => `/developers/webhooks/${endpoint}`,
    trigger: 'Disable',
    title: 'Disable this endpoint?',
  },
  'remove-endpoint': {
    path: ({ endpoint }) => `/developers/webhooks/${endpoint}`,
    trigger: 'Remove',
    title: 'Remove this endpoint?',
  },
  'send-event': { path: () => '/developers/awaiting', trigger: /^Send invoice/, title: /^Send invoice/ },
  invite: { path: () => '/settings/team', trigger: 'Invite member', title: 'Invite member' },
  leave: { path: () => '/settings/team', trigger: 'Leave', title: 'Leave this shop?' },
  'authenticator-password': {
    path: () => '/settings/security',
    trigger: 'Set it up',
    title: 'Set up your authenticator app',
  },
  'step-up': {
    path: () => '/developers/keys?mode=live',
    trigger: 'New key',
    title: 'Confirm that it is you',
    returnsTo: 'Create key',
    advance: async (page) => {
      await fill(page, 'Name', 'Live')
      await press(page, 'Create key')
    },
  },
  'key-secret': {
    path: () => '/developers/keys',
    trigger: 'New key',
    title: 'Your new key',
    heldBy: 'I have copied it',
    advance: async (page) => {
      await fill(page, 'Name', 'Window')
      await press(page, 'Create key')
    },
  },
  'authenticator-code': {
    path: () => '/settings/security',
    trigger: 'Set it up',
    title: 'Scan this with your app',
    advance: async (page, password) => {
      await fill(page, 'Your password', password)
      await press(page, 'Continue')
    },
  },
}
