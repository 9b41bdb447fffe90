import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { type CardPurchase, isOpenOffer, stillStands } from '../core/card/card-purchase.ts'
import type { CardAnswer, CardOrder, OnrampProvider, ProviderAnswer } from '../core/card/onramp-provider.ts'
import type {
  CardOffersOutcome,
  LeftForCard,
  OwnInvoice,
  OwnPurchase,
} from '../core/checkout/checkout-pages.ts'
import { amountsOf, wasSettled } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'
import {
  answerCardPurchase,
  countCardPurchases,
  insertCardPurchase,
  leaveForCard,
  listCardPurchases,
  lockCardPurchases,
} from '../db/checkout/card-purchases.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { allowCardRounding } from './steps/allow-card-rounding.ts'
import { isBeingPaid } from './steps/payment-under-way.ts'
import { loadShownInvoice } from './steps/shown-invoices.ts'

/** More than there are providers, so that each one's last purchase is among them. */
const RECENT_PURCHASES = 12

/**
 * The offers of an invoice that stand now: each provider's last one over the coin and the amount that are to pay
 * now, for the place that was asked for last. Reads only.
 */
export async function readCardOffers(
  deps: { readonly pool: Pool; readonly clock: Clock },
  input: OwnInvoice,
): Promise<readonly CardPurchase[]> {
  const { tenant, invoiceId } = input
  const { stored, recent } = await withTransaction(deps.pool, tenant, async (tx) => ({
    stored: await loadInvoice(tx, tenant, invoiceId),
    recent: await listCardPurchases(tx, tenant, invoiceId, RECENT_PURCHASES),
  }))
  if (stored === null) return []
  const { asset, address } = stored.invoice
  const amount = amountsOf(stored.invoice).remaining
  // What was asked for before the coin was switched, or a part was paid, is no offer any more.
  const fitting = recent.filter(
    (one) => one.asset === asset && one.address === address && one.amount === amount,
  )
  const nowMs = deps.clock().getTime()
  return fitting.filter(
    (purchase, index) =>
      isOpenOffer(purchase, nowMs) &&
      purchase.place === fitting[0]?.place &&
      fitting.findIndex(({ provider }) => provider === purchase.provider) === index,
  )
}

/** Longer than any provider is waited for: past it the question was lost with its process, and may be asked again. */
const ASKING_MS_MAX = 15_000
/** A refusal holds for so long, and what failed is not tried again sooner. */
const REFUSAL_MS = 60_000
const FAILURE_MS = 5_000
/** Each question costs a provider a session: an invoice's page may not be used to flood one. */
const PURCHASES_PER_INVOICE_MAX = 60

type AskCardOffersDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
  readonly log: { warn(details: object, message: string): void }
  readonly providers: readonly OnrampProvider[]
}

type Question = {
  readonly provider: OnrampProvider
  readonly purchase: Omit<CardPurchase, 'answer' | 'leftAtMs' | 'update'>
  readonly usdCents: bigint | null
}

/**
 * Asks every provider that sells the invoice's coin for a session over what is still to pay. What was asked for
 * just now is not asked again, also by a second press that comes while the first one's question is under way: it
 * is written down before it is sent, and no transaction is open meanwhile.
 */
export async function askCardOffers(
  deps: AskCardOffersDeps,
  input: OwnInvoice & Pick<CardOrder, 'place' | 'clientAddress' | 'returnUrl'>,
): Promise<CardOffersOutcome> {
  const { tenant } = input
  const questions = await withTransaction(deps.pool, tenant, (tx) => writeQuestions(deps, tx, input))
  if (!Array.isArray(questions)) return questions
  const { place, clientAddress, returnUrl } = input
  const answers = await Promise.all(
    questions.map(async ({ provider, purchase, usdCents }) => {
      const { id: reference, asset, amount, address } = purchase
      const order = { reference, asset, amount, usdCents, address, place, clientAddress, returnUrl }
      return { purchase, answer: await ask(deps, provider, order) }
    }),
  )
  if (answers.length > 0) {
    await withTransaction(deps.pool, tenant, async (tx) => {
      for (const { purchase, answer } of answers) await writeAnswer(deps, tx, tenant, purchase.id, answer)
    })
  }
  return { kind: 'offered' }
}

async function writeQuestions(
  deps: AskCardOffersDeps,
  tx: Tx,
  input: { readonly tenant: Tenant; readonly invoiceId: string; readonly place: string },
): Promise<Question[] | Exclude<CardOffersOutcome, { kind: 'offered' }>> {
  const { tenant, invoiceId, place } = input
  await lockCardPurchases(tx, tenant, invoiceId)
  const stored = await loadShownInvoice(tx, tenant, invoiceId, deps.issuedAddresses)
  if (stored === null) return { kind: 'not_found' }
  const { invoice } = stored
  const now = deps.clock()
  const amount = amountsOf(invoice).remaining
  const isOpen =
    invoice.cancelledAtMs === null && !wasSettled(invoice) && now.getTime() <= invoice.expiresAtMs
  if (!isOpen || amount === 0n || (await isBeingPaid(tx, tenant, invoice, now))) return { kind: 'closed' }
  const { asset, address } = invoice
  const order = { asset, amount, address, place }
  const recent = await listCardPurchases(tx, tenant, invoiceId, RECENT_PURCHASES)
  const open = deps.providers.filter(
    (provider) =>
      provider.livemode === tenant.livemode &&
      provider.sells(asset) &&
      !recent.some((one) => one.provider === provider.id && stillStands(one, order, now.getTime())),
  )
  const count = await countCardPurchases(tx, tenant, invoiceId)
  if (count + open.length > PURCHASES_PER_INVOICE_MAX) return { kind: 'too_often' }
  const questions = open.map((provider): Question => {
    const createdAtMs = now.getTime()
    const times = { createdAtMs, freshUntilMs: createdAtMs + ASKING_MS_MAX }
    const purchase = { id: newId('cardPurchase', now), invoiceId, provider: provider.id, ...order, ...times }
    return { provider, purchase, usdCents: usdCentsOf(invoice, amount) }
  })
  for (const { purchase } of questions) await insertCardPurchase(tx, tenant, purchase)
  return questions
}

/** What part of the invoice's dollars an amount is, rounded up. */
function usdCentsOf(invoice: Invoice, amount: bigint): bigint | null {
  if (invoice.usdCents === null) return null
  return (invoice.usdCents * amount + invoice.amount - 1n) / invoice.amount
}

/** One provider's fault is not another's: whatever it throws is an answer that failed. */
async function ask(
  deps: AskCardOffersDeps,
  provider: OnrampProvider,
  order: CardOrder,
): Promise<ProviderAnswer> {
  const answer = await provider
    .begin(order)
    .catch((cause: unknown): ProviderAnswer => ({ kind: 'failed', reason: 'a fault of ours', cause }))
  if (answer.kind === 'failed') {
    const { reason, cause } = answer
    deps.log.warn(
      {
        provider: provider.id,
        purchase: order.reference,
        reason,
        ...(cause === undefined ? {} : { err: cause }),
      },
      'a card provider made no offer',
    )
  }
  return answer
}

async function writeAnswer(
  deps: AskCardOffersDeps,
  tx: Tx,
  tenant: Tenant,
  id: string,
  response: ProviderAnswer,
): Promise<void> {
  const nowMs = deps.clock().getTime()
  const sealedUrl =
    response.kind === 'offered'
      ? deps.keyring.seal(Buffer.from(response.url), cardUrlContext(tenant.merchantId, id))
      : null
  const freshUntil = new Date(nowMs + standsForMs(response))
  // False only where the question lapsed and was answered otherwise; that answer stands.
  await answerCardPurchase(tx, tenant, { id, answer: shownAnswer(response), sealedUrl, freshUntil })
}

function standsForMs(response: ProviderAnswer): number {
  switch (response.kind) {
    case 'offered':
      return response.usableSeconds * 1_000
    case 'refused':
      return REFUSAL_MS
    case 'failed':
      return FAILURE_MS
  }
}

function shownAnswer(response: ProviderAnswer): CardAnswer {
  switch (response.kind) {
    case 'offered': {
      const { kind, quote, minimum, amount } = response
      return { kind, quote, minimum, amount }
    }
    case 'refused':
      return response
    case 'failed':
      return { kind: 'failed' }
  }
}

/** The buyer leaves for a provider: written down, so that the page shows it; returns where to go. */
export async function leaveForCardProvider(
  deps: {
    readonly pool: Pool
    readonly clock: Clock
    readonly keyring: Keyring
    readonly notifier: { invoiceChanged(invoiceId: string): void }
  },
  input: OwnPurchase,
): Promise<LeftForCard> {
  const { tenant, invoiceId, purchaseId: id } = input
  const left = await withTransaction(deps.pool, tenant, async (tx) => {
    // The buyer may have switched coins or paid a part in another window since they asked.
    const stored = await loadInvoice(tx, tenant, invoiceId)
    const now = deps.clock()
    if (stored === null || (await isBeingPaid(tx, tenant, stored.invoice, now))) return null
    const { asset, address } = stored.invoice
    const amount = amountsOf(stored.invoice).remaining
    const purchase = { id, invoiceId, asset, amount, address, now }
    const taken = await leaveForCard(tx, tenant, purchase)
    if (taken !== null) await allowCardRounding(tx, tenant, invoiceId, asset)
    return taken
  })
  if (left === null) return { kind: 'over' }
  deps.notifier.invoiceChanged(invoiceId)
  const url = deps.keyring.open(left.sealedUrl, cardUrlContext(tenant.merchantId, id)).toString()
  return { kind: 'left', provider: left.provider, url }
}

/** Where the sealed URL of a card provider's session belongs: it opens for this purchase alone. */
const cardUrlContext = (merchantId: string, purchaseId: string): string =>
  `card_purchase/${merchantId}/${purchaseId}`
