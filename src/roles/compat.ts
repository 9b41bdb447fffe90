import { createBtcpayApp } from '../compat/btcpay/btcpay-app.ts'
import { createCommerceApp } from '../compat/coinbase-commerce/commerce-app.ts'
import type { KeyHolder } from '../compat/own-api.ts'
import type { CompatApiName } from '../config/config.ts'
import { BTCPAY_KEY } from '../core/invoice/translated.ts'
import { noteTrialTaken } from '../db/delivery/endpoints.ts'
import { hasInvoiceMetadata } from '../db/invoices/invoice-actions.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import { clientBlockOf } from '../http/api/client-address.ts'
import { createAuthenticate } from '../http/api/credentials.ts'
import type { ApiDeps } from '../http/api/deps.ts'
import { ApiProblem } from '../http/api/problem.ts'
import { createRateLimiter } from '../http/api/rate-limit.ts'
import { createShortCache } from '../http/api/short-cache.ts'
import { createPageTurns } from '../http/public/page-turns.ts'
import type { HttpPart } from '../http/server.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import { createSlots, type InTurn } from '../runtime/slots.ts'
import { invoiceToken } from '../secrets/checkout-token.ts'

const APPS = { btcpay: createBtcpayApp, coinbase_commerce: createCommerceApp } as const
const PATHS: { readonly [name in CompatApiName]: string } = {
  btcpay: '/compat/btcpay',
  coinbase_commerce: '/compat/coinbase-commerce',
}
/** What of the older service's own paths is no path of ours. */
const ROOT_PATHS: { readonly [name in CompatApiName]: string | null } = {
  btcpay: '/api/v1/stores',
  coinbase_commerce: null,
}

/** Invoices that one caller may be led to a second, bursts of twice that: as many as forms of the checkout. */
const REDIRECTS_PER_SECOND = 5
/** Merchants' names read at a time, each for all who ask with its keys: apart from what anybody may have read. */
const NAMES_RUNNING_MAX = 2
const NAMES_WAITING_MAX = 2_000
const NAME_WAIT_MS_MAX = 5_000

type CompatRoleDeps = Pick<ApiDeps, 'pool' | 'clock' | 'log' | 'seals' | 'keyring' | 'baseUrl'> & {
  /** Shared with the buyers' pages of this process; its own unless given. */
  readonly inTurn?: InTurn
  readonly redirectsPerSecond?: number
}

/** The translations that are switched on, each a client of our own API in this process. */
export function openCompat(deps: CompatRoleDeps, names: readonly CompatApiName[], api: HttpPart): HttpPart[] {
  const authenticate = createAuthenticate(deps, () => performance.now())
  const { inTurn = createPageTurns(), redirectsPerSecond: rate = REDIRECTS_PER_SECOND } = deps
  const redirects = createRateLimiter({ live: rate, test: rate }, () => performance.now())
  const mayFollow = (headers: Headers): boolean => redirects.take(clientBlockOf(headers), true).allowed
  const nameTurns = createSlots({
    runningMax: NAMES_RUNNING_MAX,
    waitingMax: NAMES_WAITING_MAX,
    waitMsMax: NAME_WAIT_MS_MAX,
  })
  // Before the key is counted: loaded for all who ask at the time. Who floods pages keeps no shop from its API.
  const merchantNames = createShortCache<string>({
    load: async (merchantId) => {
      const tenant = { merchantId, livemode: true }
      const load = () => withTransaction(deps.pool, tenant, (tx) => loadMerchantName(tx, merchantId))
      return (await nameTurns.run('names', load)) ?? ''
    },
    keep: () => true,
    elapsedMs: () => performance.now(),
  })
  const holderOf = async (key: string): Promise<KeyHolder | null> => {
    const credential = await authenticate(`Bearer ${key}`).catch((error: unknown) => {
      if (error instanceof ApiProblem && error.code === 'api_key_invalid') return null
      throw error
    })
    if (credential === null) return null
    const { tenant, scopes } = credential
    return { ...tenant, scopes, name: await merchantNames.get(tenant.merchantId) }
  }
  const checkoutUrlOf = (merchantId: string, invoiceId: string) =>
    inTurn(() => findCheckoutUrl(deps, merchantId, invoiceId))
  const noteTaken = (tenant: Tenant, { endpointId, eventId }: { endpointId: string; eventId: string }) =>
    withTransaction(deps.pool, tenant, (tx) => noteTrialTaken(tx, tenant, endpointId, eventId))
  return names.map((name) => {
    const [path, root] = [PATHS[name], ROOT_PATHS[name]]
    const ask = (request: Request) => api.fetch(request)
    const app = APPS[name](
      { ...deps, ask, holderOf, checkoutUrlOf, mayFollow, noteTrialTaken: noteTaken },
      path,
    )
    return {
      name: `compat_${name}`,
      owns: (asked) =>
        asked.startsWith(`${path}/`) || (root !== null && (asked === root || asked.startsWith(`${root}/`))),
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
