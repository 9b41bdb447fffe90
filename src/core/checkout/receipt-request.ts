import type { AssetId } from '../assets.ts'
import type { Seller } from '../receipt/seller.ts'

/** What a buyer who wants the receipt by email gave, and what the email repeats of the page. Stored sealed. */
export type ReceiptRequest = {
  readonly email: string
  /** BCP 47 tag of the page's language. */
  readonly language: string
  readonly merchantName: string
  readonly item: string | null
  readonly seller: Seller
  readonly url: string
}

/** Where a sealed `ReceiptRequest` belongs: it opens for this invoice alone. */
export const receiptRequestContext = (merchantId: string, invoiceId: string): string =>
  `receipt_request/${merchantId}/${invoiceId}`

/** The contents of a receipt's email; text of shops and buyers is plain, without links. */
export type ReceiptFacts = {
  readonly livemode: boolean
  readonly language: string
  readonly merchantName: string
  readonly item: string | null
  readonly order: string | null
  /** Name and address; empty where the shop did not say who sells. */
  readonly sellerLines: readonly string[]
  readonly taxNumber: string | null
  /** In the shop's own currency; null where it asked for dollars or coins. */
  readonly price: { readonly amount: string; readonly currency: string } | null
  readonly usdAmount: string | null
  readonly asset: AssetId
  /** What came in, in coins: `0.4123`. */
  readonly received: string
  readonly paidAtMs: number
  readonly invoiceId: string
  readonly url: string
  /** Where the shop sends it to whom its invoice names; null where somebody asked for it. */
  readonly unsubscribeUrl: string | null
}
