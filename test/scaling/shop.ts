import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { z } from 'zod'
import { parseCoinAmount } from '../../src/core/money.ts'
import type { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { until } from '../support/until.ts'
import type { WebhookReceiver } from '../support/webhook-receiver.ts'
import type { PaylinkMachines, SandboxChains } from './paylink-machines.ts'

/** Shops of a test, and what must be true of what they sold, whatever was broken meanwhile. */

export const REQUEST_MS_MAX = 8_000
const SETTLED_MS_MAX = 240_000
/** Longer than any fault lasts. */
export const INSIST_MS_MAX = 240_000
const PASSING = [409, 429, 502, 503, 504]

const invoiceShape = z.object({ id: z.string(), status: z.string(), address: z.string(), amount: z.string() })
export type Invoice = z.output<typeof invoiceShape>

/** One request; `status` is null where no answer came. `refusal`: what it was refused with. */
export type Attempt = {
  readonly startedAt: number
  readonly endedAt: number
  readonly status: number | null
  readonly refusal?: string
}

export type Shop = {
  readonly merchantId: string
  readonly key: string
  /** Whether it is moved to another cell, which until the proxy knows answers 421. */
  readonly moves: boolean
  /** Where it asks: each repeated request at the next one. */
  readonly urls: readonly string[]
  /** Each request that it made, in the order of their ends. */
  readonly attempts: Attempt[]
}

export type Sale = { readonly shop: Shop; readonly idempotencyKey: string; readonly invoice: Invoice }

/** A merchant with a key, who is told of payments at the receiver. */
export async function openShop(
  paylink: PaylinkMachines,
  urls: readonly string[],
  hooksUrl: string,
  moves = false,
): Promise<Shop> {
  const command = async (line: string) => JSON.parse((await paylink.command(...line.split(' '))).stdout)
  const { id } = await command('merchant create --name S --email s@example.com --json')
  const scopes = 'invoices:read,invoices:write,webhooks:read,webhooks:write,balances:read'
  const { key } = await command(`key create --merchant ${id} --mode test --scopes ${scopes} --json`)
  const shop: Shop = { merchantId: id, key, moves, urls, attempts: [] }
  const endpoint = await insist(
    shop,
    'POST',
    '/webhook-endpoints',
    { url: hooksUrl, subscribed_events: ['invoice.paid'] },
    randomUUID(),
  )
  await insist(shop, 'POST', `/webhook-endpoints/${z.object({ id: z.string() }).parse(endpoint).id}/verify`)
  return shop
}

/** Sells one thing: the key that it did so under makes one invoice, however often it has to be asked for. */
export async function sell(shop: Shop, idempotencyKey: string = randomUUID()): Promise<Sale> {
  const body = { usd_amount: '5.00', asset: 'LTC' }
  const invoice = invoiceShape.parse(await insist(shop, 'POST', '/invoices', body, idempotencyKey))
  return { shop, idempotencyKey, invoice }
}

/** Repeats a request, each time at another address, until it is answered: as a shop does that has an idempotency key. */
export async function insist(
  shop: Shop,
  method: string,
  path: string,
  body?: object,
  idempotencyKey?: string,
): Promise<unknown> {
  const giveUpAt = Date.now() + INSIST_MS_MAX
  for (let attempt = 0; Date.now() < giveUpAt; attempt++) {
    const url = shop.urls[(attempt + path.length) % shop.urls.length]
    const startedAt = Date.now()
    let status: number | null = null
    let refusal = ''
    try {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${shop.key}`,
          'content-type': 'application/json',
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      status = response.status
      if (status < 300) return JSON.parse(text)
      refusal = `${method} ${path}: ${text}`
      // What is in flight elsewhere, too much, or not to be had now passes; anything else is a fault of ours.
      if (!PASSING.includes(status) && !(shop.moves && status === 421))
        throw new WrongAnswer(`${status} ${text}`)
    } catch (error) {
      if (error instanceof WrongAnswer) throw error
    } finally {
      shop.attempts.push({ startedAt, endedAt: Date.now(), status, refusal })
    }
    await pause(100)
  }
  const last = JSON.stringify(shop.attempts.at(-1))
  throw new Error(`nobody answered ${method} ${path} within ${INSIST_MS_MAX} ms; last: ${last}`)
}

class WrongAnswer extends Error {
  override name = 'WrongAnswer'
}

/** Pays an invoice once, however often the chain has to be asked to take it. */
export async function payOnChain(chain: UtxoSandboxClient, { address, amount }: Invoice): Promise<void> {
  const units = unitsOf(amount)
  let signed: Awaited<ReturnType<UtxoSandboxClient['signPayment']>> | null = null
  const giveUpAt = Date.now() + INSIST_MS_MAX
  for (;;) {
    try {
      // Signed once: the same bytes sent twice are one payment.
      signed ??= await chain.signPayment(address, units)
      await chain.send(signed.hex)
      return
    } catch (error) {
      // The node has it already.
      if (String(error).includes('already')) return
      // A chain that was killed in between forgot whom it had given these coins to, and another buyer paid with them.
      if (String(error).includes('missingorspent')) signed = null
      if (Date.now() > giveUpAt) throw error
      await pause(200)
    }
  }
}

/** Base units of an amount of Litecoin. */
export function unitsOf(amount: string): bigint {
  const units = parseCoinAmount(amount, 8)
  if (units === null) throw new Error(`${amount} is no amount`)
  return units
}

/** The URL of Litecoin's sandbox chain, with its password. */
export async function sandboxUrl({ folder, machine }: SandboxChains): Promise<string> {
  const text = await readFile(join(folder, 'litecoin', 'rpc.json'), 'utf8')
  const { port, password } = z.object({ port: z.number(), password: z.string() }).parse(JSON.parse(text))
  return `http://sandbox:${password}@${machine.address}:${port}`
}

/**
 * Every key made one invoice, every invoice was paid once, and every one was told of under one id of its own. Returns what
 * the events say was paid in all, in base units.
 */
export async function expectAllSettled(sales: readonly Sale[], receiver: WebhookReceiver): Promise<bigint> {
  expect(new Set(sales.map(({ invoice }) => invoice.id)).size).toBe(sales.length)
  expect(new Set(sales.map(({ invoice }) => invoice.address)).size).toBe(sales.length)
  for (const { shop, invoice } of sales) {
    await until(
      async () => {
        const { status } = invoiceShape.parse(await insist(shop, 'GET', `/invoices/${invoice.id}`))
        return status === 'paid'
      },
      { timeoutMs: SETTLED_MS_MAX, what: `${invoice.id} was paid` },
    )
  }
  const allAreTold = () => {
    const paid = paidEvents(receiver)
    return sales.every(({ invoice }) => paid.has(invoice.id))
  }
  await until(allAreTold, { timeoutMs: SETTLED_MS_MAX, what: 'every payment was told of' })
  const paid = [...paidEvents(receiver).values()]
  expect(paid.filter((events) => events.size !== 1)).toEqual([])
  // None that no shop was answered: each key was repeated until it was.
  expect(paid.length).toBe(sales.length)
  const amounts = new Map(paid.flatMap((events) => [...events]))
  expect(amounts.size).toBe(sales.length)
  return [...amounts.values()].reduce((sum, amount) => sum + amount, 0n)
}

const paidShape = z.object({
  id: z.string(),
  event_type: z.literal('invoice.paid'),
  data: z.object({ id: z.string(), amount_confirmed: z.string() }),
})

/** By invoice: the ids of the events that said that it was paid, and how much. */
function paidEvents(receiver: WebhookReceiver): Map<string, Map<string, bigint>> {
  const paid = new Map<string, Map<string, bigint>>()
  for (const { body } of receiver.events) {
    const event = paidShape.safeParse(JSON.parse(body.toString('utf8')))
    if (!event.success) continue
    const { id, data } = event.data
    paid.set(data.id, (paid.get(data.id) ?? new Map()).set(id, unitsOf(data.amount_confirmed)))
  }
  return paid
}

const balancesShape = z.object({ data: z.array(z.object({ asset: z.string(), available: z.string() })) })

/** What the shop has of Litecoin in the ledger, in base units. */
export async function ledgerOf(shop: Shop): Promise<bigint> {
  const { data } = balancesShape.parse(await insist(shop, 'GET', '/balances'))
  return unitsOf(data.find(({ asset }) => asset === 'LTC')?.available ?? '0')
}

const auditShape = z.object({ ok: z.boolean(), checks: z.array(z.looseObject({ status: z.string() })) })

export async function expectAuditOk(paylink: PaylinkMachines): Promise<void> {
  const audit = await paylink.command('audit', '--json')
  const { ok, checks } = auditShape.parse(JSON.parse(audit.stdout))
  expect({ ok, failed: checks.filter(({ status }) => status === 'failed') }).toEqual({ ok: true, failed: [] })
}
