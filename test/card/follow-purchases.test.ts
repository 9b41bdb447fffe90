import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CardProviderId, OnrampProvider } from '../../src/core/card/onramp-provider.ts'
import { createPurchaseFollower } from '../../src/onramp/follow-purchases.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const TELLS_NOTHING = { kind: 'failed', reason: 'it does not say' } as const
const LEFT_AT_MS = Date.parse('2026-11-21T12:00:00.000Z')

const providerOf = (
  id: CardProviderId,
  transactionsOf: NonNullable<OnrampProvider['transactionsOf']>,
): OnrampProvider => ({
  id,
  transactionsOf,
  livemode: true,
  sells: () => true,
  begin: () => Promise.reject(new Error('nobody begins')),
  fault: async () => null,
})

const followerOf = (nowMs: () => number, ...providers: OnrampProvider[]) =>
  createPurchaseFollower({
    pool: database.pools.api,
    clock: () => new Date(nowMs()),
    log: createLogger('silent'),
    notifier: { invoiceChanged: () => {} },
    providers,
  })

test('of more purchases than are followed at a time the oldest is dropped', async () => {
  let nowMs = LEFT_AT_MS
  const silence = new AbortController()
  const asked: string[] = []
  const follower = followerOf(
    () => nowMs,
    providerOf('moonpay', async (reference) => {
      asked.push(reference)
      if (!silence.signal.aborted) await once(silence.signal, 'abort')
      return TELLS_NOTHING
    }),
  )
  for (let count = 0; count <= 1_000; count++)
    follower.follow({ purchaseId: String(count), provider: 'moonpay', leftAtMs: LEFT_AT_MS })
  nowMs += 20_000
  await expect.poll(() => asked, { timeout: 60_000 }).toEqual(['1', '2', '3', '4'])
  silence.abort()
  await follower.stop()
})

test('a provider that never answers keeps no purchase of another one from being asked about', async () => {
  let nowMs = LEFT_AT_MS
  const silence = new AbortController()
  const askedOfSilent: string[] = []
  const askedOfOther: string[] = []
  const follower = followerOf(
    () => nowMs,
    providerOf('moonpay', async (reference) => {
      askedOfSilent.push(reference)
      if (!silence.signal.aborted) await once(silence.signal, 'abort')
      return TELLS_NOTHING
    }),
    providerOf('coinbase', async (reference) => {
      askedOfOther.push(reference)
      return TELLS_NOTHING
    }),
  )
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    follower.follow({ purchaseId: name, provider: 'moonpay', leftAtMs: LEFT_AT_MS })
  follower.follow({ purchaseId: 'f', provider: 'coinbase', leftAtMs: LEFT_AT_MS })
  nowMs += 20_000
  await expect.poll(() => askedOfOther, { timeout: 60_000 }).toEqual(['f'])
  expect(askedOfSilent).toEqual(['a', 'b', 'c', 'd'])
  silence.abort()
  // The one that has waited longest comes before those that are due again.
  nowMs += 600_000
  await expect.poll(() => askedOfSilent[4], { timeout: 60_000 }).toBe('e')
  await follower.stop()
})
