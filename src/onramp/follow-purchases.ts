import { LRUCache } from 'lru-cache'
import { type CardWaiting, WAITING_SHOWN_MS } from '../core/card/card-purchase.ts'
import type { CardProviderId, OnrampProvider } from '../core/card/onramp-provider.ts'
import type { ProviderUpdate } from '../core/card/provider-update.ts'
import { recordProviderUpdate } from '../flows/record-provider-update.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'

/** The gap before the first question; each further gap is twice as long, up to `GAP_MS_MAX`. */
const FIRST_GAP_MS = 15_000
const GAP_MS_MAX = 120_000
/** The session ends after five minutes; by now anyone who entered a card has a transaction. */
const ABANDONED_AFTER_MS = 10 * 60_000
/** More than buyers leave for a card in an hour. Beyond it the oldest is dropped until its page is seen again. */
const FOLLOWED_MAX = 1_000
/** Questions under way to one provider: one that never answers holds up no other's. */
const REQUESTS_AT_ONCE_MAX = 4
const TICK_MS = 1_000

type Followed = Pick<CardWaiting, 'purchaseId' | 'provider' | 'leftAtMs'>
type Entry = Followed & { gapMs: number; dueAtMs: number; isRequesting: boolean }

type PurchaseFollower = {
  /** Asks the provider about this purchase from now on, until it has ended or an hour has passed. */
  follow(purchase: Followed): void
  stop(): Promise<void>
}

/**
 * Asks the providers that can be asked what became of the purchases that buyers went away for, ever more seldom. What
 * they say changes words on the page and nothing else. It is kept in memory: after a restart a purchase is followed
 * again as soon as its page is seen.
 */
export function createPurchaseFollower(deps: {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly notifier: { invoiceChanged(invoiceId: string): void }
  readonly providers: readonly OnrampProvider[]
}): PurchaseFollower {
  const { clock, log } = deps
  const followed = new LRUCache<string, Entry>({ max: FOLLOWED_MAX })
  const pending = new Map<Promise<void>, CardProviderId>()
  const readerOf = (id: CardProviderId) =>
    deps.providers.find((provider) => provider.id === id)?.transactionsOf ?? null

  const ask = async (entry: Entry): Promise<void> => {
    const { purchaseId, provider } = entry
    const reported = await readerOf(provider)?.(purchaseId)
    if (reported === undefined) return
    if (reported.kind === 'failed') {
      log.warn({ provider, reason: reported.reason }, 'a card provider did not say how a purchase stands')
      return
    }
    const { transactions, isBegun } = reported
    if (!isBegun && clock().getTime() - entry.leftAtMs >= ABANDONED_AFTER_MS) {
      const nothing = { update: 'abandoned', transaction: '', address: null } as const
      await recordProviderUpdate(deps, { provider, purchaseId, ...nothing })
    }
    // The page shows one state for all tries: a completed one, else one under way, else the newest, which comes first.
    const ofStatus = (status: ProviderUpdate) => transactions.find(({ update }) => update === status)
    const transaction = ofStatus('completed') ?? ofStatus('pending') ?? transactions[0]
    if (transaction === undefined) return
    const { kind } = await recordProviderUpdate(deps, { provider, purchaseId, ...transaction, isOfAll: true })
    if (kind === 'foreign')
      log.warn(
        { provider, purchaseId },
        'a card provider reported a purchase to an address that is not its own',
      )
    if (transaction.update === 'completed') followed.delete(purchaseId)
  }

  const hasRoom = ({ provider }: Entry): boolean =>
    [...pending.values()].filter((each) => each === provider).length < REQUESTS_AT_ONCE_MAX
  const tick = (): void => {
    const nowMs = clock().getTime()
    const due: Entry[] = []
    // A copy, since some are deleted meanwhile. The newest come first in it.
    for (const entry of [...followed.values()].reverse()) {
      if (nowMs - entry.leftAtMs > WAITING_SHOWN_MS) followed.delete(entry.purchaseId)
      else if (nowMs >= entry.dueAtMs && !entry.isRequesting) due.push(entry)
    }
    // What has waited longest comes first, or purchases that take long would keep those behind them from their turn.
    due.sort((a, b) => a.dueAtMs - b.dueAtMs)
    for (const entry of due) if (hasRoom(entry)) start(entry)
  }
  const start = (entry: Entry): void => {
    entry.isRequesting = true
    entry.gapMs = Math.min(entry.gapMs * 2, GAP_MS_MAX)
    entry.dueAtMs = clock().getTime() + entry.gapMs
    const question = ask(entry)
      .catch((error: unknown) => log.error({ err: error }, 'the outcome of a card purchase was not recorded'))
      .finally(() => {
        entry.isRequesting = false
        pending.delete(question)
      })
    pending.set(question, entry.provider)
  }
  const timer = setInterval(tick, TICK_MS)
  timer.unref()
  return {
    follow: ({ purchaseId, provider, leftAtMs }) => {
      if (followed.has(purchaseId) || readerOf(provider) === null) return
      const dueAtMs = clock().getTime() + FIRST_GAP_MS
      followed.set(purchaseId, {
        purchaseId,
        provider,
        leftAtMs,
        gapMs: FIRST_GAP_MS,
        dueAtMs,
        isRequesting: false,
      })
    },
    stop: async () => {
      clearInterval(timer)
      await Promise.all(pending.keys())
    },
  }
}
