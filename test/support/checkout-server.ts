import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { CheckoutFacts, PaymentPage } from '../../src/core/checkout/checkout-pages.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { ROUND_RATES } from '../../src/core/rates/currencies.ts'
import { createCheckoutApp } from '../../src/web/checkout/app.ts'
import { type Branding, NO_BRANDING } from '../../src/web/checkout/branding.ts'
import type { CheckoutDeps } from '../../src/web/checkout/checkout-deps.ts'
import { NOW_MS } from './checkout-invoice.ts'
import { freePort } from './free-port.ts'

/** A token's invoice and the shop it belongs to. */
export type ShownInvoice = Omit<CheckoutFacts, 'networkFacts'>

/** The checkout's own app on a port of its own, over invoices that a test puts there and changes. */
export async function startCheckoutServer(options: Partial<CheckoutDeps> = {}) {
  const links = new Map<string, PaymentPage>()
  const logos = new Map<string, Uint8Array<ArrayBuffer>>()
  let visits = 0
  let branding: Branding = NO_BRANDING
  const notReady = async () => ({ kind: 'not_found' }) as const
  const shown = new Map<string, ShownInvoice>()
  const state = { nowMs: NOW_MS, tipHeight: 101, isDown: false, reads: 0, errors: [] as object[] }
  // None that the system could give to a connection while the server starts anew.
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const createApp = () =>
    createCheckoutApp({
      clock: () => new Date(state.nowMs),
      log: { error: (details) => state.errors.push(details) },
      baseUrl: url,
      readCheckout: async (token) => {
        state.reads++
        if (state.isDown) throw new Error('the database is away')
        const found = shown.get(token)
        return found === undefined ? null : { ...found, networkFacts: { tipHeightOf: () => state.tipHeight } }
      },
      readPaymentPage: async ({ slug }) => links.get(slug) ?? { kind: 'neutral' },
      dollarsPerCurrency: () => ROUND_RATES,
      callerOf: () => 'one',
      maySendForm: () => true,
      tills: {
        read: async () => null,
        signIn: async () => ({ kind: 'wrong' }),
        sessionSeconds: 60,
        maySell: () => true,
        takings: async () => ({ count: 0, total: '0.00', tips: '0.00', sales: [] }),
      },
      newVisit: () => String(++visits).padStart(22, '0'),
      continueCheckout: async () => ({ kind: 'neutral' }),
      switchAsset: notReady,
      reopenInvoice: notReady,
      solanaTransfer: async () => null,
      requestReceipt: async () => true,
      readUnsubscribe: async () => null,
      unsubscribe: async () => null,
      tokenOf: ({ invoiceId }) => invoiceId,
      readBranding: async () => branding,
      readLogo: async (_merchantId, digest) => logos.get(digest) ?? null,
      ...options,
    })
  let checkout = createApp()
  let server = createServer(getRequestListener(checkout.app.fetch))
  await listen(server, port)
  const close = async () => {
    checkout.streams.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    url,
    state,
    get checkout() {
      return checkout
    },
    /** Puts an invoice behind a token, and tells the open pages. */
    show(
      token: string,
      invoice: Invoice,
      merchantName = 'Blue Heron Books',
      can: Partial<
        Pick<ShownInvoice, 'linkName' | 'tillSlug' | 'otherCoins' | 'reopenable' | 'card' | 'receipt'>
      > = {},
    ): string {
      // A page that is still open would go on to show the first token's content at the second.
      const other = [...shown].find(
        ([
          each,
          {
            invoice: { id },
          },
        ]) => each !== token && id === invoice.id,
      )
      if (other !== undefined) throw new Error(`${invoice.id} is shown at ${other[0]} already`)
      shown.set(token, {
        invoice,
        merchantName,
        linkName: null,
        tillSlug: null,
        otherCoins: [],
        reopenable: false,
        card: { asset: null, waiting: null },
        receipt: null,
        ...can,
      })
      checkout.streams.invoiceChanged(invoice.id)
      return `${url}/i/${token}`
    },
    /** Puts a payment link behind a slug. */
    showLink(slug: string, facts: PaymentPage): string {
      links.set(slug, facts)
      return `${url}/l/${slug}`
    },
    /** Gives every shop this look. */
    brand(look: Branding, bytes?: Uint8Array<ArrayBuffer>): void {
      branding = look
      const digest = look.logo?.path.slice(-37, -5)
      if (bytes !== undefined && digest !== undefined) logos.set(digest, bytes)
    },
    /** Stops, and starts anew on the same port. */
    async restart(): Promise<void> {
      await close()
      checkout = createApp()
      server = createServer(getRequestListener(checkout.app.fetch))
      await listen(server, port)
    },
    close,
  }
}
export type CheckoutServer = Awaited<ReturnType<typeof startCheckoutServer>>

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
}
