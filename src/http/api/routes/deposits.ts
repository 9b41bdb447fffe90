import type { z } from 'zod'
import { ASSETS, type AssetId, type KeyFamily, networkOf } from '../../../core/assets.ts'
import { type Deposit, type DepositAccount, renderDeposit } from '../../../core/deposit/deposit.ts'
import { supportIn } from '../../../core/invoice/market.ts'
import { type DepositPlan, depositPlan } from '../../../core/invoice/plan.ts'
import { isoTime } from '../../../core/iso-time.ts'
import { acceptedAssets } from '../../../core/payment-rules.ts'
import {
  depositAccountExists,
  listDepositAccounts,
  loadDepositAccount,
} from '../../../db/deposits/deposit-accounts.ts'
import { depositExists, listDeposits, loadDeposit } from '../../../db/deposits/deposits.ts'
import {
  type GivenAddress,
  listShownAddresses,
  openDepositAccount,
} from '../../../flows/deposit-addresses.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { type Tenant, withTransaction } from '../../../postgres/transaction.ts'
import {
  createDepositAddressBody,
  depositAddressList,
  depositAddressView,
  depositList,
  depositView,
  listDepositAddressesQuery,
  listDepositsQuery,
} from '../../../wire/deposit.ts'
import { pageOf } from '../../../wire/list.ts'
import { listView } from '../../views/list-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute, type RouteDeps } from '../route.ts'

/** The signer fills a pool within a second or two. */
const NO_ADDRESS_HEADERS = { 'retry-after': '1' }

/** A coin that a merchant accepts and whose network is followed. */
type OfferedAsset = { readonly asset: AssetId; readonly family: KeyFamily; readonly plan: DepositPlan | null }

/** `plan` is null where no address is given out now: nothing there is credited until a person has looked. */
async function offeredAssets(deps: RouteDeps, tenant: Tenant): Promise<readonly OfferedAsset[]> {
  const { livemode } = tenant
  const [rules, networks] = await Promise.all([deps.rulesOf(tenant), deps.networks.read()])
  const supportOf = supportIn(networks, livemode)
  return acceptedAssets(rules, livemode, (asset) => supportOf(asset).isConfigured).flatMap((asset) => {
    const { isConfigured, parameters, halted } = supportOf(asset)
    if (!isConfigured || parameters === null) return []
    const plan = halted ? null : depositPlan(asset, livemode, parameters)
    return [{ asset, family: ASSETS[asset].keyFamily, plan }]
  })
}

/** One for each family. */
function plansOf(offered: readonly OfferedAsset[]): DepositPlan[] {
  const plans = offered.flatMap(({ plan }) => (plan === null ? [] : [plan]))
  return plans.filter(
    ({ keyspace }, index) => plans.findIndex((other) => other.keyspace === keyspace) === index,
  )
}

function accountView(
  account: DepositAccount,
  given: readonly GivenAddress[],
  offered: readonly OfferedAsset[],
): z.output<typeof depositAddressView> {
  return {
    id: account.id,
    object: 'deposit_address',
    livemode: account.livemode,
    customer_reference: account.customerReference,
    addresses: (['bitcoin', 'litecoin', 'evm', 'solana'] as const).flatMap((family) => {
      const mode = account.livemode ? 'live' : 'test'
      const own = given.find(({ keyspace }) => keyspace === `${family}-${mode}`)
      if (own === undefined) return []
      const assets = offered.flatMap((one) => (one.family === family ? [one.asset] : []))
      const networks = [...new Set(assets.map((asset) => networkOf(asset, account.livemode)))]
      return [{ family, address: own.address, networks, assets }]
    }),
    created_at: isoTime(account.createdAtMs),
  }
}

export const createDepositAddressRoute = defineRoute({
  method: 'post',
  path: '/deposit-addresses',
  operationId: 'createDepositAddress',
  tag: 'Deposits',
  summary: 'Get a customer’s permanent addresses',
  description:
    'One address for each family of chains, for any number of deposits of any amount, at any time. Asked again for the same customer, it answers with the same addresses.',
  scope: 'deposits:write',
  body: createDepositAddressBody,
  example: { customer_reference: 'customer-4711' },
  success: {
    status: 201,
    description: 'The addresses were given to this customer.',
    schema: depositAddressView,
    found: 'The customer had them already.',
  },
  problems: ['deposit_address_limit_reached', 'asset_unavailable'],

  prepare: async (deps, { tenant }) => {
    const [offered, isLimitReached] = await Promise.all([
      offeredAssets(deps, tenant),
      deps.depositAddresses.isReached(tenant),
    ])
    return { offered, isLimitReached }
  },

  create: async (deps, { tenant, body }, tx, { offered, isLimitReached }) => {
    const { issuedAddresses, serviceFeeBps } = deps
    const opened = await openDepositAccount(tx, {
      tenant,
      customerReference: body.customer_reference,
      plans: plansOf(offered),
      issuedAddresses,
      serviceFeeBps,
      isLimitReached,
      now: deps.clock(),
    })
    if (opened.kind === 'limit_reached') throw new ApiProblem('deposit_address_limit_reached')
    if (opened.kind === 'no_address')
      throw new ApiProblem('asset_unavailable', { headers: NO_ADDRESS_HEADERS })
    const { kind, account } = opened
    const shown = await listShownAddresses(tx, tenant, [account.id], issuedAddresses)
    return {
      view: accountView(account, shown.get(account.id) ?? [], offered),
      status: kind === 'created' ? 201 : 200,
      afterCommit: () => {
        if (kind === 'created') deps.depositAddresses.created(tenant)
      },
    }
  },
})

export const listDepositAddressesRoute = defineRoute({
  method: 'get',
  path: '/deposit-addresses',
  operationId: 'listDepositAddresses',
  tag: 'Deposits',
  summary: 'List permanent addresses',
  description: 'Newest first.',
  scope: 'deposits:read',
  query: listDepositAddressesQuery,
  success: {
    status: 200,
    description: 'A page of customers with their addresses.',
    schema: depositAddressList,
  },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const offered = await offeredAssets(deps, tenant)
    const { accounts, hasMore, shown } = await withReadTransaction(deps, tenant, async (tx) => {
      const page = await listDepositAccounts(tx, tenant, pageOf(query), query.customer_reference)
      const ids = page.accounts.map(({ id }) => id)
      return { ...page, shown: await listShownAddresses(tx, tenant, ids, deps.issuedAddresses) }
    })
    const data = accounts.map((account) => accountView(account, shown.get(account.id) ?? [], offered))
    return listView('/deposit-addresses', hasMore, data)
  },
})

export const getDepositAddressRoute = defineRoute({
  method: 'get',
  path: '/deposit-addresses/:id',
  operationId: 'getDepositAddress',
  tag: 'Deposits',
  summary: 'Get permanent addresses',
  scope: 'deposits:read',
  success: { status: 200, description: 'The customer with its addresses.', schema: depositAddressView },
  problems: [],
  exists: depositAccountExists,

  handler: async (deps, { tenant, id }) => {
    const offered = await offeredAssets(deps, tenant)
    return withTransaction(deps.pool, tenant, async (tx) => {
      const account = await loadDepositAccount(tx, tenant, id)
      if (account === null) throw new ApiProblem('not_found')
      const shown = await listShownAddresses(tx, tenant, [id], deps.issuedAddresses)
      return accountView(account, shown.get(id) ?? [], offered)
    })
  },
})

/** As of everything, the schema knows the one reason that a deposit can have. */
const viewOf = (
  deposit: Deposit,
  facts: Parameters<typeof renderDeposit>[1],
): z.output<typeof depositView> => ({
  ...renderDeposit(deposit, facts),
  review_reason: deposit.payment.reviewReason === null ? null : 'wrong_asset',
})

export const listDepositsRoute = defineRoute({
  method: 'get',
  path: '/deposits',
  operationId: 'listDeposits',
  tag: 'Deposits',
  summary: 'List deposits',
  description: 'What came to permanent addresses, newest first. What is too small to be money is left out.',
  scope: 'deposits:read',
  query: listDepositsQuery,
  success: { status: 200, description: 'A page of deposits.', schema: depositList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { networkFacts } = await deps.networks.read()
    const page = await withReadTransaction(deps, tenant, (tx) =>
      listDeposits(tx, tenant, pageOf(query), query.deposit_address_id),
    )
    const data = page.deposits.map((deposit) => viewOf(deposit, networkFacts))
    return listView('/deposits', page.hasMore, data)
  },
})

export const getDepositRoute = defineRoute({
  method: 'get',
  path: '/deposits/:id',
  operationId: 'getDeposit',
  tag: 'Deposits',
  summary: 'Get a deposit',
  scope: 'deposits:read',
  success: { status: 200, description: 'The deposit.', schema: depositView },
  problems: [],
  exists: depositExists,

  handler: async (deps, { tenant, id }) => {
    const { networkFacts } = await deps.networks.read()
    const deposit = await withTransaction(deps.pool, tenant, (tx) => loadDeposit(tx, tenant, id))
    if (deposit === null) throw new ApiProblem('not_found')
    return viewOf(deposit, networkFacts)
  },
})
