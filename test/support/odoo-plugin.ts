import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Order = { reference: string; invoiceId: string | null; state: string }

/**
 * A shop with Odoo's plugin `payment_btcpayserver`, written down from its public sources: it creates an invoice with
 * the token that its owner typed, and for each notification, which it does not verify, asks what became of the invoice.
 */
export async function startOdoo(options: { location: string; token: string }) {
  const { location, token } = options
  const orders = new Map<string, Order>()
  const told: string[] = []
  let failures = 0

  const ask = async (method: string, path: string, body?: object) => {
    const url = new URL(`${location}${path}`)
    if (body === undefined) url.searchParams.set('token', token)
    // Its signature by a key of its own, which the service's token makes superfluous.
    const headers = {
      'content-type': 'application/json',
      'x-accept-version': '2.0.0',
      'x-identity': '02'.padEnd(66, 'a'),
      'x-signature': '30',
    }
    const sent = body === undefined ? {} : { body: JSON.stringify({ ...body, token }) }
    const answer = await fetch(url, { method, headers, ...sent })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    // biome-ignore lint/suspicious/noExplicitAny: what it reads of an answer, the plugin does not check either.
    return ((await answer.json()) as any).data
  }

  const takeNotification = async (text: string): Promise<void> => {
    const { data } = JSON.parse(text)
    // The plugin logs what it has no order for, and acknowledges it.
    if (!orders.has(data.orderId)) return
    const { id, orderId, status } = await ask('GET', `/invoices/${data.id}`)
    const order = orders.get(orderId)
    if (order === undefined) return
    if (status === 'new') order.invoiceId = id
    else if (status === 'paid') order.state = 'pending'
    else if (status === 'confirmed' || status === 'complete') order.state = 'done'
    else if (status === 'invalid') order.state = 'error'
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    told.push(`${request.url} ${JSON.parse(text).data.orderId}`)
    // As Odoo's routes of the type json do: 200 whatever happened.
    const failed =
      failures > 0 ||
      (await takeNotification(text).then(
        () => false,
        () => true,
      ))
    failures = Math.max(0, failures - 1)
    const said = failed ? { error: { code: 200, message: 'Odoo Server Error' } } : { result: '' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, ...said }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orders,
    told,
    /** The next notifications end in an error of its own. */
    failNext: (count: number) => {
      failures = count
    },
    /** The buyer presses Pay. Returns where the plugin sends the browser. */
    checkout: async (reference: string, amount: string, email: string | null) => {
      const invoice = await ask('POST', '/invoices/', {
        price: amount,
        currency: 'USD',
        orderId: reference,
        redirectURL: 'https://odoo.shop.example/payment/btcpay/return',
        notificationURL: 'https://odoo.shop.example/payment/btcpay/ipn',
        extendedNotifications: true,
        buyer: { email: email ?? 'noemailavailable@example.com', name: 'B. Uyer', notify: false },
      })
      const order: Order = { reference, invoiceId: invoice.id, state: 'draft' }
      orders.set(reference, order)
      return { order, url: invoice.url as string }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
