import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { membersQuery } from '../api/people.ts'
import {
  apiKeysOf,
  customersOf,
  destinationsOf,
  endpointsOf,
  invoicesOf,
  linksOf,
  payoutsOf,
} from '../api/reads.ts'
import { Dialog } from '../parts/dialog.tsx'
import { invoiceName, invoiceTitle } from '../parts/invoice-title.ts'
import { coins, usd } from '../parts/money.ts'
import { NAVIGATION } from './navigation.ts'
import { useAccount, useMode } from './session.ts'

type Hit = { readonly href: string; readonly kind: string; readonly words: string }

const HITS_MAX = 12
const TEXT_LENGTH_MIN = 2
const RESOURCES: { readonly [prefix: string]: string } = {
  inv: '/invoices/',
  plink: '/links/',
  po: '/payouts/',
  evt: '/developers/events/',
  we: '/developers/webhooks/',
  log: '/developers/logs/',
}
const PAGES: readonly Hit[] = NAVIGATION.flatMap(({ items }) =>
  items.map(({ to, label }) => ({ href: to, kind: 'Page', words: label })),
)

/** What a text finds: pages by name, everything of the shop by name, reference, address or id. */
function useHits(text: string): readonly Hit[] {
  const mode = useMode()
  const { merchantId } = useAccount()
  const enabled = text.length >= TEXT_LENGTH_MIN
  const search = { q: text, limit: '5' }
  const [invoices, customers, links, payouts, keys] = useQueries({
    queries: [
      { ...invoicesOf(mode, search), enabled, placeholderData: keepPreviousData },
      { ...customersOf(mode, search), enabled, placeholderData: keepPreviousData },
      { ...linksOf(mode, search), enabled, placeholderData: keepPreviousData },
      { ...payoutsOf(mode, search), enabled, placeholderData: keepPreviousData },
      { ...apiKeysOf(mode, search), enabled, placeholderData: keepPreviousData },
    ],
  })
  const endpoints = useQuery({ ...endpointsOf(mode), enabled })
  const destinations = useQuery({ ...destinationsOf(mode), enabled })
  const members = useQuery(membersQuery(merchantId))
  if (!enabled) return PAGES.slice(0, HITS_MAX)
  const wanted = text.toLowerCase()
  const has = ({ words, href }: Hit) => `${words} ${href}`.toLowerCase().includes(wanted)
  const [prefix = ''] = text.split('_')
  const byId = /^[a-z]+_[0-9a-z]{26}$/.test(text) ? RESOURCES[prefix] : undefined
  const found: readonly Hit[] = [
    ...PAGES,
    ...(endpoints.data?.data ?? []).map(({ id, url }) => ({
      href: `/developers/webhooks/${id}`,
      kind: 'Webhook',
      words: url,
    })),
    ...(destinations.data?.data ?? []).map(({ name, address }) => ({
      href: '/payouts/destinations',
      kind: 'Destination',
      words: `${name}, ${address}`,
    })),
    ...(members.data ?? []).map(({ user }) => ({
      href: '/settings/team',
      kind: 'Team',
      words: `${user.name}, ${user.email}`,
    })),
  ].filter(has)
  return [
    ...(byId === undefined ? [] : [{ href: `${byId}${text}`, kind: 'Open', words: text }]),
    ...(invoices.data?.data ?? []).map((invoice) => ({
      href: `/invoices/${invoice.id}`,
      kind: 'Invoice',
      words: `${invoiceTitle(invoice)}, ${invoiceName(invoice)}`,
    })),
    ...(customers.data?.data ?? []).map(({ id, paid_usd }) => ({
      href: `/invoices?q=${encodeURIComponent(id)}`,
      kind: 'Customer',
      words: `${id}, ${usd(paid_usd)} paid`,
    })),
    ...(links.data?.data ?? []).map(({ id, name }) => ({
      href: `/links/${id}`,
      kind: 'Payment link',
      words: name,
    })),
    ...(payouts.data?.data ?? []).map(({ id, amount, asset, destination }) => ({
      href: `/payouts/${id}`,
      kind: 'Payout',
      words: `${coins(amount, asset)} to ${destination}`,
    })),
    ...(keys.data?.data ?? []).map(({ name, id }) => ({
      href: `/developers/keys?q=${id}`,
      kind: 'API key',
      words: name ?? id,
    })),
    ...found,
  ].slice(0, HITS_MAX)
}

/** One field that finds everything: typed, chosen by the arrow keys, opened by Enter. */
export function SearchEverything({ onClose }: { onClose: () => void }) {
  const router = useRouter()
  const mode = useMode()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const hits = useHits(useDeferredValue(text.trim()))
  const chosen = Math.min(at, hits.length - 1)
  const hrefOf = ({ href }: Hit) =>
    `/dashboard${href}${mode === 'live' ? `${href.includes('?') ? '&' : '?'}mode=live` : ''}`
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return
    onClose()
    router.history.push(hrefOf(hit))
  }
  const step = { ArrowDown: 1, ArrowUp: -1 } as const
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        className="input"
        type="search"
        role="combobox"
        aria-label="Search everything"
        aria-expanded="true"
        aria-controls="search-hits"
        aria-activedescendant={hits.length === 0 ? undefined : `search-hit-${chosen}`}
        placeholder="Invoice, customer, link, page, ID…"
        maxLength={255}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') open(hits[chosen])
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
          event.preventDefault()
          setAt((chosen + step[event.key] + hits.length) % Math.max(1, hits.length))
        }}
      />
      <div id="search-hits" className="search-hits" role="listbox" aria-label="Results">
        {hits.map((hit, index) => (
          <a
            key={`${hit.kind} ${hit.href} ${hit.words}`}
            id={`search-hit-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            href={hrefOf(hit)}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey) return
              event.preventDefault()
              open(hit)
            }}
          >
            <span className="quiet small-text">{hit.kind}</span> <span className="break">{hit.words}</span>
          </a>
        ))}
      </div>
      {hits.length === 0 ? <p className="quiet">Nothing matches.</p> : null}
    </Dialog>
  )
}
