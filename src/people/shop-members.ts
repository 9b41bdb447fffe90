import { createHash } from 'node:crypto'
import { APIError } from 'better-auth/api'
import { organization } from 'better-auth/plugins'
import { defaultAc, defaultRoles } from 'better-auth/plugins/organization/access'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { mailboxOf } from '../core/people/canonical-email.ts'
import { takeGuess } from '../db/people/people.ts'
import { findMemberRole } from '../flows/member-role.ts'
import type { Mail } from '../mail/mail.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { invitationMail } from './emails.ts'
import { ORGANIZATION_TABLES } from './table-names.ts'

const INVITATION_SECONDS = 7 * 24 * 3_600
const MEMBERS_MAX = 100
const DAY_SECONDS = 24 * 3_600
/** Invitations in a day: to one address from all shops together, from one person, and from one shop. */
const INVITATIONS_TO_ADDRESS_MAX = 3
const INVITATIONS_BY_PERSON_MAX = 30
const INVITATIONS_BY_SHOP_MAX = 60

type ShopDeps = {
  readonly pool: Pool
  readonly seals: AccessSeals
  readonly clock: Clock
  readonly mail: Mail
  readonly baseUrl: string
}

/** The people of a shop, their roles and invitations: the library's organizations are our merchants. */
export function shopMembers({ pool, seals, clock, mail, baseUrl }: ShopDeps) {
  return organization({
    schema: ORGANIZATION_TABLES,
    allowUserToCreateOrganization: false,
    membershipLimit: MEMBERS_MAX,
    invitationExpiresIn: INVITATION_SECONDS,
    invitationLimit: MEMBERS_MAX,
    cancelPendingInvitationsOnReInvite: true,
    requireEmailVerificationOnInvitation: true,
    roles: { ...defaultRoles, viewer: defaultAc.newRole({}) },
    organizationHooks: {
      beforeCreateInvitation: ({ invitation, inviter }) =>
        countInvitation({ pool, clock }, invitation, inviter),
      beforeAcceptInvitation: ({ invitation, user }) =>
        requireInviterInOffice({ pool, seals }, invitation, user.id),
    },
    sendInvitationEmail: ({ id, email, inviter, organization: { name } }) =>
      mail.send(invitationMail(baseUrl, { id, email, inviter: inviter.user.name, merchant: name })),
  })
}

/** An invitation is an email to anybody's address: its sender has an address too, and sends a few. */
async function countInvitation(
  { pool, clock }: Pick<ShopDeps, 'pool' | 'clock'>,
  invitation: { readonly email: string; readonly organizationId: string },
  inviter: { readonly id: string; readonly emailVerified: boolean },
): Promise<void> {
  if (!inviter.emailVerified) {
    throw new APIError('FORBIDDEN', {
      code: 'EMAIL_UNVERIFIED',
      message: 'Confirm your own email address first, then invite others.',
    })
  }
  const counts: readonly (readonly [subject: string, max: number])[] = [
    [`invitation_by/${inviter.id}`, INVITATIONS_BY_PERSON_MAX],
    [`invitation_of/${invitation.organizationId}`, INVITATIONS_BY_SHOP_MAX],
    [`invitation_to/${mailboxDigest(invitation.email)}`, INVITATIONS_TO_ADDRESS_MAX],
  ]
  for (const [subject, max] of counts) {
    const isCounted = await takeGuess(pool, { subject, max, windowSeconds: DAY_SECONDS, now: clock() })
    if (isCounted) continue
    throw new APIError('TOO_MANY_REQUESTS', {
      code: 'TOO_MANY_INVITATIONS',
      message:
        'Too many invitations today. Try again tomorrow; an earlier invitation is good for seven days.',
    })
  }
}

const mailboxDigest = (email: string): string => createHash('sha256').update(mailboxOf(email)).digest('hex')

/** An invitation grants no more than its inviter's role now: a removed or demoted inviter leaves no way back in. */
async function requireInviterInOffice(
  { pool, seals }: Pick<ShopDeps, 'pool' | 'seals'>,
  { inviterId, organizationId: merchantId }: { inviterId: string; organizationId: string },
  userId: string,
): Promise<void> {
  const inviter = await findMemberRole(pool, seals, { userId: inviterId, merchantId })
  if (inviter !== 'owner' && inviter !== 'admin') {
    throw new APIError('FORBIDDEN', {
      code: 'INVITER_NOT_IN_OFFICE',
      message: 'Whoever invited you may not do so any more. Ask for a new invitation.',
    })
  }
  if ((await findMemberRole(pool, seals, { userId, merchantId })) === null) return
  throw new APIError('CONFLICT', { code: 'MEMBER_ALREADY', message: 'You belong to this shop already.' })
}
