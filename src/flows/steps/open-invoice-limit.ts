import { LRUCache } from 'lru-cache'
import { countOpenInvoices, countOpenLinkInvoices } from '../../db/invoices/invoice-list.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tenant, withTransaction } from '../../postgres/transaction.ts'

/** A count is read again after this time; one that refuses sooner, since invoices expire meanwhile. */
const KEEP_MS = 5_000
const KEEP_REACHED_MS = 1_000
/** Merchants whose count is kept; beyond it the least recently asked is read again. */
const TENANTS_MAX = 10_000
/** Invoices of plain links, which anybody opens, take half of the room at most: the shop's own orders keep the rest. */
const BUYERS_SHARE = 0.5

/** Who has an invoice created: the shop, by its API or for a session; or whoever opens a plain link. */
type InvoiceOrigin = 'shop' | 'buyer'

/** How many unpaid invoices a merchant may have open in one mode. */
export type OpenInvoiceLimit = {
  /** Whether no further one may be created now. Waits for the database only where nothing is known of the merchant. */
  isReached(tenant: Tenant, origin: InvoiceOrigin): Promise<boolean>
  /** Counts one that was created. */
  created(tenant: Tenant, origin: InvoiceOrigin): void
}

type OpenInvoices = { readonly total: number; readonly ofLinks: number }
type Known = { open: OpenInvoices; readAtMs: number; reading: Promise<void> | null }

/**
 * Counts at most every few seconds, and beside the requests: creating an invoice waits for no count. Between two counts
 * this process knows what itself created; several processes may each go a little beyond.
 */
export function createOpenInvoiceLimit(options: {
  readonly pool: Pool
  readonly max: number
  readonly elapsedMs: () => number
}): OpenInvoiceLimit {
  const { pool, max, elapsedMs } = options
  const ofLinksMax = Math.ceil(max * BUYERS_SHARE)
  const known = new LRUCache<string, Known>({ max: TENANTS_MAX })
  const read = (tenant: Tenant, entry: Known): Promise<void> => {
    const readAtMs = elapsedMs()
    entry.reading ??= withTransaction(pool, tenant, async (tx): Promise<OpenInvoices> => {
      const total = await countOpenInvoices(tx, tenant, max)
      // Few open ones are within the share, whoever opened them.
      const ofLinks = total < ofLinksMax ? 0 : await countOpenLinkInvoices(tx, tenant, ofLinksMax)
      return { total, ofLinks }
    })
      .then((open) => Object.assign(entry, { open, readAtMs }))
      .then(() => {})
      .finally(() => {
        entry.reading = null
      })
    return entry.reading
  }
  const isFull = ({ total, ofLinks }: OpenInvoices, origin: InvoiceOrigin): boolean =>
    total >= max || (origin === 'buyer' && ofLinks >= ofLinksMax)
  return {
    isReached: async (tenant, origin) => {
      const key = keyOf(tenant)
      const entry = known.get(key) ?? {
        open: { total: 0, ofLinks: 0 },
        readAtMs: Number.NEGATIVE_INFINITY,
        reading: null,
      }
      known.set(key, entry)
      const ageMs = elapsedMs() - entry.readAtMs
      if (ageMs === Number.POSITIVE_INFINITY) await read(tenant, entry)
      // One that fails leaves the last count standing; the request itself meets the same database.
      else if (ageMs >= (isFull(entry.open, origin) ? KEEP_REACHED_MS : KEEP_MS))
        read(tenant, entry).catch(() => {})
      return isFull(entry.open, origin)
    },
    created: (tenant, origin) => {
      const entry = known.get(keyOf(tenant))
      if (entry === undefined) return
      const { total, ofLinks } = entry.open
      entry.open = { total: total + 1, ofLinks: ofLinks + (origin === 'buyer' ? 1 : 0) }
    },
  }
}

const keyOf = ({ merchantId, livemode }: Tenant): string => `${livemode ? 'L' : 'T'}${merchantId}`
