import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { type CheckoutDeps, createCheckoutApp } from '../../src/web/checkout/app.ts'
import { NOW_MS } from './checkout-invoice.ts'

/** A token's invoice and the shop it belongs to. */
export type ShownInvoice = { invoice: Invoice; merchantName: string }

/** The checkout's own app on a port of its own, over invoices that a test puts there and changes. */
export async function startCheckoutServer(options: { sandbox?: CheckoutDeps['sandbox'] } = {}) {
  const shown = new Map<string, ShownInvoice>()
  const state = { nowMs: NOW_MS, tipHeight: 101, isDown: false, reads: 0, errors: [] as object[] }
  const createApp = () =>
    createCheckoutApp({
      clock: () => new Date(state.nowMs),
      log: { error: (details) => state.errors.push(details) },
      readCheckout: async (token) => {
        state.reads++
        if (state.isDown) throw new Error('the database is away')
        const found = shown.get(token)
        return found === undefined ? null : { ...found, tipHeightOf: () => state.tipHeight }
      },
      ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    })
  let checkout = createApp()
  let server = createServer(getRequestListener(checkout.app.fetch))
  const port = await listen(server, 0)
  const url = `http://127.0.0.1:${port}`
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
    show(token: string, invoice: Invoice, merchantName = 'Blue Heron Books'): string {
      shown.set(token, { invoice, merchantName })
      checkout.streams.invoiceChanged(invoice.id)
      return `${url}/i/${token}`
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

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
