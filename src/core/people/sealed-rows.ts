/**
 * The rows that decide who may do what, by the sign-in library's names of them, and the fields of each that do:
 * a seal covers these and the row's id. Other fields may change without a new seal.
 */
export const SEALED_ROWS = {
  user: { table: 'person', fields: ['email', 'emailVerified', 'twoFactorEnabled'] },
  session: {
    table: 'person_session',
    fields: ['userId', 'token', 'expiresAt', 'createdAt', 'secondFactorAt'],
  },
  account: { table: 'person_account', fields: ['userId', 'providerId', 'accountId', 'password'] },
  verification: { table: 'person_verification', fields: ['identifier', 'value', 'expiresAt'] },
  member: { table: 'organization_member', fields: ['organizationId', 'userId', 'role'] },
  invitation: {
    table: 'organization_invitation',
    fields: ['organizationId', 'email', 'role', 'status', 'inviterId', 'expiresAt'],
  },
  twoFactor: { table: 'person_two_factor', fields: ['userId', 'secret', 'backupCodes', 'verified'] },
  passkey: { table: 'person_passkey', fields: ['userId', 'credentialID', 'publicKey'] },
  apiKey: {
    table: 'api_key',
    fields: ['merchantId', 'livemode', 'keyHash', 'scopes', 'revokedAt'],
  },
} as const

export type SealedModel = keyof typeof SEALED_ROWS

/** Rows of which a shop or person has a set, sealed as a whole, and the field that says whose it is. */
export const OWNER_FIELDS = {
  member: 'organizationId',
  apiKey: 'merchantId',
  passkey: 'userId',
  twoFactor: 'userId',
} as const satisfies { readonly [model in SealedModel]?: string }

export type AccessKind = keyof typeof OWNER_FIELDS

export type SealedRow = { readonly id: string; readonly [field: string]: unknown }

export const isSealedModel = (model: string): model is SealedModel => Object.hasOwn(SEALED_ROWS, model)
export const isAccessKind = (model: string): model is AccessKind => Object.hasOwn(OWNER_FIELDS, model)

/** The column of a field: the library writes `camelCase`, the schema `snake_case`. */
export const columnOf = (field: string): string =>
  field === 'credentialID' ? 'credential_id' : field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** What a row's seal is of: one text for no two rows. */
export function sealedText(model: SealedModel, row: SealedRow): string {
  const { table, fields } = SEALED_ROWS[model]
  return JSON.stringify([table, row.id, ...fields.map((field) => plain(row[field]))])
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return Array.from(value)
  return value ?? null
}
