import type { IconName } from '../parts/icons.tsx'

/** The pages, as the side of every page lists them. */
export const NAVIGATION = [
  {
    title: null,
    items: [{ to: '/', label: 'Home', icon: 'home' }],
  },
  {
    title: 'Payments',
    items: [
      { to: '/invoices', label: 'Invoices', icon: 'invoices' },
      { to: '/attention', label: 'Needs review', icon: 'attention' },
      { to: '/customers', label: 'Customers', icon: 'customers' },
      { to: '/links', label: 'Payment links', icon: 'links' },
      { to: '/deposits', label: 'Deposits', icon: 'coins' },
      { to: '/balances', label: 'Balances', icon: 'balances' },
      { to: '/payouts', label: 'Payouts', icon: 'payout' },
    ],
  },
  {
    title: 'Developers',
    items: [
      { to: '/developers/keys', label: 'API keys', icon: 'key' },
      { to: '/developers/webhooks', label: 'Webhooks', icon: 'send' },
      { to: '/developers/events', label: 'Events', icon: 'events' },
      { to: '/developers/awaiting', label: 'Undelivered', icon: 'waiting' },
      { to: '/developers/logs', label: 'Request logs', icon: 'logs' },
    ],
  },
  {
    title: 'Settings',
    items: [
      { to: '/settings/go-live', label: 'Go live', icon: 'live' },
      { to: '/settings/coins', label: 'Accepted coins', icon: 'coins' },
      { to: '/settings/rules', label: 'Payment rules', icon: 'rules' },
      { to: '/settings/branding', label: 'Shop details', icon: 'brand' },
      { to: '/settings/team', label: 'Team', icon: 'team' },
      { to: '/settings/security', label: 'Security', icon: 'security' },
      { to: '/settings/audit', label: 'Audit log', icon: 'audit' },
    ],
  },
] as const satisfies readonly {
  title: string | null
  items: readonly { to: string; label: string; icon: IconName }[]
}[]
