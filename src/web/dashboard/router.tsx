import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  parseSearchWith,
  redirect,
  retainSearchParams,
  stringifySearchWith,
} from '@tanstack/react-router'
import { membersQuery, sessionQuery } from './api/people.ts'
import { OFFLINE_MESSAGE, Problem } from './api/request.ts'
import { chosenShop } from './app/chosen-shop.ts'
import { Shell } from './app/shell.tsx'
import { NotFound, OnePageFault, PageFault } from './pages/faults.tsx'
import { Skeleton } from './parts/table.tsx'

type Context = { readonly queries: QueryClient }
type Search = { readonly [name: string]: unknown }

const word = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The words of an address, by name; the rest of it means nothing here. */
const searchParams =
  <const Names extends readonly string[]>(...names: Names) =>
  (search: Search): { [name in Names[number]]?: string | undefined } => {
    const found: { [name in Names[number]]?: string | undefined } = {}
    for (const name of names) found[name as Names[number]] = word(search[name])
    return found
  }

/**
 * A page's code, loaded when the page is first opened. Where the server does not answer, the page says so in its place
 * and can be tried again; the router alone would reload everything, and what was typed elsewhere with it.
 */
const page = <Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazyRouteComponent(
    () =>
      load().catch(async (cause: unknown) => {
        // Another release has other files: then the server answers, and the router reloads.
        await fetch('/healthz').catch(() => {
          throw new Problem({ code: 'offline', status: 0, message: OFFLINE_MESSAGE }, { cause })
        })
        throw cause
      }),
    name,
  )

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  errorComponent: PageFault,
})

/** For whoever is not signed in. */
const outside = createRoute({ getParentRoute: () => root, id: 'outside', component: Outlet })
const signIn = createRoute({
  getParentRoute: () => outside,
  path: 'sign-in',
  validateSearch: searchParams('next'),
  component: page(() => import('./pages/sign-in.tsx'), 'SignInPage'),
})
const signUp = createRoute({
  getParentRoute: () => outside,
  path: 'sign-up',
  validateSearch: searchParams('next', 'email'),
  component: page(() => import('./pages/sign-up.tsx'), 'SignUpPage'),
})
const forgot = createRoute({
  getParentRoute: () => outside,
  path: 'forgot-password',
  component: page(() => import('./pages/password.tsx'), 'ForgotPasswordPage'),
})
const reset = createRoute({
  getParentRoute: () => outside,
  path: 'reset-password',
  validateSearch: searchParams('token'),
  component: page(() => import('./pages/password.tsx'), 'ResetPasswordPage'),
})
const verify = createRoute({
  getParentRoute: () => outside,
  path: 'verify-email',
  validateSearch: searchParams('token'),
  component: page(() => import('./pages/verify-email.tsx'), 'VerifyEmailPage'),
})
const invitation = createRoute({
  getParentRoute: () => outside,
  path: 'invitation',
  validateSearch: searchParams('id'),
  component: page(() => import('./pages/invitation.tsx'), 'InvitationPage'),
})
const newShop = createRoute({
  getParentRoute: () => outside,
  path: 'new-shop',
  component: page(() => import('./pages/new-shop.tsx'), 'NewShopPage'),
})

/** For whoever is, with a shop chosen; everybody else is led to where they can be. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  validateSearch: (search: Search): { mode?: 'live' | undefined } => ({
    mode: search.mode === 'live' ? 'live' : undefined,
  }),
  search: { middlewares: [retainSearchParams(['mode'])] },
  beforeLoad: async ({ context: { queries }, location }) => {
    // Who is known to be signed in goes on while the server is away: what they open says so by itself.
    const session = queries.getQueryData(sessionQuery.queryKey) ?? (await queries.fetchQuery(sessionQuery))
    if (session === null) throw redirect({ to: '/sign-in', search: { next: location.href } })
    const merchantId = await chosenShop(queries, session)
    if (merchantId === null) throw redirect({ to: '/new-shop' })
    await queries.ensureQueryData(membersQuery(merchantId))
  },
  errorComponent: PageFault,
  component: Shell,
})

const POSITION = ['after', 'before'] as const
const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  validateSearch: searchParams('days', 'compare'),
  component: page(() => import('./pages/home.tsx'), 'HomePage'),
})
const invoices = createRoute({
  getParentRoute: () => inside,
  path: 'invoices',
  validateSearch: searchParams('status', 'asset', 'q', 'from', 'to', 'link', ...POSITION),
  component: page(() => import('./pages/invoices.tsx'), 'InvoicesPage'),
})
const importedInvoices = createRoute({
  getParentRoute: () => inside,
  path: 'invoices/imported',
  validateSearch: searchParams('q', ...POSITION),
  component: page(() => import('./pages/imported-invoices.tsx'), 'ImportedInvoicesPage'),
})
const invoice = createRoute({
  getParentRoute: () => inside,
  path: 'invoices/$id',
  component: page(() => import('./pages/invoice.tsx'), 'InvoicePage'),
})
const keys = createRoute({
  getParentRoute: () => inside,
  path: 'developers/keys',
  validateSearch: searchParams('q', ...POSITION),
  component: page(() => import('./pages/keys.tsx'), 'KeysPage'),
})
const webhooks = createRoute({
  getParentRoute: () => inside,
  path: 'developers/webhooks',
  component: page(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
})
const webhook = createRoute({
  getParentRoute: () => inside,
  path: 'developers/webhooks/$id',
  validateSearch: searchParams('outcome', ...POSITION),
  component: page(() => import('./pages/webhook.tsx'), 'WebhookPage'),
})
const events = createRoute({
  getParentRoute: () => inside,
  path: 'developers/events',
  validateSearch: searchParams('type', 'resource', ...POSITION),
  component: page(() => import('./pages/events.tsx'), 'EventsPage'),
})
const event = createRoute({
  getParentRoute: () => inside,
  path: 'developers/events/$id',
  component: page(() => import('./pages/event.tsx'), 'EventPage'),
})
const awaiting = createRoute({
  getParentRoute: () => inside,
  path: 'developers/awaiting',
  validateSearch: searchParams(...POSITION),
  component: page(() => import('./pages/awaiting.tsx'), 'AwaitingPage'),
})
const attention = createRoute({
  getParentRoute: () => inside,
  path: 'attention',
  component: page(() => import('./pages/attention.tsx'), 'AttentionPage'),
})
const links = createRoute({
  getParentRoute: () => inside,
  path: 'links',
  validateSearch: searchParams('q', ...POSITION),
  component: page(() => import('./pages/links.tsx'), 'LinksPage'),
})
const link = createRoute({
  getParentRoute: () => inside,
  path: 'links/$id',
  validateSearch: searchParams(...POSITION),
  component: page(() => import('./pages/link.tsx'), 'LinkPage'),
})
const balances = createRoute({
  getParentRoute: () => inside,
  path: 'balances',
  validateSearch: searchParams('asset', ...POSITION),
  component: page(() => import('./pages/balances.tsx'), 'BalancesPage'),
})
const statement = createRoute({
  getParentRoute: () => inside,
  path: 'balances/statement',
  validateSearch: searchParams('month'),
  component: page(() => import('./pages/statement.tsx'), 'StatementPage'),
})
const payouts = createRoute({
  getParentRoute: () => inside,
  path: 'payouts',
  validateSearch: searchParams('status', 'asset', 'q', ...POSITION),
  component: page(() => import('./pages/payouts.tsx'), 'PayoutsPage'),
})
const payout = createRoute({
  getParentRoute: () => inside,
  path: 'payouts/$id',
  component: page(() => import('./pages/payout.tsx'), 'PayoutPage'),
})
const destinations = createRoute({
  getParentRoute: () => inside,
  path: 'payouts/destinations',
  component: page(() => import('./pages/destinations.tsx'), 'DestinationsPage'),
})
const goLive = createRoute({
  getParentRoute: () => inside,
  path: 'settings/go-live',
  component: page(() => import('./pages/go-live.tsx'), 'GoLivePage'),
})
const coins = createRoute({
  getParentRoute: () => inside,
  path: 'settings/coins',
  component: page(() => import('./pages/coins.tsx'), 'CoinsPage'),
})
const rules = createRoute({
  getParentRoute: () => inside,
  path: 'settings/rules',
  component: page(() => import('./pages/rules.tsx'), 'RulesPage'),
})
const logs = createRoute({
  getParentRoute: () => inside,
  path: 'developers/logs',
  validateSearch: searchParams('outcome', 'path', 'caller', 'from', 'to', ...POSITION),
  component: page(() => import('./pages/logs.tsx'), 'LogsPage'),
})
const log = createRoute({
  getParentRoute: () => inside,
  path: 'developers/logs/$id',
  component: page(() => import('./pages/log.tsx'), 'LogPage'),
})
const customers = createRoute({
  getParentRoute: () => inside,
  path: 'customers',
  validateSearch: searchParams('q'),
  component: page(() => import('./pages/customers.tsx'), 'CustomersPage'),
})
const deposits = createRoute({
  getParentRoute: () => inside,
  path: 'deposits',
  validateSearch: searchParams('customer', ...POSITION),
  component: page(() => import('./pages/deposits.tsx'), 'DepositsPage'),
})
const branding = createRoute({
  getParentRoute: () => inside,
  path: 'settings/branding',
  component: page(() => import('./pages/branding.tsx'), 'BrandingPage'),
})
const team = createRoute({
  getParentRoute: () => inside,
  path: 'settings/team',
  component: page(() => import('./pages/team.tsx'), 'TeamPage'),
})
const security = createRoute({
  getParentRoute: () => inside,
  path: 'settings/security',
  component: page(() => import('./pages/security.tsx'), 'SecurityPage'),
})
const audit = createRoute({
  getParentRoute: () => inside,
  path: 'settings/audit',
  validateSearch: searchParams(...POSITION),
  component: page(() => import('./pages/audit.tsx'), 'AuditPage'),
})
/** Every other address, with the menu around it. */
const unknown = createRoute({ getParentRoute: () => inside, path: '$', component: NotFound })

const routeTree = root.addChildren([
  outside.addChildren([signIn, signUp, forgot, reset, verify, invitation, newShop]),
  inside.addChildren([
    home,
    invoices,
    importedInvoices,
    invoice,
    attention,
    customers,
    deposits,
    links,
    link,
    balances,
    statement,
    payouts,
    payout,
    destinations,
    keys,
    webhooks,
    webhook,
    events,
    event,
    awaiting,
    logs,
    log,
    goLive,
    coins,
    rules,
    branding,
    team,
    security,
    audit,
    unknown,
  ]),
])

const PENDING_MS = 150

/** The addresses of the dashboard. Filters, pages and the mode stand in them as plain words. */
export const makeRouter = (queries: QueryClient) =>
  createRouter({
    routeTree,
    basepath: '/dashboard',
    context: { queries },
    parseSearch: parseSearchWith((value) => value),
    stringifySearch: stringifySearchWith(String),
    defaultPreload: false,
    defaultPendingMs: PENDING_MS,
    defaultPendingComponent: Skeleton,
    defaultErrorComponent: OnePageFault,
    scrollRestoration: true,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
