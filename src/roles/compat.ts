import { createBtcpayApp } from '../compat/btcpay/btcpay-app.ts'
import { createCommerceApp } from '../compat/coinbase-commerce/commerce-app.ts'
import type { KeyHolder } from '../compat/own-api.ts'
import type { CompatApiName } from '../config/config.ts'
import { BTCPAY_KEY } from '../core/invoice/translated.ts'
import { hasInvoiceMetadata } from '../db/invoices/invoice-actions.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import { createAuthenticate } from '../http/api/credentials.ts'
import type { ApiDeps } from '../http/api/deps.ts'
import { ApiProblem } from '../http/api/problem.ts'
import type { HttpPart } from '../http/server.ts'
import { withTransaction } from '../postgres/transaction.ts'
import { invoiceToken } from '../secrets/checkout-token.ts'

const APPS = { btcpay: createBtcpayApp, coinbase_commerce: createCommerceApp } as const
const PATHS: { readonly [name in CompatApiName]: string } = {
  btcpay: '/compat/btcpay',
  coinbase_commerce: '/compat/coinbase-commerce',
}

/** The translations that are switched on, each a client of our own API in this process. */
export function openCompat(
  deps: Pick<ApiDeps, 'pool' | 'clock' | 'log' | 'seals' | 'keyring' | 'baseUrl'>,
  names: readonly CompatApiName[],
  api: HttpPart,
): HttpPart[] {
  const authenticate = createAuthenticate(deps, () => performance.now())
  const holderOf = async (key: string): Promise<KeyHolder | null> => {
    const credential = await authenticate(`Bearer ${key}`).catch((error: unknown) => {
      if (error instanceof ApiProblem && error.code === 'api_key_invalid') return null
      throw error
    })
    if (credential === null) return null
    const { tenant, scopes } = credential
    const name = await withTransaction(deps.pool, tenant, (tx) => loadMerchantName(tx, tenant.merchantId))
    return { ...tenant, scopes, name: name ?? '' }
  }
  const checkoutUrlOf = (merchantId: string, invoiceId: string) =>
    findCheckoutUrl(deps, merchantId, invoiceId)
  return names.map((name) => {
    const path = PATHS[name]
    const app = APPS[name]({ ...deps, ask: (request) => api.fetch(request), holderOf, checkoutUrlOf }, path)
    return {
      name: `compat_${name}`,
      owns: (requestPath) => requestPath.startsWith(`${path}/`),
      fetch: (request) => app.fetch(request),
    }
  })
}

/** Where the buyer of a translated invoice pays, in either mode. Never of another: ids are no secrets. */
async function findCheckoutUrl(
  deps: Pick<ApiDeps, 'pool' | 'keyring' | 'baseUrl'>,
  merchantId: string,
  invoiceId: string,
): Promise<string | null> {
  for (const livemode of [true, false]) {
    const tenant = { merchantId, livemode }
    const isTranslated = await withTransaction(deps.pool, tenant, (tx) =>
      hasInvoiceMetadata(tx, tenant, invoiceId, BTCPAY_KEY),
    )
    if (!isTranslated) continue
    return `${deps.baseUrl}/i/${invoiceToken(deps.keyring, { merchantId, livemode, invoiceId })}`
  }
  return null
}
