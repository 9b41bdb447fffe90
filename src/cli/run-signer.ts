import { startSignerRole } from '../roles/signer.ts'
import { systemClock } from '../runtime/clock.ts'
import { followActivity } from './follow-activity.ts'
import { createRolePools } from './role-pools.ts'
import type { RunOptions } from './run-roles.ts'
import { StopList } from './stop-list.ts'

/**
 * The signer alone. It stands apart from the other roles' wiring so that its process never loads their code: no
 * HTTP, no client of any node, no port, whoever asks for one.
 */
export async function runSigner(options: RunOptions): Promise<StopList> {
  const { config, database, log, onFatal } = options
  const stops = new StopList(log)
  try {
    const { poolOf } = createRolePools(database.roleUrls, log, stops)
    const activity = followActivity({ ...options, urls: database.roleUrls }, stops)
    const signer = await startSignerRole({ activity, config, clock: systemClock, log, poolOf, onFatal })
    stops.add('the signer', () => signer.stop())
    return stops
  } catch (error) {
    await stops.stop()
    throw error
  }
}
