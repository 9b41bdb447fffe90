import { COINS, isAssetId, PAYMENT_ASSET_IDS } from '../../../core/assets.ts'
import { homeValueOf } from '../../../core/books/home-value.ts'
import { depositIdOf } from '../../../core/deposit/deposit.ts'
import { isIdOf } from '../../../core/ids.ts'
import { renderRate } from '../../../core/invoice/render.ts'
import { balanceEntryId, positionOfEntry } from '../../../core/ledger/entry-id.ts'
import { formatCoinAmount, formatUsd } from '../../../core/money.ts'
import { homeTermsOf } from '../../../db/ledger/currency-rates.ts'
import {
  type LedgerEntryRow,
  listLedgerEntries,
  loadBalances,
  loadBalancesAt,
} from '../../../db/ledger/ledger.ts'
import { listFrozenDeposits } from '../../../payouts/store/frozen-deposits.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import {
  balanceEntryList,
  balanceList,
  FROZEN_LISTED_MAX,
  listBalanceEntriesQuery,
  listBalancesQuery,
} from '../../../wire/account.ts'
import { pageOf } from '../../../wire/list.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listBalancesRoute = defineRoute({
  method: 'get',
  path: '/balances',
  operationId: 'listBalances',
  tag: 'Balances',
  summary: 'List balances',
  description: 'Your balances of each asset, in the mode of the key.',
  scope: 'balances:read',
  query: listBalancesQuery,
  success: { status: 200, description: 'A balance for each asset.', schema: balanceList },
  problems: [],

  handler: async (deps, { tenant, query: { at } }) => {
    const [rows, frozen] = await withTransaction(deps.pool, tenant, async (tx) =>
      at === undefined
        ? [await loadBalances(tx, tenant), await listFrozenDeposits(tx, tenant, FROZEN_LISTED_MAX)]
        : [await loadBalancesAt(tx, tenant, new Date(at)), []],
    )
    const known = new Set(rows.map(({ asset }) => asset))
    // What nobody is asked for is reported once some of it has come.
    const shown = PAYMENT_ASSET_IDS.filter((asset) => isAssetId(asset) || known.has(asset))
    const data = shown.map((asset) => {
      const balanceOf = (account: string): string => {
        const row = rows.find((candidate) => candidate.asset === asset && candidate.account === account)
        return formatCoinAmount(row?.balance ?? 0n, COINS[asset].decimals)
      }
      return {
        asset,
        object: 'balance' as const,
        livemode: tenant.livemode,
        available: balanceOf('available'),
        pending: balanceOf('pending'),
        suspense: balanceOf('suspense'),
        reserved: balanceOf('reserved'),
        frozen: frozen
          .filter((deposit) => deposit.asset === asset)
          .map(({ invoiceId, amount }) => ({
            ...ownerOf(invoiceId),
            amount: formatCoinAmount(amount, COINS[asset].decimals),
          })),
        shortfall: balanceOf('shortfall'),
      }
    })
    return listView('/balances', false, data)
  },
})

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
    const page = await withReadTransaction(deps, tenant, (tx) =>
      listLedgerEntries(tx, tenant, {
        limit,
        before: startingAfter === null ? null : positionOfEntry(startingAfter),
        after: endingBefore === null ? null : positionOfEntry(endingBefore),
        asset: query.asset ?? null,
        account: query.account ?? null,
        createdAfter: timeOf(query.created_after),
        createdBefore: timeOf(query.created_before),
      }),
    )
    const data = page.entries.map((entry) => entryView(entry, tenant.livemode))
    return listView('/balances/entries', page.hasMore, data)
  },
})

/** What an address belongs to. */
const ownerOf = (id: string) =>
  isIdOf('depositAddress', id)
    ? { invoice_id: null, deposit_address_id: id }
    : { invoice_id: id, deposit_address_id: null }

const timeOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text))

function entryView(entry: LedgerEntryRow, livemode: boolean) {
  const { asset, account, amount, position, kind, usd_cents: usdCents } = entry
  const { decimals } = COINS[asset]
  const isOfAccount = entry.invoice_id !== null && isIdOf('depositAddress', entry.invoice_id)
  return {
    id: balanceEntryId({ createdAtMs: entry.created_at.getTime(), livemode, position }),
    object: 'balance_entry' as const,
    livemode,
    asset,
    account,
    amount: formatCoinAmount(amount, decimals),
    balance_after: formatCoinAmount(entry.balance_after, decimals),
    usd_value: usdCents === null ? null : formatUsd(amount < 0n ? -usdCents : usdCents),
    home_value: homeView(entry),
    type: kind,
    invoice_id: isOfAccount ? null : entry.invoice_id,
    deposit_id: isOfAccount && entry.payment_id !== null ? depositIdOf(entry.payment_id) : null,
    payment_id: entry.payment_id,
    payout_id: entry.payout_id,
    reference: entry.reference,
    created_at: entry.created_at.toISOString(),
  }
}

function homeView(entry: LedgerEntryRow) {
  const { asset, amount, usd_cents: usdCents } = entry
  const terms = homeTermsOf(entry)
  if (terms === null) return null
  const [isOut, size] = amount < 0n ? [true, -amount] : [false, amount]
  const { currency, amount: value, rate } = homeValueOf({ asset, amount: size, usdCents }, terms)
  const hasSign = isOut && value !== null && /[1-9]/.test(value)
  return { currency, amount: hasSign ? `-${value}` : value, rate: renderRate(rate) }
}
