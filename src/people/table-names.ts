/**
 * The library's tables and columns under this schema's names (migration 0013). The library writes `camelCase`,
 * the schema `snake_case`; nothing else differs.
 */
const columns = <const Names extends readonly string[]>(...names: Names) =>
  Object.fromEntries(
    names.map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
  ) as {
    [name in Names[number]]: string
  }

const DATED = ['createdAt', 'updatedAt'] as const

export const USER_TABLE = { modelName: 'person', fields: columns('emailVerified', ...DATED) }
export const SESSION_TABLE = {
  modelName: 'person_session',
  fields: columns('userId', 'expiresAt', 'ipAddress', 'userAgent', ...DATED),
}
export const ACCOUNT_TABLE = {
  modelName: 'person_account',
  fields: columns(
    'userId',
    'accountId',
    'providerId',
    'accessToken',
    'refreshToken',
    'idToken',
    'accessTokenExpiresAt',
    'refreshTokenExpiresAt',
    ...DATED,
  ),
}
export const VERIFICATION_TABLE = { modelName: 'person_verification', fields: columns('expiresAt', ...DATED) }
export const RATE_TABLE = { modelName: 'sign_in_rate', fields: columns('lastRequest') }

export const ORGANIZATION_TABLES = {
  session: { fields: columns('activeOrganizationId') },
  organization: { modelName: 'organization', fields: columns('createdAt') },
  member: { modelName: 'organization_member', fields: columns('organizationId', 'userId', 'createdAt') },
  invitation: {
    modelName: 'organization_invitation',
    fields: columns('organizationId', 'inviterId', 'expiresAt', 'createdAt'),
  },
}
export const TWO_FACTOR_TABLES = {
  user: { fields: columns('twoFactorEnabled') },
  twoFactor: {
    modelName: 'person_two_factor',
    fields: columns('userId', 'backupCodes', 'failedVerificationCount', 'lockedUntil'),
  },
}
export const PASSKEY_TABLES = {
  passkey: {
    modelName: 'person_passkey',
    fields: {
      ...columns('publicKey', 'userId', 'deviceType', 'backedUp', 'createdAt'),
      credentialID: 'credential_id',
    },
  },
}
