import { appendAuditEntry } from '../../flows/append-audit-entry.ts'
import type { Answer } from './answer.ts'
import type { Credential } from './credentials.ts'
import { ApiProblem } from './problem.ts'
import type { Route, RouteDeps } from './route.ts'

/**
 * Runs what a person does at the dashboard between two entries of the merchant's audit log: that it was begun,
 * and how it ended. An act whose second entry is missing was cut off, and may have happened.
 */
export async function withAuditTrail(
  deps: RouteDeps,
  route: Route,
  credential: Credential,
  about: { resourceId: string | null; requestId: string },
  act: () => Promise<Answer>,
): Promise<Answer> {
  if (credential.person === null || route.method === 'get') return act()
  const entry = { actor: credential.callerId, action: route.operationId, ...about }
  const append = (phase: 'begun' | 'done' | 'refused', code: string | null) =>
    appendAuditEntry(deps, credential.tenant, { ...entry, phase, code })
  await append('begun', null)
  try {
    const answer = await act()
    await append('done', null)
    return answer
  } catch (error) {
    if (error instanceof ApiProblem) await append('refused', error.code)
    throw error
  }
}
