/** Below which the library's own endpoints are served. */
export const AUTH_PREFIX = '/api/auth'

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

/** Where a password is chosen, and by which field. */
export const NEW_PASSWORD_FIELDS: ReadonlyMap<string, string> = new Map([
  ['/sign-up/email', 'password'],
  ['/change-password', 'newPassword'],
  ['/reset-password', 'newPassword'],
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

/** Of those, the ones that ask for no password: a stolen cookie alone must not make a second factor of its own. */
export const PASSKEY_MAKING_PATHS: ReadonlySet<string> = new Set([
  '/passkey/generate-register-options',
  '/passkey/verify-registration',
])

/** What makes a second factor. */
export const SECOND_FACTOR_MAKING_PATHS: ReadonlySet<string> = new Set([
  ...PASSKEY_MAKING_PATHS,
  '/two-factor/enable',
])

/** Which may make an owner or an admin, who may then do in live mode whatever the one who made them may. */
export const MANAGER_MAKING_PATHS: ReadonlySet<string> = new Set([
  '/organization/invite-member',
  '/organization/update-member-role',
])

/** What takes a second factor away. */
export const SECOND_FACTOR_ENDING_PATHS: ReadonlySet<string> = new Set([
  '/two-factor/disable',
  '/passkey/delete-passkey',
])
