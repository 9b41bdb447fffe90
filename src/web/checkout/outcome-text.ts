import { ASSETS, COINS, networkOf } from '../../core/assets.ts'
import { CARD_PROVIDER_NAMES } from '../../core/card/onramp-provider.ts'
import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import { unreachable } from '../../core/unreachable.ts'
import { coin, total } from './amounts.ts'
import type { CheckoutPage } from './checkout-page.ts'
import type { IconName } from './icons.tsx'
import { fill, type Language } from './language.ts'
import { paidNetworks } from './network-names.ts'

/** The heading of a page and the sentence under it; together they are what a screen reader announces. */
export type OutcomeText = {
  readonly heading: string
  readonly lead: string
  readonly icon: IconName
  readonly tone: 'neutral' | 'good' | 'waiting' | 'warning'
}

/** What the page says in its state. */
export function outcomeTextOf(page: CheckoutPage): OutcomeText {
  if (isWaitingForCard(page)) return cardText(page)
  const { view, merchantName: merchant, language } = page
  const { messages } = language
  const network = paidNetworks(language, view)
  const price = total(language, view)
  switch (view.state) {
    case 'awaiting':
      return {
        heading: fill(messages.awaiting_heading, { amount: coin(view.asset, view.remaining) }),
        lead:
          price === null
            ? fill(messages.awaiting_lead_coin, { merchant })
            : fill(messages.awaiting_lead, { usd: price, merchant }),
        icon: 'wallet',
        tone: 'neutral',
      }
    case 'underpaid':
      return underpaidText(page)
    case 'checking':
      return {
        heading: messages.checking_heading,
        lead: fill(messages.checking_lead, { network }),
        icon: 'search',
        tone: 'waiting',
      }
    case 'detected':
      return {
        heading: messages.detected_heading,
        lead: fill(messages.detected_lead, { network }),
        icon: 'clock',
        tone: 'waiting',
      }
    case 'confirming':
      return {
        heading: messages.confirming_heading,
        lead: fill(messages.confirming_lead, { network }),
        icon: 'clock',
        tone: 'waiting',
      }
    case 'paid':
      return {
        heading: messages.paid_heading,
        lead: fill(messages.paid_lead, { merchant }),
        icon: 'check',
        tone: 'good',
      }
    case 'overpaid':
      return {
        heading: messages.overpaid_heading,
        lead: fill(messages.overpaid_lead, { merchant, excess: coin(view.asset, view.excess) }),
        icon: 'check',
        tone: 'good',
      }
    case 'expired':
      return {
        heading: messages.expired_heading,
        lead: messages.expired_lead,
        icon: 'clock',
        tone: 'warning',
      }
    case 'cancelled':
      return {
        heading: messages.cancelled_heading,
        lead: fill(messages.cancelled_lead, { merchant }),
        icon: 'cross',
        tone: 'warning',
      }
    case 'review':
      return reviewText(page)
    default:
      return unreachable(view.state)
  }
}

/** Whether the page speaks of a card provider first: the buyer went there, and the provider has not said that nothing will come. */
export const isWaitingForCard = ({ view, method }: Pick<CheckoutPage, 'view' | 'method'>): boolean =>
  view.card !== null &&
  view.card.update !== 'failed' &&
  view.card.update !== 'abandoned' &&
  // Past the deadline there is no other way to look at.
  (method === null || !view.payable)

function cardText({ view, merchantName: merchant, language: { messages } }: CheckoutPage): OutcomeText {
  if (view.card === null) throw new Error('the page waits for no card')
  const provider = CARD_PROVIDER_NAMES[view.card.provider]
  const { symbol, networkName: network } = ASSETS[view.card.asset]
  const leads = {
    none: fill(messages.card_waiting_lead, { provider, symbol, merchant }),
    pending: fill(messages.card_pending_lead, { provider, symbol }),
    completed: fill(messages.card_completed_lead, { provider, network }),
    failed: fill(messages.card_declined, { provider }),
    abandoned: fill(messages.card_abandoned, { provider }),
  }
  const heading = fill(messages.card_waiting_heading, { provider })
  return { heading, lead: leads[view.card.update ?? 'none'], icon: 'clock', tone: 'waiting' }
}

function underpaidText(page: CheckoutPage): OutcomeText {
  const { view, merchantName: merchant } = page
  const { messages } = page.language
  const received = coin(view.asset, view.received)
  const amount = coin(view.asset, view.amount)
  if (!view.payable) {
    const lead = fill(messages.underpaid_over_lead, { received, amount, merchant })
    return { heading: messages.underpaid_over_heading, lead, icon: 'alert', tone: 'warning' }
  }
  return {
    heading: fill(messages.underpaid_heading, { amount: coin(view.asset, view.remaining) }),
    lead: fill(messages.underpaid_lead, { received, amount }),
    icon: 'alert',
    tone: 'warning',
  }
}

function reviewText(page: CheckoutPage): OutcomeText {
  const { view, merchantName: merchant } = page
  const { messages } = page.language
  const look = { icon: 'search', tone: 'warning' } as const
  const network = paidNetworks(page.language, view)
  switch (view.reviewReason) {
    case 'late':
      return { heading: messages.review_heading, lead: fill(messages.review_late, { merchant }), ...look }
    case 'cancelled':
      return {
        heading: messages.review_heading,
        lead: fill(messages.review_cancelled, { merchant }),
        ...look,
      }
    case 'reorged':
      return {
        heading: messages.review_reorged_heading,
        lead: fill(messages.review_reorged, { merchant, network }),
        ...look,
      }
    default:
      return { heading: messages.review_heading, lead: fill(messages.review_other, { merchant }), ...look }
  }
}

/** Notes on payments that do not decide the page's state: replaced, in the wrong coin, or one too many. */
export function notesOf(
  page: Pick<CheckoutPage, 'merchantName'> & {
    readonly view: Pick<CheckoutView, 'payments' | 'wasReplaced'>
    readonly language: Pick<Language, 'messages'>
  },
): string[] {
  const { messages } = page.language
  const { view, merchantName: merchant } = page
  const ofPayments = view.payments.flatMap((payment) => {
    const amount = coin(payment.asset, payment.amount)
    if (payment.reviewReason === 'after_settlement')
      return [fill(messages.note_after_settlement, { amount, merchant })]
    const network = COINS[payment.asset].networkName
    if (payment.reviewReason === 'wrong_network')
      return [fill(messages.note_wrong_network, { amount, merchant, network })]
    if (payment.reviewReason !== 'wrong_asset') return []
    return [fill(messages.note_wrong_asset, { amount, merchant, network })]
  })
  return view.wasReplaced ? [messages.note_replaced, ...ofPayments] : ofPayments
}

export const TITLE_NAME_MAX = 60

/** The window's title: what a buyer with many tabs must see first. */
export function titleOf(page: CheckoutPage): string {
  const { messages } = page.language
  const merchant = page.merchantName.slice(0, TITLE_NAME_MAX)
  if (page.view.state === 'awaiting' && !isWaitingForCard(page)) return fill(messages.title_pay, { merchant })
  return fill(messages.title_state, { state: outcomeTextOf(page).heading, merchant })
}

/** The three steps of a payment, and how many of them are done; null where they do not describe the page. */
export function stepsDone({ state, payable }: CheckoutView): number | null {
  switch (state) {
    case 'awaiting':
      return 0
    case 'underpaid':
      return payable ? 0 : null
    case 'detected':
    case 'confirming':
      return 2
    case 'paid':
    case 'overpaid':
      return 3
    default:
      return null
  }
}

/** Changes exactly when there is something new to announce; one more confirmation is not announced. */
export function milestoneOf(view: CheckoutView): string {
  const card = view.card === null ? '' : ` ${view.card.provider} ${view.card.update}`
  return `${view.state} ${view.received} ${networkOf(view.asset, view.livemode)}${card}`
}
