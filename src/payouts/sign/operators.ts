import { listOperatorSecrets } from '../../db/people/operators.ts'
import type { ApproverCredential } from '../store/approvers.ts'
import { APPROVER, listedKey, noteGone, OPERATOR } from './approvers.ts'
import type { SigningContext } from './signing-context.ts'

/** Operators with an authenticator app that are looked at; there is a handful. */
const OPERATORS_MAX = 100

type Deps = Pick<SigningContext, 'pool' | 'clock' | 'seen' | 'log'>

/**
 * The authenticator apps by which operators approve live payouts of fees, noted in the signer's own list: a new one counts
 * a day later. None is older than this list, so none counts at once.
 */
export async function noteOperators({ pool, clock, seen, log }: Deps): Promise<ApproverCredential[]> {
  const began = clock()
  const secrets = await listOperatorSecrets(pool, OPERATORS_MAX)
  const credentials = secrets.map(
    ({ id, sealed }) =>
      ({
        merchantId: OPERATOR,
        memberId: id,
        personId: id,
        id,
        timesGone: 0,
        kind: 'totp',
        sealed,
      }) as const,
  )
  const now = clock()
  const found = new Set(credentials.map((one) => listedKey(seen, one)))
  await noteGone(seen, { found, began, now }, (owner) => owner === OPERATOR)
  const unknown = credentials.filter((one) => {
    const since = seen.since(APPROVER, listedKey(seen, one))
    // Seen in the future: the clock was ahead then.
    return since === null || since > now
  })
  await seen.note(
    APPROVER,
    unknown.map((one) => ({ key: listedKey(seen, one), seenAt: now })),
  )
  for (const { id } of unknown)
    log.warn({ operator: id }, 'an operator’s authenticator app is new; it approves payouts of fees in a day')
  return credentials
}

/** What an operator approves by now. */
export const credentialsOfOperator = async (deps: Deps, operatorId: string): Promise<ApproverCredential[]> =>
  (await noteOperators(deps)).filter(({ personId }) => personId === operatorId)
