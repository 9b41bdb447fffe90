import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import {
  invitationsQuery,
  type Member,
  membersQuery,
  organizationsQuery,
  people,
  type Role,
} from '../api/people.ts'
import { usePeopleChange } from '../app/changes.ts'
import { useEnter } from '../app/enter.ts'
import { useIsWithoutMail } from '../app/sends-mail.ts'
import { useAccount } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { dashboardPathOf } from '../parts/dashboard-path.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Skeleton } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const ROLES: { readonly [role in Role]: { label: string; hint: string } } = {
  owner: { label: 'Owner', hint: 'Everything.' },
  admin: { label: 'Admin', hint: 'Everything but the owners: keys, rules, people, payouts.' },
  member: { label: 'Member', hint: 'Invoices, links, test webhooks; no keys, no rules, no live money.' },
  viewer: { label: 'Viewer', hint: 'Read-only access.' },
}
const INVITED_ROLES = ['admin', 'member', 'viewer'] as const

export function TeamPage() {
  const { merchantId, isManager } = useAccount()
  const members = useQuery(membersQuery(merchantId))
  const [isInviting, setIsInviting] = useState(false)
  return (
    <Page
      title="Team"
      lead="Who may see and run this shop."
      actions={
        isManager ? (
          <Button look="primary" icon="plus" onClick={() => setIsInviting(true)}>
            Invite member
          </Button>
        ) : undefined
      }
    >
      <div className="stack large">
        <Card title="People">
          <ProblemNote error={members.error} />
          {members.data === undefined ? <Skeleton lines={2} /> : null}
          <ul className="people">
            {members.data?.map((member) => (
              <MemberRow key={member.id} member={member} />
            ))}
          </ul>
        </Card>
        {isManager ? <Invitations /> : null}
        <Leave />
      </div>
      {isInviting ? <InviteDialog onClose={() => setIsInviting(false)} /> : null}
    </Page>
  )
}

function MemberRow({ member }: { member: Member }) {
  const { merchantId, person, isManager, role: ownRole } = useAccount()
  const [isRemoving, setIsRemoving] = useState(false)
  const setRole = usePeopleChange(people.setRole, { done: 'Role changed' })
  const remove = usePeopleChange(people.removeMember, { done: 'Member removed' })
  const { user, role } = member
  const isSelf = member.userId === person.id
  const canChange = isManager && !isSelf && (role !== 'owner' || ownRole === 'owner')
  return (
    <li>
      <div className="grow">
        <strong>{user.name}</strong> {isSelf ? <Badge tone="quiet">You</Badge> : null}
        <br />
        <span className="quiet break">{user.email}</span>
      </div>
      {canChange ? (
        <>
          <select
            className="input"
            aria-label={`Role of ${user.name}`}
            value={role}
            onChange={(event) => {
              const chosen = ([...INVITED_ROLES, 'owner'] as const).find((one) => one === event.target.value)
              if (chosen !== undefined)
                setRole.mutate({ memberId: member.id, role: chosen, organizationId: merchantId })
            }}
          >
            {(ownRole === 'owner' ? (['owner', ...INVITED_ROLES] as const) : INVITED_ROLES).map((one) => (
              <option key={one} value={one}>
                {ROLES[one].label}
              </option>
            ))}
          </select>
          <Button look="danger" onClick={() => setIsRemoving(true)} aria-label={`Remove ${user.name}`}>
            Remove
          </Button>
        </>
      ) : (
        <Badge tone="quiet">{ROLES[role].label}</Badge>
      )}
      <ProblemNote error={setRole.error} />
      {isRemoving ? (
        <Confirm
          title={`Remove ${user.name}?`}
          action="Remove them"
          danger
          onConfirm={() => remove.mutateAsync({ memberIdOrEmail: member.id, organizationId: merchantId })}
          onClose={() => setIsRemoving(false)}
        >
          <p>
            They are signed out with their next click. API keys that they created keep working: revoke those
            separately.
          </p>
        </Confirm>
      ) : null}
    </li>
  )
}

function Invitations() {
  const { merchantId } = useAccount()
  const invitations = useQuery(invitationsQuery(merchantId))
  const cancel = usePeopleChange(people.cancelInvitation, { done: 'Invitation revoked.' })
  const open = (invitations.data ?? []).filter(({ status }) => status === 'pending')
  if (open.length === 0) return null
  return (
    <Card title="Invited">
      <ul className="people">
        {open.map(({ id, email, role, expiresAt }) => (
          <li key={id}>
            <div className="grow">
              <strong className="break">{email}</strong>
              <br />
              <span className="quiet">
                {ROLES[role].label} · expires <Time at={expiresAt} />
              </span>
            </div>
            <CopyButton
              text={`${window.location.origin}${dashboardPathOf(merchantId)}/invitation?id=${id}`}
              label="Copy link"
            />
            <Button
              busy={cancel.isPending}
              onClick={() => cancel.mutate(id)}
              aria-label={`Revoke the invitation of ${email}`}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
      <ProblemNote error={cancel.error} />
    </Card>
  )
}

function InviteDialog({ onClose }: { onClose: () => void }) {
  const { merchantId } = useAccount()
  const isWithoutMail = useIsWithoutMail()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const invite = usePeopleChange(people.invite, { done: 'Invitation created', onDone: onClose })
  return (
    <DialogForm
      title="Invite member"
      action="Invite"
      change={invite}
      onClose={onClose}
      onSubmit={() => {
        invite.mutate({ email: email.trim(), role, organizationId: merchantId })
      }}
    >
      <Field
        label="Email"
        type="email"
        required
        maxLength={254}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        hint={
          isWithoutMail
            ? 'This server sends no emails. Copy the link from the list of invitations and send it yourself.'
            : 'They get an email with a link. You can also copy the link from the list of invitations.'
        }
      />
      <fieldset>
        <legend>Role</legend>
        {INVITED_ROLES.map((one) => (
          <Checkbox
            key={one}
            type="radio"
            name="role"
            label={ROLES[one].label}
            hint={ROLES[one].hint}
            checked={role === one}
            onChange={() => setRole(one)}
          />
        ))}
      </fieldset>
    </DialogForm>
  )
}

function Leave() {
  const { merchantId } = useAccount()
  const organizations = useQuery(organizationsQuery)
  const enter = useEnter()
  const navigate = useNavigate()
  const [isAsking, setIsAsking] = useState(false)
  const others = (organizations.data ?? []).filter(({ id }) => id !== merchantId)
  const leave = async () => {
    await people.leave(merchantId)
    const [next] = others
    if (next === undefined) await navigate({ to: '/new-shop' })
    else await people.chooseOrganization(next.id).then(() => enter())
  }
  return (
    <Card title="Leave this shop">
      <div className="actions">
        <Button look="danger" onClick={() => setIsAsking(true)}>
          Leave
        </Button>
      </div>
      {isAsking ? (
        <Confirm
          title="Leave this shop?"
          action="Leave it"
          danger
          onConfirm={leave}
          onClose={() => setIsAsking(false)}
        >
          <p>You lose access to it until you are invited again. The last owner cannot leave.</p>
        </Confirm>
      ) : null}
    </Card>
  )
}
