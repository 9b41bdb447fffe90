import { people } from '../api/people.ts'
import { Problem, requestApi } from '../api/request.ts'
import type {
  Asset,
  CreateApiKey,
  CreatedApiKey,
  CreateInvoice,
  CreatePaymentLink,
  Invoice,
  List,
  PaymentLink,
} from '../api/types.ts'

/** What the first steps take: invoices, links and their events, and no money out. */
const FIRST_SCOPES: CreateApiKey['scopes'] = [
  'invoices:read',
  'invoices:write',
  'payment_links:read',
  'payment_links:write',
  'checkout_sessions:read',
  'checkout_sessions:write',
  'events:read',
]
export const FIRST_KEY: CreateApiKey = { name: 'First key', scopes: FIRST_SCOPES }
const FIRST_INVOICE = { usd_amount: '25.00', external_reference: 'order-1001' }
const FIRST_LINK: CreatePaymentLink = { name: 'Coffee, for example', usd_amount: '4.50' }

/** A coin that can be paid in now comes first: whoever is new here should not have to wait for one. */
export const firstInvoiceIn = (assets: readonly Asset[]): CreateInvoice => {
  const asset = assets.find(({ available }) => available)?.asset
  return asset === undefined ? FIRST_INVOICE : { ...FIRST_INVOICE, asset }
}

/** By shop: the key created with it, until the page is left. The server cannot show it again. */
const firstKeys = new Map<string, string>()
export const firstKeyOf = (merchantId: string): string | null => firstKeys.get(merchantId) ?? null

/**
 * Opens a shop, and in test mode makes what a newcomer looks at first: a key, a payment link and an invoice that can
 * be paid at once.
 */
export async function openShop(name: string): Promise<void> {
  const { merchant_id } = await people.openShop(name)
  const key = await ifItCan(requestApi<CreatedApiKey>('test', 'POST', '/api-keys', { body: FIRST_KEY }))
  if (key !== null) firstKeys.set(merchant_id, key.key)
  await ifItCan(requestApi<PaymentLink>('test', 'POST', '/payment-links', { body: FIRST_LINK }))
  const assets = await ifItCan(requestApi<List<Asset>>('test', 'GET', '/assets'))
  const body = firstInvoiceIn(assets?.data ?? [])
  await ifItCan(requestApi<Invoice>('test', 'POST', '/invoices', { body }))
}

/** What the server refuses just now keeps nobody out of their shop: the list on its home page offers it again. */
async function ifItCan<Result>(request: Promise<Result>): Promise<Result | null> {
  try {
    return await request
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}

/** Forwards a shop's events to a server on the developer's own machine. */
export const listenCommand = (merchantId: string): string =>
  `npm run -s paylink -- listen --merchant ${merchantId} --forward-to http://localhost:4000/webhooks`
