import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

const PAGES: { readonly [prefix: string]: ResourcePagePath } = {
  inv: '/invoices/$id',
  po: '/payouts/$id',
  plink: '/links/$id',
  we: '/developers/webhooks/$id',
  evt: '/developers/events/$id',
}
type ResourcePagePath =
  | '/invoices/$id'
  | '/payouts/$id'
  | '/links/$id'
  | '/developers/webhooks/$id'
  | '/developers/events/$id'

/** Whether what has this id has a page of its own. */
export const hasPage = (id: string): boolean => PAGES[prefixOf(id)] !== undefined

/** The way to what has this id; the text alone where it has no page. */
export function ResourceLink({ id, children }: { id: string; children: ReactNode }) {
  const to = PAGES[prefixOf(id)]
  if (to === undefined) return children
  return (
    <Link to={to} params={{ id }}>
      {children}
    </Link>
  )
}

const prefixOf = (id: string): string => id.slice(0, id.indexOf('_'))
