/** Below which the library's own endpoints are served. */
export const AUTH_PREFIX = '/api/auth'

/** Paths that prove a second factor. */
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

/** Where a password is chosen, and by which field. */
export const NEW_PASSWORD_FIELDS: ReadonlyMap<string, string> = new Map([
  ['/sign-up/email', 'password'],
  ['/change-password', 'newPassword'],
  ['/reset-password', 'newPassword'],
])

/** Paths that change who can sign in: a person with a second factor proves it first. */
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

/** Of those, the ones without a password: a stolen cookie alone must not be enough to create a second factor. */
export const PASSKEY_MAKING_PATHS: ReadonlySet<string> = new Set([
  '/passkey/generate-register-options',
  '/passkey/verify-registration',
])

/** Paths that create a second factor. */
export const SECOND_FACTOR_MAKING_PATHS: ReadonlySet<string> = new Set([
  ...PASSKEY_MAKING_PATHS,
  '/two-factor/enable',
])

/** Paths that can create an owner or admin, who then has the same rights in live mode as their creator. */
export const MANAGER_MAKING_PATHS: ReadonlySet<string> = new Set([
  '/organization/invite-member',
  '/organization/update-member-role',
])

/** Paths that remove a second factor. */
export const SECOND_FACTOR_ENDING_PATHS: ReadonlySet<string> = new Set([
  '/two-factor/disable',
  '/passkey/delete-passkey',
])
