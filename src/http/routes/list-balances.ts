import { ASSET_IDS, ASSETS } from '../../core/assets.ts'
import { formatCoinAmount } from '../../core/money.ts'
import { loadBalances } from '../../db/queries/ledger.ts'
import { withTransaction } from '../../db/transaction.ts'
import { balanceList } from '../../wire/account.ts'
import { listView } from '../list-view.ts'
import { defineRoute } from '../route.ts'

export const listBalancesRoute = defineRoute({
  method: 'get',
  path: '/balances',
  operationId: 'listBalances',
  tag: 'Balances',
  summary: 'List balances',
  description: 'What stands in your ledger for each asset, in the mode of the key.',
  scope: 'balances:read',
  success: { status: 200, description: 'A balance for each asset.', schema: balanceList },
  problems: [],

  handler: async (deps, { tenant }) => {
    const rows = await withTransaction(deps.pool, tenant, (tx) => loadBalances(tx, tenant))
    const data = ASSET_IDS.map((asset) => {
      const standing = (account: string): string => {
        const row = rows.find((candidate) => candidate.asset === asset && candidate.account === account)
        return formatCoinAmount(row?.balance ?? 0n, ASSETS[asset].decimals)
      }
      return {
        asset,
        object: 'balance' as const,
        livemode: tenant.livemode,
        available: standing('available'),
        pending: standing('pending'),
        suspense: standing('suspense'),
        reserved: standing('reserved'),
      }
    })
    return listView('/balances', false, data)
  },
})
