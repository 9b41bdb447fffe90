import type { IssuedAddressCheck } from '../../core/address-batch.ts'
import type { AccessSeals } from '../../core/people/access-seals.ts'
import type { EventFormats } from '../../delivery/event-format.ts'
import type { DepositAddressLimit } from '../../flows/steps/deposit-address-limit.ts'
import type { OpenInvoiceLimit } from '../../flows/steps/open-invoice-limit.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Standby } from '../../postgres/standby.ts'
import type { CurrencyRates } from '../../rates/currency-rates.ts'
import type { PriceBook } from '../../rates/price-book.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { SandboxControl } from '../../sandbox/sandbox-control.ts'
import type { Keyring } from '../../secrets/keyring.ts'
import type { NetworkStates } from './network-states.ts'
import type { RateLimits } from './rate-limit.ts'
import type { RequestRecorder } from './request-recorder.ts'
import type { FindSignIn } from './session-credential.ts'

/** The API's dependencies. Everything that reaches the outside world comes in here. */
export type ApiDeps = {
  /** Connections of the API's own database role. */
  readonly pool: Pool
  /** Answers lists, exports and statistics where it has all that the primary has. */
  readonly standby?: Standby
  readonly clock: Clock
  readonly log: Log
  readonly keyring: Keyring
  /** Of the rows that decide who may do what. */
  readonly seals: AccessSeals
  readonly prices: Pick<PriceBook, 'quote' | 'report'>
  readonly currencyRates: Pick<CurrencyRates, 'quote'>
  /** Origin of every link that is given out; the Host header is never used. */
  readonly baseUrl: string
  readonly networks: NetworkStates
  /** Asked before an address is given out: whether the signer issued it. */
  readonly issuedAddresses: IssuedAddressCheck
  /** How many unpaid invoices a merchant may have open. */
  readonly openInvoices: OpenInvoiceLimit
  /** How many customers of a merchant may have permanent addresses. */
  readonly depositAddresses: DepositAddressLimit
  /** The signer's public key to which codes are sealed that approve payouts; null until it has published one. */
  readonly signerSealKey?: () => Promise<Uint8Array | null>
  /** The operator's fee on payments to invoices created now, in basis points. */
  readonly serviceFeeBps: number
  readonly notifier: {
    invoiceChanged(invoiceId: string): void
    deliveriesWaiting(): void
    activity(): void
  }
  readonly rateLimits: RateLimits
  /** Present where a sandbox chain runs. */
  readonly sandbox?: Pick<SandboxControl, 'payInvoice' | 'sendCoins' | 'serves'>
  /** Whether test endpoints may be plain, literal or private addresses. */
  readonly webhookAllowPrivate: boolean
  /** Live mode is on private chains, and its endpoints may be private as well. */
  readonly staging?: boolean
  /** Webhook formats of other services, and which of them an endpoint may be created with now; none unless given. */
  readonly webhookFormats?: { readonly known: EventFormats; readonly offered: readonly string[] }
  /** Whether there is a mail server for what is written to people; none unless given. */
  readonly sendsMail?: boolean
  /** Keeps what was asked, for the merchant's request log. */
  readonly recorder?: Pick<RequestRecorder, 'record'>
  /** Finds whose sign-in a dashboard cookie is; absent where no dashboard is served. */
  readonly findSignIn?: FindSignIn
  /** A monotonic clock in milliseconds, for caches and rate limits; the process's own unless given. */
  readonly elapsedMs?: () => number
}
