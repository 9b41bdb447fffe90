import { useSuspenseQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { membersQuery, type Person, type Role, sessionQuery } from '../api/people.ts'
import type { Mode } from '../api/request.ts'

/** The mode of the page, from its address: test unless it says live. */
export function useMode(): Mode {
  const search = useSearch({ strict: false }) as { mode?: unknown }
  return search.mode === 'live' ? 'live' : 'test'
}

export type Account = {
  readonly person: Person
  readonly sessionId: string
  readonly merchantId: string
  readonly role: Role
  /** Whether they may change keys, rules and people. */
  readonly isManager: boolean
  /** Whether they may change anything at all. */
  readonly mayWrite: boolean
}

/** Who is signed in, for which shop, as what. Only below the signed-in part of the pages. */
export function useAccount(): Account {
  const { data: session } = useSuspenseQuery(sessionQuery)
  const merchantId = session?.session.activeOrganizationId ?? ''
  const { data: members } = useSuspenseQuery(membersQuery(merchantId))
  if (session === null) throw new Error('nobody is signed in')
  const role = members.find((member) => member.userId === session.user.id)?.role ?? 'viewer'
  const isManager = role === 'owner' || role === 'admin'
  return {
    person: session.user,
    sessionId: session.session.id,
    merchantId,
    role,
    isManager,
    mayWrite: role !== 'viewer',
  }
}
