import { formatFiat, parseFiat } from '../money.ts'
import { CURRENCIES, type Currency, currencyDecimals } from '../rates/currencies.ts'
import type { Charge } from './buyer-amount.ts'

/** More buttons than these nobody finds in time. */
export const TILL_ITEMS_MAX = 60
export const ITEM_NAME_MAX = 40
export const TIPS_MAX = 4
export const TIP_PERCENT_MAX = 30
/** What an invoice's description may have. */
const DESCRIPTION_LENGTH_MAX = 500
/** Digits of an item's price and of the keypad, before the decimals. */
const WHOLE_DIGITS_MAX = 6

/** What a link's page is where staff take payments at it. Amounts have all the decimals of the currency. */
export type Till = {
  readonly currency: Currency | 'USD'
  readonly items: readonly {
    readonly name: string
    readonly amount: string
    /** Digest of a picture of the merchant's. */
    readonly picture?: string | undefined
  }[]
  /** Percentages that the page offers; empty: it asks for no tip. */
  readonly tips: readonly number[]
}

/** One sale as the till's page sends it. */
export type SaleRequest = {
  /** How many of which item, by its place: `0x2,3x1`. */
  readonly items: string
  /** What was typed on the keypad; empty for nothing. */
  readonly amount: string
  /** Percent. */
  readonly tip: string
  /** What the page showed. */
  readonly total: string
}

type Sale =
  | {
      readonly kind: 'sale'
      readonly charge: Charge
      readonly description: string | null
      readonly metadata: { readonly tip: string } | null
    }
  /** The page showed other items or prices than the till has now. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'refused' }

const ITEM = /^(0|[1-9][0-9]?)x([1-9][0-9]?)$/
const WHOLE_DIGITS = new RegExp(`^[0-9]{1,${WHOLE_DIGITS_MAX}}(\\.|$)`)

/** A till's amount in the smallest units of its currency; null for more than the keypad takes, and for no amount. */
export const tillUnits = (amount: string, currency: Till['currency']): bigint | null =>
  WHOLE_DIGITS.test(amount) ? parseFiat(amount, currencyDecimals(currency)) : null

/** What a sale comes to, by the till's own prices: `changed` for a page that was drawn before they changed. */
export function saleOf({ currency, items, tips }: Till, request: SaleRequest): Sale {
  const decimals = currencyDecimals(currency)
  const typed = request.amount === '' ? 0n : tillUnits(request.amount, currency)
  const sold = request.items === '' ? [] : request.items.split(',', TILL_ITEMS_MAX + 1).map(itemSold)
  const percent = request.tip === '' ? 0 : (tips.find((one) => String(one) === request.tip) ?? null)
  if (typed === null || sold.length > TILL_ITEMS_MAX || sold.some((one) => one === null)) return REFUSED
  if (percent === null) return { kind: 'changed' }
  let subtotal = typed
  const words: string[] = []
  for (const one of sold) {
    const item = items[one?.at ?? -1]
    if (item === undefined || one === null) return { kind: 'changed' }
    subtotal += (parseFiat(item.amount, decimals) ?? 0n) * BigInt(one.count)
    words.push(one.count === 1 ? item.name : `${one.count} × ${item.name}`)
  }
  const tip = (subtotal * BigInt(percent) + 50n) / 100n
  const total = subtotal + tip
  if (total === 0n) return REFUSED
  const amount = formatFiat(total, decimals)
  if (amount !== request.total) return { kind: 'changed' }
  const other = formatFiat(typed, decimals)
  if (typed > 0n && words.length > 0) words.push(`+ ${other}`)
  // A tip alone would look like all that was sold.
  else if (typed > 0n && tip > 0n) words.push(other)
  if (tip > 0n) words.push(`+ ${percent} % (${formatFiat(tip, decimals)})`)
  return {
    kind: 'sale',
    charge:
      currency === 'USD'
        ? { kind: 'usd', usdAmount: amount }
        : { kind: 'price', price: { amount, currency } },
    description: words.length === 0 ? null : shortened(words.join(', ')),
    metadata: tip === 0n ? null : { tip: formatFiat(tip, decimals) },
  }
}

const REFUSED = { kind: 'refused' } as const

function itemSold(text: string): { at: number; count: number } | null {
  const found = ITEM.exec(text)
  return found === null ? null : { at: Number(found[1]), count: Number(found[2]) }
}

function shortened(text: string): string {
  const characters = [...text]
  if (characters.length <= DESCRIPTION_LENGTH_MAX) return text
  return `${characters.slice(0, DESCRIPTION_LENGTH_MAX - 1).join('')}…`
}

/** What is wrong with making a till of a link. */
export function tillFault(link: {
  readonly till: Till | null
  readonly allowDynamicAmount: boolean
  readonly own: Charge | null
  readonly buyerAmount: unknown
}): { readonly param: 'till'; readonly message: string } | null {
  if (link.till === null) return null
  if (link.allowDynamicAmount && link.own === null && link.buyerAmount === null) return null
  return { param: 'till', message: 'Needs allow_dynamic_amount, and no amount or buyer_amount of the link.' }
}

/** The pictures that a till names. */
export const picturesOf = (till: Till | null | undefined): string[] =>
  (till?.items ?? []).flatMap(({ picture }) => picture ?? [])

/** A picture that was not uploaded, or not by this merchant in this mode. */
export const PICTURE_UNKNOWN = {
  param: 'till',
  message: 'Names a picture that you have not uploaded in this mode.',
} as const

/** As it is stored; null where something else stands in its place. */
export function tillOf(stored: unknown): Till | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { currency: named, items, tips }: Record<string, unknown> = { ...stored }
  const currency = named === 'USD' ? named : CURRENCIES.find((each) => each === named)
  if (currency === undefined || !Array.isArray(items) || !Array.isArray(tips)) return null
  const all = items.map((item: unknown) => {
    const { name, amount, picture }: Record<string, unknown> = { ...(item as object | null) }
    if (typeof name !== 'string' || typeof amount !== 'string') return null
    return { name, amount, ...(typeof picture === 'string' ? { picture } : {}) }
  })
  return {
    currency,
    items: all.filter((item) => item !== null),
    tips: tips.filter((tip) => typeof tip === 'number'),
  }
}

/** What a till's page is made of. */
export type TillFacts = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly merchantName: string
  readonly linkId: string
  readonly linkName: string
  readonly till: Till
  /** Whether the given cookie is that of staff who signed in with the code of now. */
  readonly isSignedIn: boolean
}

/** What a till took since a moment, in its currency. */
export type Takings = {
  readonly count: number
  readonly total: string
  /** Part of the total. */
  readonly tips: string
  /** The newest sales, paid or not. */
  readonly sales: readonly TillSale[]
}

export type TillSale = {
  readonly invoiceId: string
  readonly amount: string
  readonly status: string
  readonly createdAtMs: number
}
