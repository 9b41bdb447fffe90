import type { AccessSeals } from '../core/people/access-seals.ts'
import { findInvitation, findMemberPerson } from '../db/people/people.ts'
import { appendAuditEntry } from '../flows/append-audit-entry.ts'
import { findMemberRole } from '../flows/member-role.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { newRequestId } from '../runtime/new-request-id.ts'
import { findSignIn, type SignIn } from './find-sign-in.ts'
import type { People } from './open-authentication.ts'

type Deps = {
  readonly people: People
  readonly pool: Pool
  readonly seals: AccessSeals
  readonly clock: Clock
}
type TeamRequest = {
  readonly path: string
  readonly body: { readonly [field: string]: unknown }
  readonly headers: Headers
}
/** One change of access to a shop: in whose log it is recorded, and which person or invitation it is about. */
type TeamAct = { readonly merchantId: string; readonly action: string; readonly resourceId: string | null }

/**
 * Runs a request of the sign-in; where it changes a shop's team or a member's second factors, between two entries of the shop's audit log, as
 * the API's own acts stand there. The team is one for both modes; its entries stand in live mode's.
 */
export async function withTeamAudit(
  deps: Deps,
  request: TeamRequest,
  ask: () => Promise<Response>,
): Promise<Response> {
  if (!ACTIONS.has(request.path)) return ask()
  const signIn = await findSignIn(deps.people, deps.pool, request.headers)
  const act = signIn === null ? null : await teamAct(deps, request, signIn)
  if (signIn === null || act === null) return ask()
  const tenant = { merchantId: act.merchantId, livemode: true }
  const { personId: actor } = signIn
  const entry = { actor, action: act.action, requestId: newRequestId() }
  await appendAuditEntry(deps, tenant, { ...entry, resourceId: act.resourceId, phase: 'begun', code: null })
  const response = await ask()
  const { id, code } = await readAnswer(response)
  const resourceId = act.resourceId ?? id
  if (response.ok) await appendAuditEntry(deps, tenant, { ...entry, resourceId, phase: 'done', code: null })
  else if (response.status < 500) {
    const refusal = code ?? String(response.status)
    await appendAuditEntry(deps, tenant, { ...entry, resourceId, phase: 'refused', code: refusal })
  }
  return response
}

const ACTIONS: ReadonlyMap<string, string> = new Map([
  ['/organization/invite-member', 'inviteMemberAs'],
  ['/organization/cancel-invitation', 'cancelInvitation'],
  ['/organization/accept-invitation', 'acceptInvitation'],
  ['/organization/reject-invitation', 'rejectInvitation'],
  ['/organization/update-member-role', 'changeMemberTo'],
  ['/organization/remove-member', 'removeMember'],
  ['/organization/leave', 'leaveTeam'],
  ['/two-factor/enable', 'setUpAuthenticatorApp'],
  ['/two-factor/disable', 'turnOffAuthenticatorApp'],
  ['/two-factor/generate-backup-codes', 'renewBackupCodes'],
  ['/passkey/verify-registration', 'addPasskey'],
  ['/passkey/delete-passkey', 'removePasskey'],
])
/** A person's own second factors, which open every shop of theirs: they stand in the log of the one that they look at. */
const OWN_FACTORS = /^\/(?:two-factor|passkey)\//

/** The act; null where the shop is none of the person's, whose wish leaves no trace in it. */
async function teamAct(deps: Deps, { path, body }: TeamRequest, signIn: SignIn): Promise<TeamAct | null> {
  const { pool } = deps
  const { invitationId, organizationId, memberId, memberIdOrEmail, role } = body
  if (OWN_FACTORS.test(path)) {
    const merchantId = signIn.merchantId
    if (merchantId === null || !(await isMember(deps, merchantId, signIn))) return null
    return { merchantId, action: ACTIONS.get(path) ?? '', resourceId: signIn.personId }
  }
  const action = `${ACTIONS.get(path) ?? ''}${typeof role === 'string' ? capital(role) : ''}`
  if (typeof invitationId === 'string') {
    const invitation = await findInvitation(pool, invitationId)
    if (invitation === null) return null
    const { merchantId, email } = invitation
    const isInvited = email.toLowerCase() === signIn.email.toLowerCase()
    if (!isInvited && !(await isMember(deps, merchantId, signIn))) return null
    return { merchantId, action, resourceId: invitationId }
  }
  if (typeof organizationId !== 'string') return null
  const merchantId = organizationId
  if (!(await isMember(deps, merchantId, signIn))) return null
  const member = memberId ?? memberIdOrEmail
  if (typeof member !== 'string') return { merchantId, action, resourceId: null }
  return { merchantId, action, resourceId: await findMemberPerson(pool, { memberId: member, merchantId }) }
}

const isMember = async (
  { pool, seals }: Deps,
  merchantId: string,
  { personId: userId }: SignIn,
): Promise<boolean> => (await findMemberRole(pool, seals, { userId, merchantId })) !== null

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** What the answer names: the invitation that was created, or why none was. */
async function readAnswer(response: Response): Promise<{ id: string | null; code: string | null }> {
  const body: { id?: unknown; code?: unknown } | null = await response
    .clone()
    .json()
    .catch(() => null)
  return {
    id: typeof body?.id === 'string' ? body.id : null,
    code: typeof body?.code === 'string' ? body.code : null,
  }
}
