import { queryOptions } from '@tanstack/react-query'
import { isHere } from './here.ts'
import { inItsCell, requestPeople, signedInAgain } from './request.ts'

/** Sign-in and everything around it, as the sign-in library's endpoints answer. */

export type Role = 'owner' | 'admin' | 'member' | 'viewer'

export type Person = {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly emailVerified: boolean
  readonly twoFactorEnabled?: boolean | null
}
export type Session = {
  readonly user: Person
  readonly session: {
    readonly id: string
    readonly token: string
    readonly activeOrganizationId?: string | null
  }
}
type SignIn = {
  readonly id: string
  readonly token: string
  readonly ipAddress: string | null
  readonly userAgent: string | null
  readonly createdAt: string
  readonly updatedAt: string
}
type Organization = { readonly id: string; readonly name: string }
export type Member = {
  readonly id: string
  readonly userId: string
  readonly role: Role
  readonly createdAt: string
  readonly user: { readonly name: string; readonly email: string }
}
type Invitation = {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly status: string
  readonly expiresAt: string
}
type OpenInvitation = Invitation & {
  readonly organizationName: string
  readonly inviterEmail: string
}
type Passkey = { readonly id: string; readonly name?: string | null; readonly createdAt: string }

const SESSION_EVERY_MS = 60_000

export const readSession = (signal?: AbortSignal) =>
  requestPeople<Session | null>('GET', '/get-session', signal === undefined ? {} : { signal })
export const sessionQuery = queryOptions({
  queryKey: ['people', 'session'] as const,
  queryFn: async ({ signal }) => {
    const session = await readSession(signal)
    return session === null && (await signedInAgain()) ? readSession(signal) : session
  },
  refetchInterval: SESSION_EVERY_MS,
  staleTime: SESSION_EVERY_MS,
})
/** Whether newcomers may sign up here, and what to say where not. */
export const signUpQuery = queryOptions({
  queryKey: ['people', 'sign-up'] as const,
  queryFn: ({ signal }) =>
    requestPeople<{ mode: 'open' | 'invite' | 'closed'; message: string | null }>('GET', '/sign-up', {
      signal,
    }),
  staleTime: SESSION_EVERY_MS,
})
export const signInsQuery = queryOptions({
  queryKey: ['people', 'sign-ins'] as const,
  queryFn: ({ signal }) => requestPeople<SignIn[]>('GET', '/list-sessions', { signal }),
})
export const organizationsQuery = queryOptions({
  queryKey: ['people', 'organizations'] as const,
  queryFn: ({ signal }) => requestPeople<Organization[]>('GET', '/organization/list', { signal }),
  staleTime: SESSION_EVERY_MS,
})
type OtherCell = { readonly number: number; readonly tag: string }
/** Further cells where the same person signs in. */
export const otherCellsQuery = queryOptions({
  queryKey: ['people', 'other-cells'] as const,
  queryFn: ({ signal }) => requestPeople<{ cells: readonly OtherCell[] }>('GET', '/other-cells', { signal }),
  staleTime: SESSION_EVERY_MS,
})
export const membersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['people', 'members', organizationId] as const,
    queryFn: async ({ signal }) => {
      const query = { organizationId, limit: '100' }
      const { members } = await requestPeople<{ members: Member[] }>('GET', '/organization/list-members', {
        query,
        signal,
      })
      return members
    },
    staleTime: SESSION_EVERY_MS,
  })
export const invitationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['people', 'invitations', organizationId] as const,
    queryFn: ({ signal }) =>
      requestPeople<Invitation[]>('GET', '/organization/list-invitations', {
        query: { organizationId },
        signal,
      }),
  })
export const passkeysQuery = queryOptions({
  queryKey: ['people', 'passkeys'] as const,
  queryFn: ({ signal }) => requestPeople<Passkey[]>('GET', '/passkey/list-user-passkeys', { signal }),
})

const post = <Result = unknown>(path: string, body: object = {}) =>
  requestPeople<Result>('POST', path, { body })

/** What names an address goes to the cell where that signs in, or stays in this one. */
const postToItsCell = <Result = unknown>(path: string, body: object, stays = isHere()) =>
  inItsCell(() => post<Result>(path, stays ? { ...body, here: true } : body))

export const people = {
  /** `stays`: somebody who was invited to a shop of this cell. */
  signUp: (body: { name: string; email: string; password: string }, stays: boolean) =>
    postToItsCell('/sign-up/email', body, stays || isHere()),
  openShop: (name: string) => post<{ merchant_id: string }>('/open-shop', { name }),
  /** `stays`: somebody whose sign-in of this cell has ended. */
  signIn: (body: { email: string; password: string }, stays: boolean) =>
    postToItsCell<{ twoFactorRedirect?: boolean }>('/sign-in/email', body, stays || isHere()),
  signOut: () => post('/sign-out'),
  sendVerification: (email: string) => post('/send-verification-email', { email }),
  verifyEmail: (token: string) => requestPeople('GET', '/verify-email', { query: { token } }),
  requestReset: (email: string) => postToItsCell('/request-password-reset', { email }),
  resetPassword: (body: { token: string; newPassword: string }) => post('/reset-password', body),
  changePassword: (body: { currentPassword: string; newPassword: string }) =>
    post('/change-password', { ...body, revokeOtherSessions: true }),
  updateName: (name: string) => post('/update-user', { name }),
  revokeSignIn: (token: string) => post('/revoke-session', { token }),
  revokeOtherSignIns: () => post('/revoke-other-sessions'),
  enableTotp: (password: string) =>
    post<{ totpURI: string; backupCodes: string[] }>('/two-factor/enable', { password }),
  disableTotp: (password: string) => post('/two-factor/disable', { password }),
  verifyTotp: (code: string) => post('/two-factor/verify-totp', { code }),
  verifyBackupCode: (code: string) => post('/two-factor/verify-backup-code', { code }),
  newBackupCodes: (password: string) =>
    post<{ backupCodes: string[] }>('/two-factor/generate-backup-codes', { password }),
  removePasskey: (id: string) => post('/passkey/delete-passkey', { id }),
  chooseOrganization: (organizationId: string) => post('/organization/set-active', { organizationId }),
  invite: (body: { email: string; role: Role; organizationId: string }) =>
    post('/organization/invite-member', body),
  cancelInvitation: (invitationId: string) => post('/organization/cancel-invitation', { invitationId }),
  invitation: (id: string) =>
    requestPeople<OpenInvitation>('GET', '/organization/get-invitation', { query: { id } }),
  acceptInvitation: (invitationId: string) => post('/organization/accept-invitation', { invitationId }),
  setRole: (body: { memberId: string; role: Role; organizationId: string }) =>
    post('/organization/update-member-role', body),
  removeMember: (body: { memberIdOrEmail: string; organizationId: string }) =>
    post('/organization/remove-member', body),
  leave: (organizationId: string) => post('/organization/leave', { organizationId }),
}
