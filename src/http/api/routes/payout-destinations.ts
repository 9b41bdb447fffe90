import { checkPayoutAddress } from '../../../chain/payout-address.ts'
import { networkOf } from '../../../core/assets.ts'
import { addPayoutDestination } from '../../../payouts/payout-destinations.ts'
import {
  listPayoutDestinations,
  payoutDestinationExists,
  removePayoutDestination,
} from '../../../payouts/store/payout-destinations.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import {
  createPayoutDestinationBody,
  listPayoutDestinationsQuery,
  payoutDestinationList,
  payoutDestinationView,
} from '../../../wire/payout.ts'
import { listView } from '../../views/list-view.ts'
import { payoutDestinationViewOf } from '../../views/payout-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createPayoutDestinationRoute = defineRoute({
  method: 'post',
  path: '/payout-destinations',
  operationId: 'createPayoutDestination',
  tag: 'Payouts',
  summary: 'Allow a payout destination',
  description:
    'Payouts go to listed addresses only. In live mode a new one can be used after a day, `usable_at`. An address that merely looks like one you used before is rejected.',
  scope: 'payouts:write',
  live: 'session',
  body: createPayoutDestinationBody,
  example: { asset: 'LTC', address: 'rltc1q6vsxgu70pjq9wf6ctw7az4q02lxlzeg5vnaqml', name: 'Treasury' },
  success: { status: 201, description: 'The destination is on the list.', schema: payoutDestinationView },
  problems: [
    'destination_address_invalid',
    'destination_lookalike',
    'destination_exists',
    'destination_limit_reached',
  ],

  prepare: async (deps, { tenant, body }) => {
    const networks = await deps.networks.read()
    const parameters = networks.stateOf(networkOf(body.asset, tenant.livemode))?.parameters ?? null
    return checkPayoutAddress(body.address, { asset: body.asset, livemode: tenant.livemode, parameters })
  },

  refuse: (_deps, _request, checked) => {
    if (checked.kind === 'valid') return
    throw new ApiProblem('destination_address_invalid', { param: 'address', message: checked.message })
  },

  create: async (deps, { tenant, body, callerId }, tx, checked) => {
    if (checked.kind === 'invalid') {
      throw new ApiProblem('destination_address_invalid', { param: 'address', message: checked.message })
    }
    const added = await addPayoutDestination(tx, {
      tenant,
      asset: body.asset,
      address: checked.address,
      name: body.name,
      by: callerId,
      now: deps.clock(),
    })
    switch (added.kind) {
      case 'own':
        throw new ApiProblem('destination_address_invalid', {
          param: 'address',
          message: 'Payouts leave from this address. Use one of a wallet of your own.',
        })
      case 'lookalike':
        throw new ApiProblem('destination_lookalike', {
          param: 'address',
          message: `This address begins and ends like ${added.of}, which you used before, but is a different one. Compare them character by character: such addresses are made to be taken for the right one.`,
        })
      case 'listed':
        throw new ApiProblem('destination_exists', { param: 'address' })
      case 'too_many':
        throw new ApiProblem('destination_limit_reached')
      case 'added':
        return { view: payoutDestinationViewOf(added.destination) }
    }
  },
})

export const listPayoutDestinationsRoute = defineRoute({
  method: 'get',
  path: '/payout-destinations',
  operationId: 'listPayoutDestinations',
  tag: 'Payouts',
  summary: 'List payout destinations',
  description: 'Newest first; removed ones are not shown.',
  scope: 'payouts:read',
  query: listPayoutDestinationsQuery,
  success: { status: 200, description: 'A page of destinations.', schema: payoutDestinationList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listPayoutDestinations(tx, tenant, pageOf(query), query.asset),
    )
    return listView('/payout-destinations', page.hasMore, page.destinations.map(payoutDestinationViewOf))
  },
})

export const deletePayoutDestinationRoute = defineRoute({
  method: 'delete',
  path: '/payout-destinations/:id',
  operationId: 'deletePayoutDestination',
  tag: 'Payouts',
  summary: 'Remove a payout destination',
  description: 'No payout to it can be requested or approved any more. Approved ones go on.',
  scope: 'payouts:write',
  live: 'session',
  success: { status: 204, description: 'The destination is off the list.' },
  problems: [],
  exists: payoutDestinationExists,

  handler: async (deps, { tenant, id }) => {
    const removed = await withTransaction(deps.pool, tenant, (tx) =>
      removePayoutDestination(tx, tenant, id, deps.clock()),
    )
    if (!removed) throw new ApiProblem('not_found')
    return undefined
  },
})
