import { COINS, PAYMENT_ASSET_IDS } from '../../../core/assets.ts'
import { formatCoinAmount, formatUsd } from '../../../core/money.ts'
import { findWaiting, firstIdAt, planByIndexes } from '../../../db/invoices/invoice-list.ts'
import {
  countInvoicesByDay,
  medianTimesToPay,
  receivedByDay,
  statisticsOfAttempts,
} from '../../../db/invoices/statistics.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { statisticsQuery, statisticsView } from '../../../wire/dashboard.ts'
import { defineRoute } from '../route.ts'

const DAYS_DEFAULT = 30
const DAY_MS = 24 * 3_600_000

export const getStatisticsRoute = defineRoute({
  method: 'get',
  path: '/statistics',
  operationId: 'getStatistics',
  tag: 'Dashboard',
  summary: 'Retrieve payment statistics',
  description:
    'By day in UTC, days without any left out: what was received, and how many of the invoices created are paid by now. What was received by coin, what waits for a decision, and how the newest webhook attempts went.',
  scope: 'invoices:read',
  dashboardOnly: true,
  query: statisticsQuery,
  success: { status: 200, description: 'The figures.', schema: statisticsView },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const count = query.days ?? DAYS_DEFAULT
    const today = Math.floor(deps.clock().getTime() / DAY_MS)
    const days = Array.from({ length: count }, (_, at) => dayOf(today - count + 1 + at))
    const [first = dayOf(today)] = days
    const [, received, invoices, medians, webhooks, waiting] = await withTransaction(
      deps.pool,
      tenant,
      (tx) =>
        Promise.all([
          planByIndexes(tx),
          receivedByDay(tx, tenant, first.day),
          countInvoicesByDay(tx, tenant, days),
          medianTimesToPay(tx, tenant, first.firstId),
          statisticsOfAttempts(tx, tenant, first.since),
          findWaiting(tx, tenant),
        ]),
    )
    const figuresOf = (rows: typeof received, created: typeof invoices) => ({
      received_usd: formatUsd(rows.reduce((sum, { usdCents }) => sum + usdCents, 0n)),
      created: created.reduce((sum, day) => sum + day.created, 0),
      paid: created.reduce((sum, day) => sum + day.paid, 0),
    })
    const named = [...new Set([...received, ...invoices].map(({ day }) => day))].sort()
    return {
      object: 'statistics' as const,
      livemode: tenant.livemode,
      ...figuresOf(received, invoices),
      needs_review: waiting.length,
      days: named.map((day) => ({
        day,
        ...figuresOf(
          received.filter((row) => row.day === day),
          invoices.filter((row) => row.day === day),
        ),
      })),
      assets: PAYMENT_ASSET_IDS.flatMap((asset) => {
        const rows = received.filter((row) => row.asset === asset)
        const units = rows.reduce((sum, { amount }) => sum + amount, 0n)
        const { received_usd } = figuresOf(rows, [])
        const median = medians.get(asset) ?? null
        const coins = formatCoinAmount(units, COINS[asset].decimals)
        return rows.length === 0 && median === null
          ? []
          : [{ asset, received: coins, received_usd, median_seconds_to_pay: median }]
      }),
      webhooks,
    }
  },
})

function dayOf(number: number) {
  const since = new Date(number * DAY_MS)
  const [firstId, nextId] = [firstIdAt(since.getTime(), 0) ?? '', firstIdAt(since.getTime(), DAY_MS) ?? '']
  return { day: since.toISOString().slice(0, 10), since, firstId, nextId }
}
