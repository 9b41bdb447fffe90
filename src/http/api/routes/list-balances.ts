import { COINS, isAssetId, PAYMENT_ASSET_IDS } from '../../../core/assets.ts'
import { formatCoinAmount } from '../../../core/money.ts'
import { loadBalances } from '../../../db/ledger/ledger.ts'
import { listFrozenDeposits } from '../../../payouts/store/frozen-deposits.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { balanceList, FROZEN_LISTED_MAX } from '../../../wire/account.ts'
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
  success: { status: 200, description: 'A balance for each asset.', schema: balanceList },
  problems: [],

  handler: async (deps, { tenant }) => {
    const [rows, frozen] = await withTransaction(deps.pool, tenant, async (tx) => [
      await loadBalances(tx, tenant),
      await listFrozenDeposits(tx, tenant, FROZEN_LISTED_MAX),
    ])
    const known = new Set(rows.map(({ asset }) => asset))
    // What nobody is asked for is told once some of it has come.
    const told = PAYMENT_ASSET_IDS.filter((asset) => isAssetId(asset) || known.has(asset))
    const data = told.map((asset) => {
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
            invoice_id: invoiceId,
            amount: formatCoinAmount(amount, COINS[asset].decimals),
          })),
        shortfall: balanceOf('shortfall'),
      }
    })
    return listView('/balances', false, data)
  },
})
