/** Below which the library's own endpoints are served. */
export const AUTH_PREFIX = '/api/auth'

/**
 * The endpoints of the library that the dashboard uses; no other is reachable. A release of the library that
 * brings new ones opens nothing here.
 */
export const SERVED_PATHS: ReadonlySet<string> = new Set([
  '/sign-up/email',
  '/sign-in/email',
  '/sign-out',
  '/get-session',
  '/list-sessions',
  '/revoke-session',
  '/revoke-other-sessions',
  '/send-verification-email',
  '/verify-email',
  '/request-password-reset',
  '/reset-password',
  '/change-password',
  '/update-user',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
  '/two-factor/generate-backup-codes',
  '/passkey/generate-register-options',
  '/passkey/verify-registration',
  '/passkey/generate-authenticate-options',
  '/passkey/verify-authentication',
  '/passkey/list-user-passkeys',
  '/passkey/delete-passkey',
  '/organization/list',
  '/organization/set-active',
  '/organization/list-members',
  '/organization/list-invitations',
  '/organization/invite-member',
  '/organization/cancel-invitation',
  '/organization/get-invitation',
  '/organization/accept-invitation',
  '/organization/reject-invitation',
  '/organization/update-member-role',
  '/organization/remove-member',
  '/organization/leave',
])

/** Which prove a second factor. */
export const SECOND_FACTOR_PATHS: ReadonlySet<string> = new Set([
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
  '/passkey/verify-authentication',
])

/** Of those, the ones that take a code which somebody could guess. */
export const CODE_PATHS: ReadonlySet<string> = new Set([
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
])

/** What changes who may enter: whoever has a second factor proves it first. */
export const STEP_UP_PATHS: ReadonlySet<string> = new Set([
  '/change-password',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/generate-backup-codes',
  '/passkey/generate-register-options',
  '/passkey/verify-registration',
  '/passkey/delete-passkey',
  '/organization/invite-member',
  '/organization/update-member-role',
  '/organization/remove-member',
])
