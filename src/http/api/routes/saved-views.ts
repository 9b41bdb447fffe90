import { deleteSavedView, listSavedViews, putSavedView } from '../../../db/people/saved-views.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { SAVED_LISTS, savedViewsView, updateSavedViewsBody } from '../../../wire/dashboard.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

/** Views that one person keeps in one shop. */
const VIEWS_MAX = 50

export const getSavedViewsRoute = defineRoute({
  method: 'get',
  path: '/saved-views',
  operationId: 'getSavedViews',
  tag: 'Dashboard',
  summary: 'Get your saved views',
  description: 'Filters of lists that you keep under a name. They are yours alone, in both modes.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'Your views, oldest first.', schema: savedViewsView },
  problems: [],

  handler: (deps, { tenant, callerId: userId }) =>
    withTransaction(deps.pool, tenant, async (tx) =>
      viewOf(await listSavedViews(tx, { merchantId: tenant.merchantId, userId })),
    ),
})

export const updateSavedViewsRoute = defineRoute({
  method: 'patch',
  path: '/saved-views',
  operationId: 'updateSavedViews',
  tag: 'Dashboard',
  summary: 'Save or remove a view',
  description: `A view of the same list and name is replaced; null as its \`query\` removes it. At most ${VIEWS_MAX}.`,
  scope: null,
  dashboardOnly: true,
  body: updateSavedViewsBody,
  example: { list: 'invoices', name: 'Paid in LTC', query: { status: 'paid', asset: 'LTC' } },
  success: { status: 200, description: 'Your views, oldest first.', schema: savedViewsView },
  problems: [],

  handler: (deps, { tenant, callerId: userId, body: { list, name, query } }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      const owner = { merchantId: tenant.merchantId, userId }
      if (query === null) await deleteSavedView(tx, owner, { list, name })
      else await putSavedView(tx, owner, { list, name, query }, deps.clock())
      const views = await listSavedViews(tx, owner)
      if (views.length > VIEWS_MAX) {
        const message = `You have ${VIEWS_MAX} views. Remove one first.`
        throw new ApiProblem('parameter_invalid', { param: 'name', message })
      }
      return viewOf(views)
    }),
})

const viewOf = (views: Awaited<ReturnType<typeof listSavedViews>>) => ({
  object: 'saved_views' as const,
  views: views.flatMap(({ list: text, name, query }) => {
    const list = SAVED_LISTS.find((known) => known === text)
    // A later release may know other lists.
    return list === undefined ? [] : [{ list, name, query: { ...query } }]
  }),
})
