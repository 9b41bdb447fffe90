import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { addPasskey, canUsePasskeys } from '../api/passkeys.ts'
import { passkeysQuery, people, signInsQuery } from '../api/people.ts'
import { noticesOf } from '../api/reads.ts'
import type { Notices, UpdateNotices } from '../api/types.ts'
import { useChange, usePeopleChange } from '../app/changes.ts'
import { useIsWithoutMail } from '../app/sends-mail.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Checkbox, Field } from '../parts/field.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Skeleton } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { AuthenticatorCard } from './authenticator.tsx'

export function SecurityPage() {
  const { person } = useAccount()
  return (
    <Page title="Security" lead={`Your own account, ${person.email}.`}>
      <div className="stack large form">
        <AuthenticatorCard isOn={person.twoFactorEnabled === true} />
        <PasskeyCard />
        <SignInsCard />
        <PasswordCard />
        <NameCard name={person.name} />
        <NoticesCard />
      </div>
    </Page>
  )
}

function PasskeyCard() {
  const passkeys = useQuery(passkeysQuery)
  const [name, setName] = useState('')
  const add = usePeopleChange(addPasskey, { done: 'The passkey is added.', onDone: () => setName('') })
  const remove = usePeopleChange(people.removePasskey, { done: 'The passkey is removed.' })
  const [removing, setRemoving] = useState<{ id: string; name: string } | null>(null)
  return (
    <Card title="Passkeys">
      <div className="stack">
        <p className="quiet">Sign in with your fingerprint, face or PIN. A passkey is a second factor too.</p>
        <ul className="people">
          {passkeys.data?.map(({ id, name: known, createdAt }) => (
            <li key={id}>
              <div className="grow">
                <strong className="break">{known ?? 'Passkey'}</strong>
                <br />
                <span className="quiet">
                  added <Time at={createdAt} />
                </span>
              </div>
              <Button
                look="danger"
                onClick={() => setRemoving({ id, name: known ?? 'this passkey' })}
                aria-label={`Remove ${known ?? 'the passkey'}`}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
        {canUsePasskeys() ? (
          <form
            className="row-form"
            onSubmit={(event) => {
              event.preventDefault()
              add.mutate(name.trim())
            }}
          >
            <Field
              label="Name of this device"
              required
              maxLength={64}
              placeholder="My laptop"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <Button type="submit" icon="key" busy={add.isPending}>
              Add a passkey
            </Button>
          </form>
        ) : (
          <p>Passkeys need an https address with a host name. Whoever runs this server can set one up.</p>
        )}
        <ProblemNote error={add.error ?? passkeys.error} />
      </div>
      {removing === null ? null : (
        <Confirm
          title={`Remove ${removing.name}?`}
          action="Remove it"
          danger
          onConfirm={() => remove.mutateAsync(removing.id)}
          onClose={() => setRemoving(null)}
        >
          <p>That device can no longer sign in with it, nor prove a second factor. You can add it again.</p>
        </Confirm>
      )}
    </Card>
  )
}

function SignInsCard() {
  const { sessionId } = useAccount()
  const signIns = useQuery(signInsQuery)
  const end = usePeopleChange(people.revokeSignIn, { done: 'That sign-in is ended.' })
  const endOthers = usePeopleChange(people.revokeOtherSignIns, { done: 'All other sign-ins are ended.' })
  return (
    <Card
      title="Active sessions"
      actions={
        (signIns.data?.length ?? 0) > 1 ? (
          <Button busy={endOthers.isPending} onClick={() => endOthers.mutate()}>
            End all others
          </Button>
        ) : undefined
      }
    >
      {signIns.data === undefined ? <Skeleton lines={2} /> : null}
      <ul className="people">
        {signIns.data?.map(({ id, token, ipAddress, userAgent, updatedAt }) => (
          <li key={id}>
            <div className="grow">
              <strong>{browserLabel(userAgent)}</strong>{' '}
              {id === sessionId ? <Badge tone="good">This one</Badge> : null}
              <br />
              <span className="quiet">
                {ipAddress ?? 'address unknown'}, used <Time at={updatedAt} />
              </span>
            </div>
            {id === sessionId ? null : (
              <Button look="danger" busy={end.isPending} onClick={() => end.mutate(token)}>
                End it
              </Button>
            )}
          </li>
        ))}
      </ul>
      <ProblemNote error={end.error ?? endOthers.error ?? signIns.error} />
    </Card>
  )
}

const BROWSERS = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'] as const
const BROWSER_NAMES = {
  Edg: 'Edge',
  OPR: 'Opera',
  Firefox: 'Firefox',
  Chrome: 'Chrome',
  Safari: 'Safari',
} as const
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'] as const

/** `Chrome on Linux`; what a browser says of itself is a hint and no more. */
function browserLabel(userAgent: string | null): string {
  const text = userAgent ?? ''
  const browser = BROWSERS.find((name) => text.includes(name))
  const system = SYSTEMS.find((name) => text.includes(name))
  return `${browser === undefined ? 'A browser' : BROWSER_NAMES[browser]}${system === undefined ? '' : ` on ${system}`}`
}

function PasswordCard() {
  const [form, setForm] = useState({ currentPassword: '', newPassword: '' })
  const change = usePeopleChange(people.changePassword, {
    done: 'Your password is changed, and every other sign-in ended.',
    onDone: () => setForm({ currentPassword: '', newPassword: '' }),
  })
  return (
    <Card title="Password">
      <form
        className="row-form"
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate(form)
        }}
      >
        <Field
          label="Current password"
          type="password"
          autoComplete="current-password"
          required
          value={form.currentPassword}
          onChange={(event) => setForm((old) => ({ ...old, currentPassword: event.target.value }))}
        />
        <Field
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={128}
          value={form.newPassword}
          onChange={(event) => setForm((old) => ({ ...old, newPassword: event.target.value }))}
        />
        <Button type="submit" busy={change.isPending}>
          Update
        </Button>
        <ProblemNote error={change.error} />
      </form>
    </Card>
  )
}

function NameCard({ name }: { name: string }) {
  const [text, setText] = useState(name)
  const change = usePeopleChange(people.updateName, { done: 'Your name is changed.' })
  return (
    <Card title="Your name">
      <form
        className="row-form"
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate(text.trim())
        }}
      >
        <Field
          label="Name"
          required
          maxLength={120}
          autoComplete="name"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" busy={change.isPending}>
          Update
        </Button>
        <ProblemNote error={change.error} />
      </form>
    </Card>
  )
}

const NOTICES: { readonly [kind in keyof UpdateNotices]-?: string } = {
  paid: 'An invoice was paid',
  attention: 'An invoice needs attention',
  endpoint_disabled: 'A webhook endpoint was disabled, because its receiver is gone',
  sign_in: 'New sign-in to your account (sent while one of your shops has this on)',
}
const KINDS = Object.keys(NOTICES) as (keyof UpdateNotices)[]
/** The others go to owners and admins alone. */
const OF_EVERYBODY = KINDS.filter((kind) => kind === 'sign_in')

/** Which emails this person wants. Each switch holds at once: nothing is lost by either. */
function NoticesCard() {
  const mode = useMode()
  const { person, isManager } = useAccount()
  const notices = useQuery(noticesOf(mode))
  const change = useChange<UpdateNotices, Notices>((body) => ({ method: 'PATCH', path: '/notices', body }), {
    done: 'Saved.',
  })
  const shown = notices.data
  const isWithoutMail = useIsWithoutMail()
  return (
    <Card title="Emails to you">
      <div className="stack">
        {isWithoutMail ? (
          <Note kind="warn">This server sends no emails. Your choices apply once it does.</Note>
        ) : null}
        <p className="quiet">
          Sent to {person.email}.
          {isManager
            ? ` Payments and webhooks: in live mode only${person.emailVerified ? '' : ', once you have confirmed the address'}.`
            : ''}
        </p>
      </div>
      {shown === undefined ? notices.error === null ? <Skeleton lines={2} /> : null : null}
      {shown === undefined
        ? null
        : (isManager ? KINDS : OF_EVERYBODY).map((kind) => (
            <Checkbox
              key={kind}
              label={NOTICES[kind]}
              checked={shown[kind]}
              onChange={(event) => change.mutate({ [kind]: event.target.checked })}
            />
          ))}
      <ProblemNote error={change.error ?? notices.error} />
    </Card>
  )
}
