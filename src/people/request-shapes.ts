import { z } from 'zod'

const TEXT_LENGTH_MAX = 320
const NAME_LENGTH_MAX = 120
const TOKEN_LENGTH_MAX = 2_048
const LIST_MAX = '100'

const text = (max: number = TEXT_LENGTH_MAX) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u)
const name = text(NAME_LENGTH_MAX).refine((given) => given.trim() !== '')
/** How long one may be is the library's to say. */
const password = z.string()
/** What a browser makes of an authenticator's answer; the library reads it by WebAuthn's rules. */
const credential = z.looseObject({ id: text(TOKEN_LENGTH_MAX) })
const nothing = z.strictObject({})
const organizationId = text()
const invitation = z.strictObject({ invitationId: text() })
const proof = z.strictObject({ code: text() })
const passwordAlone = z.strictObject({ password })

/**
 * The endpoints of the library that the dashboard uses, each with what the dashboard sends there; no other is
 * reachable, and nothing else gets through: no address to be sent on to afterwards, no device to be trusted
 * without a second factor, no list of roles. A release of the library that brings new ones opens nothing here.
 * A `GET` is described by its query, a `POST` by its body.
 */
export const SERVED_REQUESTS: ReadonlyMap<string, z.ZodType<{ [field: string]: unknown }>> = new Map<
  string,
  z.ZodType<{ [field: string]: unknown }>
>([
  ['POST /sign-up/email', z.strictObject({ name, email: text(), password })],
  ['POST /sign-in/email', z.strictObject({ email: text(), password })],
  ['POST /sign-out', nothing],
  ['GET /get-session', nothing],
  ['GET /list-sessions', nothing],
  ['POST /revoke-session', z.strictObject({ token: text() })],
  ['POST /revoke-other-sessions', nothing],
  ['POST /send-verification-email', z.strictObject({ email: text() })],
  ['GET /verify-email', z.strictObject({ token: text(TOKEN_LENGTH_MAX) })],
  ['POST /request-password-reset', z.strictObject({ email: text() })],
  ['POST /reset-password', z.strictObject({ newPassword: password, token: text() })],
  [
    'POST /change-password',
    // A password is changed because somebody else may know it: their sign-ins end with it.
    z.strictObject({
      currentPassword: password,
      newPassword: password,
      revokeOtherSessions: z.literal(true),
    }),
  ],
  ['POST /update-user', z.strictObject({ name })],
  ['POST /two-factor/enable', passwordAlone],
  ['POST /two-factor/disable', passwordAlone],
  ['POST /two-factor/generate-backup-codes', passwordAlone],
  ['POST /two-factor/verify-totp', proof],
  ['POST /two-factor/verify-backup-code', proof],
  ['GET /passkey/generate-register-options', z.strictObject({ name: name.optional() })],
  ['POST /passkey/verify-registration', z.strictObject({ name: name.optional(), response: credential })],
  ['GET /passkey/generate-authenticate-options', nothing],
  ['POST /passkey/verify-authentication', z.strictObject({ response: credential })],
  ['GET /passkey/list-user-passkeys', nothing],
  ['POST /passkey/delete-passkey', z.strictObject({ id: text() })],
  ['GET /organization/list', nothing],
  ['POST /organization/set-active', z.strictObject({ organizationId })],
  [
    'GET /organization/list-members',
    z.strictObject({ organizationId, limit: z.literal(LIST_MAX).optional() }),
  ],
  ['GET /organization/list-invitations', z.strictObject({ organizationId })],
  [
    'POST /organization/invite-member',
    z.strictObject({ email: text(), role: z.enum(['admin', 'member', 'viewer']), organizationId }),
  ],
  ['POST /organization/cancel-invitation', invitation],
  ['GET /organization/get-invitation', z.strictObject({ id: text() })],
  ['POST /organization/accept-invitation', invitation],
  ['POST /organization/reject-invitation', invitation],
  [
    'POST /organization/update-member-role',
    z.strictObject({
      memberId: text(),
      role: z.enum(['owner', 'admin', 'member', 'viewer']),
      organizationId,
    }),
  ],
  [
    'POST /organization/remove-member',
    // An id: the library takes an e-mail address here too.
    z.strictObject({ memberIdOrEmail: text().regex(/^[^@]*$/), organizationId }),
  ],
  ['POST /organization/leave', z.strictObject({ organizationId })],
])
