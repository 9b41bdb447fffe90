import { isFreshSecondFactor } from '../../core/people/second-factor.ts'
import type { Credential } from './credentials.ts'
import { ApiProblem } from './problem.ts'
import type { Route } from './route.ts'

/**
 * The one place that decides what a credential may do on a route, before anything is read: scope or role first, then
 * the mode, then, for what moves money, keys or rules, the role of owner or admin with a second factor proved at most
 * five minutes ago (spec §5.5, §5.6). Throws the 403 that says which is missing.
 */
export function checkRights(route: Route, credential: Credential, nowMs: number): void {
  const { person, scopes, tenant } = credential
  if (route.scope !== null && !scopes.has(route.scope)) {
    if (person !== null) throw new ApiProblem('role_insufficient')
    throw new ApiProblem('scope_missing', { message: `The API key lacks the scope ${route.scope}.` })
  }
  if (route.dashboardOnly === true && person === null) throw new ApiProblem('dashboard_session_required')
  if (route.managers === true && person !== null && !isManager(person.role)) {
    throw new ApiProblem('role_insufficient')
  }
  if (!tenant.livemode) return
  if (route.live === 'test_only') throw new ApiProblem('test_mode_only')
  if (route.live !== 'session') return
  if (person === null) throw new ApiProblem('dashboard_session_required')
  if (!isManager(person.role)) throw new ApiProblem('role_insufficient')
  if (route.provesFactor === true) return
  if (!isFreshSecondFactor(person.secondFactorAtMs, nowMs)) throw new ApiProblem('second_factor_required')
}

const isManager = (role: string): boolean => role === 'owner' || role === 'admin'
