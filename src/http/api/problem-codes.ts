import type { ErrorCode } from '../../wire/errors.ts'
import type { Route } from './route.ts'

/** Codes that need no route: the path or the method is wrong. */
export const CODES_OUTSIDE_ROUTES: readonly ErrorCode[] = ['path_not_found', 'method_not_allowed']

/** Every code that a route can answer with, in the order in which mistakes are told. */
export function problemCodesOf(route: Route): readonly ErrorCode[] {
  const when = (condition: boolean, ...codes: ErrorCode[]): ErrorCode[] => (condition ? codes : [])
  const hasId = route.path.includes('/:id')
  return [
    'api_key_missing',
    'api_key_invalid',
    'rate_limited',
    ...when(route.method !== 'get', 'cross_origin_refused'),
    ...when(route.scope !== null, 'scope_missing'),
    'role_insufficient',
    ...when(route.live === 'session' || route.dashboardOnly === true, 'dashboard_session_required'),
    ...when(route.live === 'session', 'second_factor_required'),
    ...when(route.live === 'test_only', 'test_mode_only'),
    ...when(route.method !== 'get', 'unsupported_media_type', 'body_too_large'),
    ...when(hasId, 'not_found'),
    ...when(route.method !== 'get', 'body_invalid'),
    ...when(route.body !== undefined, 'parameter_missing'),
    'parameter_invalid',
    'parameter_unknown',
    'parameter_duplicate',
    ...when(route.create !== undefined, 'idempotency_key_invalid'),
    ...route.problems,
    ...when(route.create !== undefined, 'idempotency_key_in_use', 'idempotency_key_reused'),
    'internal_error',
    'service_unavailable',
  ]
}
