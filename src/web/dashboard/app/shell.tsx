import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { onSecondFactorNeeded } from '../api/ask.ts'
import { organizationsQuery, passkeysQuery, people, sessionQuery } from '../api/people.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { Skeleton } from '../parts/table.tsx'
import { usePeopleChange } from './changes.ts'
import { useIsWithoutNetworks } from './live-networks.ts'
import { NAVIGATION } from './navigation.ts'
import { SecondFactorForm } from './second-factor.tsx'
import { type Account, useAccount, useMode } from './session.ts'
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
          <ModeSwitch />
          <PersonMenu account={account} />
        </header>
        {isWithoutNetworks ? <NoNetworks /> : null}
        {account.person.emailVerified ? null : <VerifyReminder email={account.person.email} />}
        <main id="page" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {menuIsOpen ? (
        <Dialog kind="drawer" title="Menu" onClose={() => setMenuIsOpen(false)}>
          <Navigation label="Menu" onChoose={() => setMenuIsOpen(false)} />
        </Dialog>
      ) : null}
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
                </Link>
              </li>
            ))}
            {title === 'Developers' ? (
              <li>
                <a href="/docs" target="_blank" rel="noopener">
                  <Icon name="book" />
                  API reference
                </a>
              </li>
            ) : null}
          </ul>
        </div>
      ))}
    </nav>
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

function ShopChoice({ account }: { account: Account }) {
  const organizations = useQuery(organizationsQuery)
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
  if (shops.length < 2) return <strong className="shop">{chosen?.name ?? ''}</strong>
  return (
    <select
      className="input shop"
      aria-label="Shop"
      value={account.merchantId}
      onChange={(event) => choose.mutate(event.target.value)}
    >
      {shops.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

function PersonMenu({ account }: { account: Account }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const signOut = usePeopleChange(people.signOut, {
    onDone: () => {
      queries.clear()
      void navigate({ to: '/sign-in', search: {} })
    },
  })
  return (
    <div className="person">
      <Link to="/settings/security" className="person-name" title={account.person.email}>
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
    <span>No live networks are configured: nothing can be sold in live mode.</span>
    <Link to="/settings/go-live">What to set up</Link>
  </section>
)

function VerifyReminder({ email }: { email: string }) {
  const toast = useToast()
  const send = usePeopleChange(people.sendVerification, {
    onDone: () => toast(`A new link is on its way to ${email}.`),
  })
  return (
    <section className="reminder" aria-label="E-mail address">
      <span>Confirm your e-mail address: we sent a link to {email}.</span>
      <Button look="quiet" busy={send.isPending} onClick={() => send.mutate(email)}>
        Send it again
      </Button>
    </section>
  )
}

/**
 * The window that opens whenever a request needs a second factor proved in the last five minutes. Requests that
 * ask at once wait for the one window; the request is repeated after it.
 */
function StepUp() {
  const [isOpen, setIsOpen] = useState(false)
  const waiting = useRef<((proved: boolean) => void)[]>([])
  const queries = useQueryClient()
  useEffect(() => {
    onSecondFactorNeeded(
      () =>
        new Promise((resolve) => {
          waiting.current.push(resolve)
          setIsOpen(true)
        }),
    )
    return () => onSecondFactorNeeded(null)
  }, [])
  const settle = (proved: boolean) => {
    setIsOpen(false)
    for (const resolve of waiting.current.splice(0)) resolve(proved)
    void queries.invalidateQueries({ queryKey: ['people'] })
  }
  if (!isOpen) return null
  return (
    <Dialog title="Confirm that it is you" onClose={() => settle(false)}>
      <StepUpForm onProved={() => settle(true)} onLeave={() => settle(false)} />
    </Dialog>
  )
}

function StepUpForm({ onProved, onLeave }: { onProved: () => void; onLeave: () => void }) {
  const session = useQuery(sessionQuery)
  const passkeys = useQuery(passkeysQuery)
  if (session.data === undefined || passkeys.data === undefined) return <Skeleton lines={2} />
  const hasTotp = session.data?.user.twoFactorEnabled === true
  if (!hasTotp && passkeys.data.length === 0) {
    return (
      <div className="stack">
        <p>
          What touches live money, keys or rules needs a second factor, so that a stolen password is not
          enough. You have none yet. It takes a minute with an authenticator app or a passkey.
        </p>
        <Link className="button primary" to="/settings/security" onClick={onLeave}>
          Set up a second factor
        </Link>
      </div>
    )
  }
  return (
    <div className="stack">
      <p>This needs your second factor, proved in the last five minutes.</p>
      <SecondFactorForm hasTotp={hasTotp} onProved={onProved} />
    </div>
  )
}
