import { APIError } from 'better-auth/api'
import { organization } from 'better-auth/plugins'
import { defaultAc, defaultRoles } from 'better-auth/plugins/organization/access'
import type { AccessSeals } from '../core/people/access-seals.ts'
import type { Pool } from '../db/pool.ts'
import { findMemberRole } from '../flows/member-role.ts'
import type { Mail } from '../mail/mail.ts'
import { invitationMail } from './emails.ts'
import { ORGANIZATION_TABLES } from './table-names.ts'

const INVITATION_SECONDS = 7 * 24 * 3_600
const MEMBERS_MAX = 100

type ShopDeps = {
  readonly pool: Pool
  readonly seals: AccessSeals
  readonly mail: Mail
  readonly baseUrl: string
}

/** The people of a shop, their roles and invitations: the library's organizations are our merchants. */
export function shopMembers({ pool, seals, mail, baseUrl }: ShopDeps) {
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
      beforeAcceptInvitation: ({ invitation, user }) =>
        requireInviterInOffice({ pool, seals }, invitation, user.id),
    },
    sendInvitationEmail: ({ id, email, inviter, organization: { name } }) =>
      mail.send(invitationMail(baseUrl, { id, email, inviter: inviter.user.name, merchant: name })),
  })
}

/** An invitation is worth what its inviter is now: whoever was removed or made less leaves no door behind. */
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
