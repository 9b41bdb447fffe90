import { createHmac } from 'node:crypto'
import type { Respond } from './webhook-receiver.ts'

export type ShopwareRelease = 'up to 1.1' | '2025'
/** How a shop's server was wrongly written. */
type Fault = 'checks nothing' | 'checks nothing, and asks later' | 'asks for nothing'

/**
 * CoinchargeBTCPayShopware, written down from its public sources: it keeps the name of the server that its owner typed
 * and drops the path after it (RFC 3986 §5.2.2), as its HTTP client does with a base URI.
 */
export function shopwarePlugin(options: {
  release: ShopwareRelease
  serverUrl: string
  key: string
  storeId: string
  /** What the server keeps from before; the button *Verify* gets a new one. */
  secret?: string
  fault?: Fault
}) {
  const { release, storeId, fault } = options
  const orders = new Map<string, { number: string; invoiceId: string; state: string }>()
  const secret = { current: options.secret ?? '' }
  const queue: string[] = []

  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(new URL(`/api/v1/stores/${storeId}${path}`, options.serverUrl), {
      method,
      headers: { authorization: `token ${options.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`)
    return answer.json()
  }

  const takeEvent = async (raw: Buffer, signature: unknown): Promise<number> => {
    const expected = `sha256=${createHmac('sha256', secret.current).update(raw).digest('hex')}`
    if (fault === 'checks nothing, and asks later') {
      queue.push(JSON.parse(raw.toString('utf8')).invoiceId)
      // Its worker happens to run now.
      if (queue.length === 2) for (const id of queue) await ask('GET', `/invoices/${id}`)
      return 200
    }
    if (signature !== expected && fault !== 'checks nothing') return release === '2025' ? 403 : 200
    if (fault === 'asks for nothing') return 200
    const { type, invoiceId } = JSON.parse(raw.toString('utf8'))
    const { metadata } = await ask('GET', `/invoices/${invoiceId}`)
    const order = orders.get(metadata.orderNumber)
    if (order === undefined) return release === '2025' ? 204 : 200
    if (metadata.transactionId !== `transaction of ${order.number}`) return 500
    if (type === 'InvoiceProcessing') order.state = 'in_progress'
    if (type === 'InvoiceSettled') order.state = 'paid'
    if (type === 'InvoiceExpired') order.state = 'failed'
    return 200
  }

  return {
    secret,
    /** Its button *Verify*: the key by the list of invoices, and a webhook with the secret of the answer. */
    verify: async (webhookUrl: string): Promise<string> => {
      await ask('GET', '/invoices')
      const hook = await ask('POST', '/webhooks', { url: webhookUrl })
      secret.current = hook.secret
      await ask('GET', '/payment-methods')
      return hook.id
    },
    isEnabled: async (webhookId: string): Promise<boolean> =>
      (await ask('GET', `/webhooks/${webhookId}`)).enabled,
    order: async (number: string, paymentMethod: string) => {
      const made = await ask('POST', '/invoices', {
        amount: 49.9,
        currency: 'USD',
        metadata: {
          orderId: `id of ${number}`,
          orderNumber: number,
          transactionId: `transaction of ${number}`,
        },
        checkout: {
          redirectURL: `https://shop.example/checkout/finish?orderId=${number}`,
          redirectAutomatically: true,
          paymentMethods: [paymentMethod],
        },
      })
      const order = { number, invoiceId: made.id as string, state: 'open' }
      orders.set(number, order)
      return order
    },
    respond: ((event, response) => {
      takeEvent(event.body, event.headers['btcpay-sig']).then(
        (status) => response.writeHead(status).end(),
        () => response.writeHead(500).end(),
      )
    }) satisfies Respond,
  }
}
