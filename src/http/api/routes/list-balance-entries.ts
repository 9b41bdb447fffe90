import { COINS } from '../../../core/assets.ts'
import { balanceEntryId, positionOfEntry } from '../../../core/ledger/entry-id.ts'
import { formatCoinAmount, formatUsd } from '../../../core/money.ts'
import { type LedgerEntryRow, listLedgerEntries } from '../../../db/ledger/ledger.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { balanceEntryList, listBalanceEntriesQuery } from '../../../wire/account.ts'
import { pageOf } from '../../../wire/list.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listBalanceEntriesRoute = defineRoute({
  method: 'get',
  path: '/balances/entries',
  operationId: 'listBalanceEntries',
  tag: 'Balances',
  summary: 'List balance entries',
  description:
    'Your statement, newest first: every amount that moved a balance, and the balance after it. Entries never change; a correction is another entry.',
  scope: 'balances:read',
  query: listBalanceEntriesQuery,
  success: { status: 200, description: 'A page of entries.', schema: balanceEntryList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { limit, startingAfter, endingBefore } = pageOf(query)
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listLedgerEntries(tx, tenant, {
        limit,
        before: startingAfter === null ? null : positionOfEntry(startingAfter),
        after: endingBefore === null ? null : positionOfEntry(endingBefore),
        asset: query.asset ?? null,
      }),
    )
    const data = page.entries.map((entry) => entryView(entry, tenant.livemode))
    return listView('/balances/entries', page.hasMore, data)
  },
})

function entryView(entry: LedgerEntryRow, livemode: boolean) {
  const { asset, account, amount, position, kind, usd_cents: usdCents } = entry
  const { decimals } = COINS[asset]
  return {
    id: balanceEntryId({ createdAtMs: entry.created_at.getTime(), livemode, position }),
    object: 'balance_entry' as const,
    livemode,
    asset,
    account,
    amount: formatCoinAmount(amount, decimals),
    balance_after: formatCoinAmount(entry.balance_after, decimals),
    usd_value: usdCents === null ? null : formatUsd(amount < 0n ? -usdCents : usdCents),
    type: kind,
    invoice_id: entry.invoice_id,
    payment_id: entry.payment_id,
    payout_id: entry.payout_id,
    created_at: entry.created_at.toISOString(),
  }
}
