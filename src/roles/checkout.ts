import { walletTransfer } from '../chain/solana/wallet-transfer.ts'
import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { isToken, NETWORKS, type Network, networkOf } from '../core/assets.ts'
import { solanaMintOf } from '../core/chain/solana-mints.ts'
import { parseColour } from '../core/checkout/brand-colours.ts'
import type { OwnInvoice } from '../core/checkout/checkout-pages.ts'
import { contractOf } from '../core/checkout/payment-uri.ts'
import { readBranding, readLogo } from '../flows/branding.ts'
import { continueCheckout } from '../flows/continue-checkout.ts'
import { readCheckout } from '../flows/read-checkout.ts'
import { readPaymentPage } from '../flows/read-payment-page.ts'
import { reopenInvoice } from '../flows/reopen-invoice.ts'
import { requestReceipt } from '../flows/request-receipt.ts'
import type { OpenInvoiceLimit } from '../flows/steps/open-invoice-limit.ts'
import { switchAsset } from '../flows/switch-asset.ts'
import { readTakings, readTill, signInAtTill } from '../flows/tills.ts'
import { readUnsubscribe, unsubscribe } from '../flows/unsubscribe.ts'
import { clientBlockOf, publicAddressOf } from '../http/api/client-address.ts'
import { createMarketReader } from '../http/api/market.ts'
import type { NetworkStates, NetworkView } from '../http/api/network-states.ts'
import { createRateLimiter } from '../http/api/rate-limit.ts'
import { createShortCache } from '../http/api/short-cache.ts'
import { createX402Part } from '../http/api/x402.ts'
import { createOnrampWebhookPart } from '../http/public/onramp-webhooks.ts'
import { createPageTurns } from '../http/public/page-turns.ts'
import { createReceiptPart } from '../http/public/receipts.ts'
import type { HttpPart } from '../http/server.ts'
import { createCardOnramps } from '../onramp/card-onramps.ts'
import { createPurchaseFollower } from '../onramp/follow-purchases.ts'
import type { Onramps } from '../onramp/open-onramps.ts'
import { createSandboxOnramp } from '../onramp/sandbox-onramp.ts'
import { GuessMemory } from '../people/guess-memory.ts'
import { StaffCodeTries } from '../people/staff-code-tries.ts'
import { listenFor, type Notifier } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import type { CurrencyRates } from '../rates/currency-rates.ts'
import type { PriceBook } from '../rates/price-book.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { InTurn } from '../runtime/slots.ts'
import type { SandboxControl } from '../sandbox/sandbox-control.ts'
import { invoiceToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { randomBase62 } from '../secrets/random-base62.ts'
import { TILL_SESSION_MS } from '../secrets/staff-code.ts'
import { createCheckoutApp, isBuyersPath } from '../web/checkout/app.ts'
import type { Branding } from '../web/checkout/branding.ts'
import type { CheckoutDeps } from '../web/checkout/checkout-deps.ts'
import { followTips } from '../web/checkout/follow-tips.ts'
import { logoPath } from '../web/checkout/logos.ts'
import type { RunningRole } from './role.ts'

/** 131 random bits. */
const VISIT_LENGTH = 22

/**
 * Forms that one caller may send a second, bursts of twice that: a press may take an address from the pool, and
 * whoever floods an open link would leave none for the buyers of everybody.
 */
const FORMS_PER_SECOND = 5

type CheckoutRole = RunningRole & {
  readonly parts: readonly HttpPart[]
  /** Ends the open streams, so that the server can stop; pages then poll the next one. */
  endStreams(): void
}

type CheckoutRoleDeps = {
  pool: Pool
  clock: Clock
  log: Log
  keyring: Keyring
  networks: NetworkStates
  prices: Pick<PriceBook, 'quote'>
  currencyRates: Pick<CurrencyRates, 'dollarsPerCurrency' | 'quote'>
  notifier: Omit<Notifier, 'close'>
  listenUrl: string
  /** Origin of the site, which receipts name as their issuer. */
  baseUrl: string
  sandbox: SandboxControl | null
  issuedAddresses: IssuedAddressCheck
  openInvoices: OpenInvoiceLimit
  serviceFeeBps: number
  /** Who sells coins for cards in live mode; test mode has the sandbox's own card page. */
  onramps?: Pick<Onramps, 'providers' | 'webhooks'>
  /** There is a mail server for receipts. */
  sendsReceipts?: boolean
  /** HTTP clients may pay by x402. */
  x402?: boolean
  staging?: boolean
  formsPerSecond?: number
  /** Shared with whatever else anybody may have read in this process; its own unless given. */
  inTurn?: InTurn
}

/** The buyers' pages, updated by the database's notifications, and the signed receipts beside them. */
export function openCheckout(deps: CheckoutRoleDeps): CheckoutRole {
  const rate = deps.formsPerSecond ?? FORMS_PER_SECOND
  const forms = createRateLimiter({ live: rate, test: rate }, () => performance.now())
  const maySend = (headers: Headers): boolean => forms.take(clientBlockOf(headers), true).allowed
  const { inTurn = createPageTurns() } = deps
  const card = cardOnrampsOf(deps)
  const follower = createPurchaseFollower({ ...deps, providers: deps.onramps?.providers ?? [] })
  const flowDeps = {
    ...deps,
    marketOf: createMarketReader(deps),
    sellsForCards: card.sells,
    sendsReceipts: deps.sendsReceipts === true,
  }
  const tokenOf = ({ tenant, invoiceId }: OwnInvoice) => invoiceToken(deps.keyring, { ...tenant, invoiceId })
  const { app, streams } = createCheckoutApp({
    clock: deps.clock,
    log: deps.log,
    baseUrl: deps.baseUrl,
    readCheckout: async (token) => {
      const found = await inTurn(() => readCheckout(flowDeps, token))
      const waiting = found?.card.waiting ?? null
      if (waiting !== null && waiting.update !== 'completed') follower.follow(waiting)
      return found
    },
    readPaymentPage: (query) => inTurn(() => readPaymentPage(flowDeps, query)),
    callerOf: clientBlockOf,
    maySendForm: maySend,
    newVisit: () => randomBase62(VISIT_LENGTH),
    tills: tillsFrom({ ...deps, inTurn }),
    continueCheckout: (request) => continueCheckout(flowDeps, request),
    switchAsset: (change) => switchAsset(flowDeps, change),
    reopenInvoice: (invoice) => reopenInvoice(flowDeps, invoice),
    requestReceipt: (request) => {
      const url = `${deps.baseUrl}/i/${tokenOf(request)}/receipt?lang=${request.language}`
      return requestReceipt(flowDeps, { ...request, url })
    },
    readUnsubscribe: (token) => inTurn(() => readUnsubscribe(deps, token)),
    unsubscribe: (token) => inTurn(() => unsubscribe(deps, token)),
    solanaTransfer: async ({ asset, livemode, identity, ...transfer }) => {
      const state = (await deps.networks.read()).stateOf(networkOf(asset, livemode))
      if (state === null || state.status !== 'ok' || state.hash === null || state.height === null) return null
      const mint = isToken(asset) ? solanaMintOf(asset, contractOf(asset, livemode, identity)) : null
      const block = { hash: state.hash, height: state.height }
      const transaction = walletTransfer({ ...transfer, mint }, block)
      const { parameters } = state
      const chain = `solana:${parameters === 'mainnet-beta' ? 'mainnet' : parameters}`
      return transaction === null ? null : { chain, transaction }
    },
    tokenOf,
    dollarsPerCurrency: deps.currencyRates.dollarsPerCurrency,
    ...brandingFrom(deps.pool),
    staging: deps.staging === true,
    card,
    ...(deps.sandbox === null ? {} : { sandbox: testPanelOf(deps.sandbox) }),
  })
  const listener = listenFor(deps.listenUrl, {
    onInvoiceChanged: (id) => streams.invoiceChanged(id),
    onConnect: () => streams.refreshAll(),
    onLost: (error) =>
      deps.log.warn({ err: error }, 'checkout pages get no notifications and poll meanwhile'),
  })
  const endFollowing = followTips({
    isWatched: () => streams.size > 0,
    read: async () => tipsOf(await deps.networks.read()),
    onMoved: (networks) => streams.tipsMoved(networks),
    onError: (error) => deps.log.warn({ err: error }, 'confirmations on open pages are late'),
  })
  return {
    parts: [
      // Before the pages, which own every other path of a token.
      createReceiptPart({ ...deps, inTurn }),
      createOnrampWebhookPart(deps, deps.onramps?.webhooks ?? new Map()),
      ...(deps.x402 === true ? [createX402Part({ ...deps, maySend, inTurn })] : []),
      { name: 'checkout', owns: isBuyersPath, fetch: (request) => app.fetch(request) },
    ],
    endStreams: () => streams.close(),
    stop: async () => {
      endFollowing()
      await Promise.all([follower.stop(), listener.close()])
    },
  }
}

/** A queue with one sale every five seconds; a stolen code sells no more, and each takes an address from the pool. */
const SALES_WINDOW_MS = 10 * 60_000
const SALES_MAX = 120

/** What this process counts of tills is in memory: a restart forgives, and several processes each count their own. */
function tillsFrom(
  deps: Pick<CheckoutRoleDeps, 'pool' | 'clock' | 'keyring'> & { inTurn: InTurn },
): CheckoutDeps['tills'] {
  const [tries, sales] = [new StaffCodeTries(), new GuessMemory()]
  const { inTurn } = deps
  return {
    read: (slug, session) => inTurn(() => readTill(deps, slug, session)),
    signIn: async (slug, { code, headers }) => {
      if (!tries.take(slug, clientBlockOf(headers), performance.now())) return { kind: 'limited' }
      const session = await inTurn(() => signInAtTill(deps, slug, code))
      return session === null ? { kind: 'wrong' } : { kind: 'signed_in', session }
    },
    sessionSeconds: TILL_SESSION_MS / 1_000,
    maySell: (linkId) =>
      sales.take(linkId, { max: SALES_MAX, windowMs: SALES_WINDOW_MS, nowMs: performance.now() }),
    takings: (till, sinceMs) => inTurn(() => readTakings(deps, till, sinceMs)),
  }
}

/** The heights of the networks that have been read. */
function tipsOf(view: NetworkView): ReadonlyMap<Network, number> {
  const tips = new Map<Network, number>()
  for (const network of NETWORKS) {
    const height = view.networkFacts.tipHeightOf(network)
    if (height !== null) tips.set(network, height)
  }
  return tips
}

/** Merchants' branding, cached for a moment, because every page needs it. */
function brandingFrom(pool: Pool): Pick<CheckoutDeps, 'readBranding' | 'readLogo'> {
  const looks = createShortCache<Branding>({
    load: async (merchantId) => {
      const { colour, logo, seller } = await readBranding(pool, merchantId)
      return {
        colour: colour === null ? null : parseColour(colour),
        logo: logo === null ? null : { ...logo, path: logoPath(merchantId, logo.digest) },
        seller,
      }
    },
    keep: () => true,
    elapsedMs: () => performance.now(),
  })
  return {
    readBranding: (merchantId) => looks.get(merchantId),
    readLogo: (merchantId, digest) => readLogo(pool, merchantId, digest),
  }
}

/** The configured providers, and in test mode the sandbox's own where its chains run. */
function cardOnrampsOf(deps: CheckoutRoleDeps) {
  const { sandbox, onramps } = deps
  const own = sandbox === null ? [] : [createSandboxOnramp((asset) => sandbox.serves(asset, false))]
  return createCardOnramps({ ...deps, providers: [...(onramps?.providers ?? []), ...own], publicAddressOf })
}

/** The sandbox as the test panel uses it: what cannot be paid is an error. */
function testPanelOf(control: SandboxControl): NonNullable<CheckoutDeps['sandbox']> {
  return {
    serves: control.serves,
    payInvoice: async (request) => {
      const paid = await control.payInvoice(request)
      if (paid.kind === 'sandbox_not_available') throw new Error(paid.reason)
      if (paid.kind === 'not_found') throw new Error('the invoice is gone')
      return paid
    },
  }
}
