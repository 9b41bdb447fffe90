import { setTimeout as pause } from 'node:timers/promises'
import { type KeyFamily, keyFamilyOfNetwork } from '../../core/assets.ts'
import { Busy } from '../../core/busy.ts'
import { deriveStatus, isLive } from '../../core/invoice/status.ts'
import {
  isPayableByAuthorization,
  paymentRequirements,
  X402_VERSION,
} from '../../core/x402/judge-authorization.ts'
import { isX402Asset } from '../../core/x402/x402-assets.ts'
import type { X402Authorization } from '../../db/invoices/x402-authorizations.ts'
import {
  type ReadX402Deps,
  readX402Authorization,
  readX402Invoice,
  submitX402Authorization,
  type X402Invoice,
} from '../../flows/x402-payments.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { InTurn } from '../../runtime/slots.ts'
import { type X402Payment, x402PaymentSchema } from '../../wire/x402.ts'
import { jsonResponse } from '../json-response.ts'
import type { HttpPart } from '../server.ts'
import { evmOffer } from './x402/evm-offer.ts'
import { solanaOffer } from './x402/solana-offer.ts'
import type { OfferOf, X402Offer } from './x402/x402-offer.ts'

const PATH = /^\/i\/([^/]+)\/x402$/
/** A payment is about a kilobyte. */
const HEADER_CHARACTERS_MAX = 8_192
/** How long a client is kept waiting for its block; if it asks again it finds the same payment. */
const SETTLE_WAIT_MS_MAX = 20_000
const SETTLE_POLL_MS = 250
/**
 * Payments handled at the same time in this process, for one invoice and for one merchant: each is held for seconds
 * and queries the database meanwhile. Of one invoice's only one can pay.
 */
const UNDER_WAY_OF_INVOICE_MAX = 25
const UNDER_WAY_OF_MERCHANT_MAX = 200
/** How invoices are paid on each family of chains that has such a token. */
const OFFERS: { readonly [family in KeyFamily]?: OfferOf } = { evm: evmOffer, solana: solanaOffer }

type X402Deps = ReadX402Deps & {
  readonly clock: Clock
  readonly log: Log
  readonly baseUrl: string
  readonly notifier: { activity(): void }
  readonly staging?: boolean
  /** False where the caller of these headers has sent too many just now. */
  readonly maySend: (headers: Headers) => boolean
  /** Reads that anybody can cause take turns. */
  readonly inTurn?: InTurn
  /** For tests that wait for no block. */
  readonly settleWaitMs?: number
}

/**
 * Payment of an invoice by an HTTP client, by x402's scheme `exact`: `GET` or `POST` of the checkout URL with `/x402` behind
 * it is answered 402 with what is asked for, and, with a signed payment in its header, 200 once the payment is in a block.
 * Only what the watcher finds on the chain credits the invoice.
 */
export function createX402Part(deps: X402Deps): HttpPart {
  const limit = createConcurrencyLimit()
  return {
    name: 'x402',
    owns: (path) => PATH.test(path),
    fetch: async (request) => {
      if (request.method !== 'GET' && request.method !== 'POST')
        return jsonResponse(405, { error: 'method_not_allowed' }, { allow: 'GET, POST' })
      try {
        return await answer(deps, limit, request)
      } catch (error) {
        if (!(error instanceof Busy)) deps.log.error({ err: error }, 'an x402 request failed')
        return jsonResponse(503, { error: 'service_unavailable' }, { 'retry-after': '1' })
      }
    },
  }
}

async function answer(deps: X402Deps, limit: ConcurrencyLimit, request: Request): Promise<Response> {
  const path = new URL(request.url).pathname
  const { inTurn = (read) => read() } = deps
  const found = await inTurn(() => readX402Invoice(deps, PATH.exec(path)?.[1] ?? ''))
  if (found === null) return jsonResponse(404, { error: 'not_found' })
  const offer = await inTurn(() => offerOf(deps, found))
  const header = request.headers.get('payment-signature')
  if (header !== null) {
    if (!deps.maySend(request.headers))
      return jsonResponse(429, { error: 'too_many_requests' }, { 'retry-after': '1' })
    const within = [
      { name: found.invoice.id, max: UNDER_WAY_OF_INVOICE_MAX },
      { name: found.tenant.merchantId, max: UNDER_WAY_OF_MERCHANT_MAX },
    ]
    const passed = await limit.run(within, () => pay(deps, { found, offer, path, header }))
    return passed ?? jsonResponse(429, { error: 'too_many_under_way' }, { 'retry-after': '2' })
  }
  const { invoice } = found
  if (!isPayableByAuthorization(invoice, deps.clock().getTime()))
    return stateOf(found, invoice.payments.some((payment) => !payment.dust && isLive(payment)) ? 200 : 409)
  if (offer === null || offer.isClosed) return notNow()
  return required(deps, { offer, path, error: 'PAYMENT-SIGNATURE header is required' })
}

async function offerOf(
  { clock, pool, staging = false }: X402Deps,
  found: X402Invoice,
): Promise<X402Offer | null> {
  if (!isX402Asset(found.invoice.asset)) return null
  const offer = OFFERS[keyFamilyOfNetwork(found.network)]
  return offer === undefined ? null : offer({ pool, now: clock(), staging }, found)
}

type Payment = {
  readonly found: X402Invoice
  readonly offer: X402Offer | null
  readonly path: string
  readonly header: string
}

async function pay(deps: X402Deps, { found, offer, path, header }: Payment): Promise<Response> {
  const payment = parse(header)
  if (payment === null) return jsonResponse(400, { error: 'invalid_payload' })
  if (!isX402Asset(found.invoice.asset)) return stateOf(found, 409)
  if (offer === null) return notNow()
  const judged = offer.judge(payment)
  if (judged === null) return jsonResponse(400, { error: 'invalid_payload' })
  const { tenant, invoice } = found
  const { payer } = judged
  // Terms are not shown of an invoice that cannot be paid in this way.
  const turnedDown = (reason: string): Response => {
    if (!isPayableByAuthorization(invoice, deps.clock().getTime())) return stateOf(found, 409)
    return offer.isClosed ? notNow() : refused(deps, { offer, path, reason, payer })
  }
  if (judged.kind === 'refused') return turnedDown(judged.reason)
  const { transfer, lateness } = judged
  const isLate = lateness !== null || offer.isClosed
  const submitted = await submitX402Authorization(deps, { tenant, invoiceId: invoice.id, transfer, isLate })
  // Its caller waits for the block: who signs and who carries it must not rest meanwhile.
  deps.notifier.activity()
  switch (submitted.kind) {
    case 'late':
      return lateness === null ? notNow() : turnedDown(lateness)
    case 'busy':
      return jsonResponse(409, { error: 'being_paid' })
    case 'exhausted':
      return jsonResponse(409, { error: 'too_many_attempts' })
    case 'not_payable':
      return stateOf(found, 409)
    default:
      return settled(deps, { found, offer, path, id: submitted.authorization.id })
  }
}

const notNow = (): Response => jsonResponse(503, { error: 'service_unavailable' }, { 'retry-after': '30' })

function parse(header: string): X402Payment | null {
  if (header.length > HEADER_CHARACTERS_MAX) return null
  try {
    const parsed = x402PaymentSchema.safeParse(JSON.parse(Buffer.from(header, 'base64').toString('utf8')))
    return parsed.success ? parsed.data : null
  } catch {
    // No JSON: the response says that it is no payment.
    return null
  }
}

/** Waits until the payment is in a block or can never be in one. */
async function settled(
  deps: X402Deps,
  of: { readonly found: X402Invoice; readonly offer: X402Offer; readonly path: string; readonly id: string },
): Promise<Response> {
  const { found, offer, path, id } = of
  const { settleWaitMs = SETTLE_WAIT_MS_MAX } = deps
  const deadline = performance.now() + settleWaitMs
  let authorization = await readX402Authorization(deps, found.tenant, id)
  while (isOpen(authorization) && performance.now() < deadline) {
    await pause(SETTLE_POLL_MS)
    authorization = await readX402Authorization(deps, found.tenant, id)
  }
  const payer = offer.payerOf(authorization)
  if (isOpen(authorization))
    return jsonResponse(202, { object: 'x402_settlement', status: 'settling' }, { 'retry-after': '2' })
  if (authorization.status === 'refused')
    return refused(deps, { offer, path, reason: authorization.reason ?? '', payer })
  const { network } = offer.terms
  const settlement = { success: true, transaction: authorization.txid ?? '', network, payer }
  const body = { object: 'x402_settlement', status: 'settled', invoice_id: found.invoice.id }
  const { transaction } = settlement
  return jsonResponse(
    200,
    { ...body, transaction, network, payer },
    { 'payment-response': encoded(settlement) },
  )
}

const isOpen = ({ status }: X402Authorization): boolean => status === 'waiting' || status === 'checked'

type Asking = { readonly offer: X402Offer; readonly path: string }

/** What is asked for (§5.1 of the specification, and its HTTP transport). */
function required(
  { baseUrl }: X402Deps,
  { offer, path, error }: Asking & { readonly error: string },
  headers: { readonly [name: string]: string } = {},
): Response {
  const body = {
    x402Version: X402_VERSION,
    error,
    resource: {
      url: `${baseUrl}${path}`,
      description: 'Payment of an invoice',
      mimeType: 'application/json',
    },
    accepts: [paymentRequirements(offer.terms)],
    extensions: {},
  }
  return jsonResponse(402, body, { 'payment-required': encoded(body), ...headers })
}

function refused(
  deps: X402Deps,
  { reason, payer, ...asking }: Asking & { readonly reason: string; readonly payer: string },
): Response {
  const { network } = asking.offer.terms
  const settlement = { success: false, errorReason: reason, transaction: '', network, payer }
  return required(deps, { ...asking, error: reason }, { 'payment-response': encoded(settlement) })
}

/** How an invoice stands that nobody has to pay (200), or can (409). */
function stateOf({ invoice }: X402Invoice, status: 200 | 409): Response {
  const error = status === 409 ? { error: 'not_payable' } : {}
  const { id, asset } = invoice
  return jsonResponse(status, { ...error, object: 'invoice', id, status: deriveStatus(invoice), asset })
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** Limits what runs at the same time, counted by name. A name is kept only while something runs under it. */
type ConcurrencyLimit = {
  /** Runs `work`, or returns null at once if one of the names has reached its maximum. */
  run<Result>(
    within: readonly { readonly name: string; readonly max: number }[],
    work: () => Promise<Result>,
  ): Promise<Result | null>
}

/** Creates a limit for this process, so that what is slow for one does not hold up others. */
export function createConcurrencyLimit(): ConcurrencyLimit {
  const counts = new Map<string, number>()
  const countOf = (name: string): number => counts.get(name) ?? 0
  return {
    run: async (within, work) => {
      if (within.some(({ name, max }) => countOf(name) >= max)) return null
      for (const { name } of within) counts.set(name, countOf(name) + 1)
      try {
        return await work()
      } finally {
        for (const { name } of within) {
          if (countOf(name) === 1) counts.delete(name)
          else counts.set(name, countOf(name) - 1)
        }
      }
    },
  }
}
