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
  const checkout = createCheckoutApp({
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
  const server = createServer(getRequestListener(checkout.app.fetch))
  const url = await listen(server)
  return {
    url,
    state,
    checkout,
    shown,
    show(token: string, invoice: Invoice, merchantName = 'Blue Heron Books'): string {
      shown.set(token, { invoice, merchantName })
      checkout.streams.invoiceChanged(invoice.id)
      return `${url}/i/${token}`
    },
    close: async () => {
      checkout.streams.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
export type CheckoutServer = Awaited<ReturnType<typeof startCheckoutServer>>

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}
