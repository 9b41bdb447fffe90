import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useState, useSyncExternalStore } from 'react'
import { organizationsQuery, otherCellsQuery, people } from '../api/people.ts'
import { reviewsOf } from '../api/reads.ts'
import { onSignInNeeded, reachOf } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { usePeopleChange } from './changes.ts'
import { useIsWithoutNetworks } from './live-networks.ts'
import { NAVIGATION } from './navigation.ts'
import { SearchButton } from './search-button.tsx'
import { useSendsMail } from './sends-mail.ts'
import { type Account, useAccount, useMode } from './session.ts'
import { SignInAgain, StepUp } from './session-dialogs.tsx'
import { useToast } from './toasts.tsx'

/** What stands around every page of somebody who is signed in. */
export function Shell() {
  const mode = useMode()
  const account = useAccount()
  const isWithoutNetworks = useIsWithoutNetworks()
  const [menuIsOpen, setMenuIsOpen] = useState(false)
  return (
    <div className={`shell ${mode}`}>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      {mode === 'test' ? (
        <section className="mode-banner" aria-label="Test mode">
          <strong>TEST MODE</strong> <span>No real money moves here.</span>
        </section>
      ) : null}
      <aside className="side">
        <Brand />
        <Navigation label="Pages" />
      </aside>
      <div className="body">
        <header className="top">
          <button
            type="button"
            className="button plain square menu-button"
            aria-label="Open the menu"
            onClick={() => setMenuIsOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <ShopChoice account={account} />
          <SearchButton />
          <ModeSwitch />
          <PersonMenu account={account} />
        </header>
        <OutOfReach />
        {isWithoutNetworks ? <NoNetworks /> : null}
        {account.person.emailVerified ? null : <VerifyReminder email={account.person.email} />}
        <main id="page" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {menuIsOpen ? (
        <Dialog kind="drawer" title="Menu" onClose={() => setMenuIsOpen(false)}>
          <Navigation label="Menu" onChoose={() => setMenuIsOpen(false)} />
          <PersonMenu account={account} onChoose={() => setMenuIsOpen(false)} />
        </Dialog>
      ) : null}
      <SignInAgain />
      <StepUp />
    </div>
  )
}

function Brand() {
  return (
    <Link to="/" className="brand">
      <img src="/dashboard/icon.svg" alt="" width="28" height="28" />
      Paylink
    </Link>
  )
}

const DOCUMENTATION = [
  { path: '/docs/guides', label: 'Guides' },
  { path: '/docs', label: 'API reference' },
] as const

function Navigation({ label, onChoose }: { label: string; onChoose?: () => void }) {
  return (
    <nav aria-label={label} className="navigation">
      {NAVIGATION.map(({ title, items }) => (
        <div key={title ?? 'first'}>
          {title === null ? null : <h2>{title}</h2>}
          <ul>
            {items.map(({ to, label: name, icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: to === '/', includeSearch: false }}
                  preload="intent"
                  onClick={onChoose}
                >
                  <Icon name={icon} />
                  {name}
                  {to === '/attention' ? <ReviewCount /> : null}
                </Link>
              </li>
            ))}
            {title === 'Developers'
              ? DOCUMENTATION.map(({ path, label: name }) => (
                  <li key={path}>
                    <a href={path} target="_blank" rel="noopener">
                      <Icon name="book" />
                      {name}
                    </a>
                  </li>
                ))
              : null}
          </ul>
        </div>
      ))}
    </nav>
  )
}

function ReviewCount() {
  const { data: list } = useQuery(reviewsOf(useMode()))
  if (list === undefined || list.data.length === 0) return null
  return (
    <span className="count">
      {list.data.length}
      {list.has_more ? '+' : ''}
      <span className="unseen"> waiting</span>
    </span>
  )
}

/** Test or live. It stands in the address, so that a copied link shows the same. */
function ModeSwitch() {
  const mode = useMode()
  return (
    <nav className="switch" aria-label="Mode">
      <Link
        to="/"
        search={{ mode: undefined }}
        // On Home a link without the mode would count as that of the live page, too.
        activeOptions={{ exact: true }}
        aria-current={mode === 'test' ? 'true' : undefined}
      >
        Test
      </Link>
      <Link
        to="/"
        search={{ mode: 'live' }}
        activeOptions={{ exact: true }}
        aria-current={mode === 'live' ? 'true' : undefined}
      >
        Live
      </Link>
    </nav>
  )
}

/** Where the dashboards of other cells are: each has a sign-in of its own. */
const CELLS = '/cells/'

function ShopChoice({ account }: { account: Account }) {
  const organizations = useQuery(organizationsQuery)
  const { data: { cells } = { cells: [] } } = useQuery({
    ...otherCellsQuery,
    enabled: account.person.emailVerified,
  })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const choose = usePeopleChange(people.chooseOrganization, {
    onDone: () => {
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'people' })
      void navigate({ to: '/' })
    },
  })
  const shops = organizations.data ?? []
  const chosen = shops.find(({ id }) => id === account.merchantId)
  if (shops.length < 2 && cells.length === 0) return <strong className="shop">{chosen?.name ?? ''}</strong>
  return (
    <select
      className="input shop"
      aria-label="Shop"
      value={account.merchantId}
      onChange={({ target: { value } }) =>
        value.startsWith(CELLS) ? window.location.assign(value) : choose.mutate(value)
      }
    >
      {shops.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
      {cells.length === 0 ? null : (
        // Their names are in the cell that they are in.
        <optgroup label="Separate sign-in">
          {cells.map(({ number, tag }) => (
            <option key={tag} value={`${CELLS}${tag}/dashboard/`}>
              {cells.length === 1 ? 'Other shops' : `Other shops (server ${number})`}
            </option>
          ))}
        </optgroup>
      )}
    </select>
  )
}

/** On a phone it stands in the menu, and leaves the line at the top to the shop's name. */
function PersonMenu({ account, onChoose }: { account: Account; onChoose?: () => void }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const signOut = usePeopleChange(people.signOut, {
    onDone: () => {
      onSignInNeeded(null)
      queries.clear()
      void navigate({ to: '/sign-in', search: {} })
    },
  })
  return (
    <div className="person">
      <Link to="/settings/security" className="person-name" title={account.person.email} onClick={onChoose}>
        {account.person.name}
      </Link>
      <Button
        look="quiet"
        icon="out"
        aria-label="Sign out"
        busy={signOut.isPending}
        onClick={() => signOut.mutate()}
      />
    </div>
  )
}

const NoNetworks = () => (
  <section className="reminder" aria-label="Live networks">
    <span>You cannot take real payments yet: no live network is connected.</span>
    <Link to="/settings/go-live">What to set up</Link>
  </section>
)

/** The page stays as it is; what it shows is read again as soon as there is an answer. */
function OutOfReach() {
  const queries = useQueryClient()
  const isReached = useSyncExternalStore(reachOf.subscribe, reachOf.read)
  if (isReached) return null
  return (
    <section className="reminder bad" role="alert">
      <span>Paylink cannot be reached. What you see may be out of date; what you typed is kept.</span>
      <Button look="quiet" onClick={() => void queries.refetchQueries({ type: 'active' })}>
        Retry
      </Button>
    </section>
  )
}

function VerifyReminder({ email }: { email: string }) {
  const toast = useToast()
  const sendsMail = useSendsMail()
  const send = usePeopleChange(people.sendVerification, {
    onDone: () => toast(`There is a new link for ${email}.`),
  })
  // Without a mail server no link was sent: until it is known, nothing is said.
  if (sendsMail === undefined) return null
  return (
    <section className="reminder" aria-label="Email address">
      <span>
        {sendsMail
          ? `Confirm your email address: open the link sent to ${email}.`
          : `Confirm your email address, ${email}. This server sends no emails: ask whoever runs it for the link in its log.`}
      </span>
      <Button look="quiet" busy={send.isPending} onClick={() => send.mutate(email)}>
        {sendsMail ? 'Send it again' : 'New confirmation link'}
      </Button>
    </section>
  )
}
