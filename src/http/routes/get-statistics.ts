import { formatUsd } from '../../core/money.ts'
import { firstIdAt } from '../../db/queries/invoice-list.ts'
import { statisticsByAsset, statisticsByDay, statisticsOfAttempts } from '../../db/queries/statistics.ts'
import { withTransaction } from '../../db/transaction.ts'
import { statisticsQuery, statisticsView } from '../../wire/dashboard.ts'
import { defineRoute } from '../route.ts'

const DAYS_DEFAULT = 30
const DAY_MS = 24 * 3_600_000

export const getStatisticsRoute = defineRoute({
  method: 'get',
  path: '/statistics',
  operationId: 'getStatistics',
  tag: 'Dashboard',
  summary: 'Read what came in',
  description: 'By day in UTC, days without invoices left out; by coin; and how webhook attempts went.',
  scope: 'invoices:read',
  dashboardOnly: true,
  query: statisticsQuery,
  success: { status: 200, description: 'The figures.', schema: statisticsView },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const days = query.days ?? DAYS_DEFAULT
    const today = Math.floor(deps.clock().getTime() / DAY_MS)
    const sinceMs = (today - days + 1) * DAY_MS
    const firstId = firstIdAt(sinceMs, 0) ?? ''
    const [byDay, byAsset, webhooks] = await withTransaction(deps.pool, tenant, (tx) =>
      Promise.all([
        statisticsByDay(tx, tenant, firstId),
        statisticsByAsset(tx, tenant, firstId),
        statisticsOfAttempts(tx, tenant, new Date(sinceMs)),
      ]),
    )
    return {
      object: 'statistics' as const,
      livemode: tenant.livemode,
      days: byDay.map(({ day, opened, paid, paidCents, exceptions }) => ({
        day,
        opened,
        paid,
        paid_usd: formatUsd(paidCents),
        exceptions,
      })),
      assets: byAsset.map(({ asset, paid, paidCents, medianSeconds }) => ({
        asset,
        paid,
        paid_usd: formatUsd(paidCents),
        median_seconds_to_pay: medianSeconds,
      })),
      webhooks,
    }
  },
})
