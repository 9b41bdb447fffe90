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
import { membersQuery, organizationsQuery, people, type Session, sessionQuery } from './api/people.ts'
import { Shell } from './app/shell.tsx'
import { NotFound, PageFault } from './pages/faults.tsx'
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

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  notFoundComponent: NotFound,
  errorComponent: PageFault,
})

/** For whoever is not signed in. */
const outside = createRoute({ getParentRoute: () => root, id: 'outside', component: Outlet })
const signIn = createRoute({
  getParentRoute: () => outside,
  path: 'sign-in',
  validateSearch: searchParams('next'),
  component: lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignInPage'),
})
const signUp = createRoute({
  getParentRoute: () => outside,
  path: 'sign-up',
  validateSearch: searchParams('next', 'email'),
  component: lazyRouteComponent(() => import('./pages/sign-up.tsx'), 'SignUpPage'),
})
const forgot = createRoute({
  getParentRoute: () => outside,
  path: 'forgot-password',
  component: lazyRouteComponent(() => import('./pages/password.tsx'), 'ForgotPasswordPage'),
})
const reset = createRoute({
  getParentRoute: () => outside,
  path: 'reset-password',
  validateSearch: searchParams('token'),
  component: lazyRouteComponent(() => import('./pages/password.tsx'), 'ResetPasswordPage'),
})
const verify = createRoute({
  getParentRoute: () => outside,
  path: 'verify-email',
  validateSearch: searchParams('token'),
  component: lazyRouteComponent(() => import('./pages/verify-email.tsx'), 'VerifyEmailPage'),
})
const invitation = createRoute({
  getParentRoute: () => outside,
  path: 'invitation',
  validateSearch: searchParams('id'),
  component: lazyRouteComponent(() => import('./pages/invitation.tsx'), 'InvitationPage'),
})
const newShop = createRoute({
  getParentRoute: () => outside,
  path: 'new-shop',
  component: lazyRouteComponent(() => import('./pages/new-shop.tsx'), 'NewShopPage'),
})

/** The shop that the sign-in shows; another of theirs where they were taken out of that one; null where there is none. */
async function chosenShop(queries: QueryClient, { session }: Session): Promise<string | null> {
  const shops = await queries.fetchQuery(organizationsQuery)
  const chosen = shops.find(({ id }) => id === session.activeOrganizationId)
  if (chosen !== undefined) return chosen.id
  const [other] = shops
  if (other === undefined) return null
  await people.chooseOrganization(other.id)
  await queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
  await queries.fetchQuery(sessionQuery)
  return other.id
}

/** For whoever is, with a shop chosen; everybody else is led to where they can be. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  validateSearch: (search: Search): { mode?: 'live' | undefined } => ({
    mode: search.mode === 'live' ? 'live' : undefined,
  }),
  search: { middlewares: [retainSearchParams(['mode'])] },
  beforeLoad: async ({ context: { queries }, location }) => {
    const session = await queries.fetchQuery(sessionQuery)
    if (session === null) throw redirect({ to: '/sign-in', search: { next: location.href } })
    const merchantId = await chosenShop(queries, session)
    if (merchantId === null) throw redirect({ to: '/new-shop' })
    await queries.fetchQuery(membersQuery(merchantId))
  },
  component: Shell,
})

const POSITION = ['after', 'before'] as const
const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/home.tsx'), 'HomePage'),
})
const invoices = createRoute({
  getParentRoute: () => inside,
  path: 'invoices',
  validateSearch: searchParams('status', 'asset', 'q', 'from', 'to', ...POSITION),
  component: lazyRouteComponent(() => import('./pages/invoices.tsx'), 'InvoicesPage'),
})
const importedInvoices = createRoute({
  getParentRoute: () => inside,
  path: 'invoices/imported',
  validateSearch: searchParams('q', ...POSITION),
  component: lazyRouteComponent(() => import('./pages/imported-invoices.tsx'), 'ImportedInvoicesPage'),
})
const invoice = createRoute({
  getParentRoute: () => inside,
  path: 'invoices/$id',
  component: lazyRouteComponent(() => import('./pages/invoice.tsx'), 'InvoicePage'),
})
const keys = createRoute({
  getParentRoute: () => inside,
  path: 'developers/keys',
  validateSearch: searchParams(...POSITION),
  component: lazyRouteComponent(() => import('./pages/keys.tsx'), 'KeysPage'),
})
const webhooks = createRoute({
  getParentRoute: () => inside,
  path: 'developers/webhooks',
  component: lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
})
const webhook = createRoute({
  getParentRoute: () => inside,
  path: 'developers/webhooks/$id',
  component: lazyRouteComponent(() => import('./pages/webhook.tsx'), 'WebhookPage'),
})
const events = createRoute({
  getParentRoute: () => inside,
  path: 'developers/events',
  validateSearch: searchParams('type', 'resource', ...POSITION),
  component: lazyRouteComponent(() => import('./pages/events.tsx'), 'EventsPage'),
})
const event = createRoute({
  getParentRoute: () => inside,
  path: 'developers/events/$id',
  component: lazyRouteComponent(() => import('./pages/event.tsx'), 'EventPage'),
})
const awaiting = createRoute({
  getParentRoute: () => inside,
  path: 'developers/awaiting',
  validateSearch: searchParams(...POSITION),
  component: lazyRouteComponent(() => import('./pages/awaiting.tsx'), 'AwaitingPage'),
})
const attention = createRoute({
  getParentRoute: () => inside,
  path: 'attention',
  component: lazyRouteComponent(() => import('./pages/attention.tsx'), 'AttentionPage'),
})
const links = createRoute({
  getParentRoute: () => inside,
  path: 'links',
  validateSearch: searchParams(...POSITION),
  component: lazyRouteComponent(() => import('./pages/links.tsx'), 'LinksPage'),
})
const link = createRoute({
  getParentRoute: () => inside,
  path: 'links/$id',
  validateSearch: searchParams(...POSITION),
  component: lazyRouteComponent(() => import('./pages/link.tsx'), 'LinkPage'),
})
const balances = createRoute({
  getParentRoute: () => inside,
  path: 'balances',
  validateSearch: searchParams('asset', ...POSITION),
  component: lazyRouteComponent(() => import('./pages/balances.tsx'), 'BalancesPage'),
})
const payouts = createRoute({
  getParentRoute: () => inside,
  path: 'payouts',
  validateSearch: searchParams('status', 'asset', ...POSITION),
  component: lazyRouteComponent(() => import('./pages/payouts.tsx'), 'PayoutsPage'),
})
const payout = createRoute({
  getParentRoute: () => inside,
  path: 'payouts/$id',
  component: lazyRouteComponent(() => import('./pages/payout.tsx'), 'PayoutPage'),
})
const destinations = createRoute({
  getParentRoute: () => inside,
  path: 'payouts/destinations',
  component: lazyRouteComponent(() => import('./pages/destinations.tsx'), 'DestinationsPage'),
})
const goLive = createRoute({
  getParentRoute: () => inside,
  path: 'settings/go-live',
  component: lazyRouteComponent(() => import('./pages/go-live.tsx'), 'GoLivePage'),
})
const coins = createRoute({
  getParentRoute: () => inside,
  path: 'settings/coins',
  component: lazyRouteComponent(() => import('./pages/coins.tsx'), 'CoinsPage'),
})
const rules = createRoute({
  getParentRoute: () => inside,
  path: 'settings/rules',
  component: lazyRouteComponent(() => import('./pages/rules.tsx'), 'RulesPage'),
})
const logs = createRoute({
  getParentRoute: () => inside,
  path: 'developers/logs',
  validateSearch: searchParams('outcome', ...POSITION),
  component: lazyRouteComponent(() => import('./pages/logs.tsx'), 'LogsPage'),
})
const branding = createRoute({
  getParentRoute: () => inside,
  path: 'settings/branding',
  component: lazyRouteComponent(() => import('./pages/branding.tsx'), 'BrandingPage'),
})
const team = createRoute({
  getParentRoute: () => inside,
  path: 'settings/team',
  component: lazyRouteComponent(() => import('./pages/team.tsx'), 'TeamPage'),
})
const security = createRoute({
  getParentRoute: () => inside,
  path: 'settings/security',
  component: lazyRouteComponent(() => import('./pages/security.tsx'), 'SecurityPage'),
})
const audit = createRoute({
  getParentRoute: () => inside,
  path: 'settings/audit',
  validateSearch: searchParams(...POSITION),
  component: lazyRouteComponent(() => import('./pages/audit.tsx'), 'AuditPage'),
})

const routeTree = root.addChildren([
  outside.addChildren([signIn, signUp, forgot, reset, verify, invitation, newShop]),
  inside.addChildren([
    home,
    invoices,
    importedInvoices,
    invoice,
    attention,
    links,
    link,
    balances,
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
    goLive,
    coins,
    rules,
    branding,
    team,
    security,
    audit,
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
    scrollRestoration: true,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
