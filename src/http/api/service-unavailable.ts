import { isDatabaseAway } from '../../postgres/database-away.ts'
import { ApiProblem } from './problem.ts'

const RETRY_AFTER_SECONDS = '1'

/** The 503 for an error that passes; null for a fault of ours. */
export function asServiceUnavailable(error: Error): ApiProblem | null {
  if (!isDatabaseAway(error)) return null
  return new ApiProblem('service_unavailable', {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    cause: error,
  })
}
