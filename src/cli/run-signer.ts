import type { RoleContext, RunningRole } from '../roles/role.ts'
import { startSigner } from '../roles/start-signer.ts'
import { systemClock } from '../runtime/clock.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { SignerRefused } from '../signer/refused.ts'
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

/** The one process that may open the seed. It listens on nothing and talks to the database alone. */
async function startSignerRole(
  context: Pick<RoleContext, 'activity' | 'config' | 'clock' | 'log' | 'poolOf' | 'onFatal'>,
): Promise<RunningRole> {
  const { activity, config, clock, log, poolOf, onFatal } = context
  try {
    const { dataDir, staging, signerKeyFile: keyFile, addressKeysFile, approvalKeyFile, baseUrl } = config
    const signer = await startSigner({
      pool: poolOf('signer'),
      dataDir,
      staging,
      keyFile,
      addressKeysFile,
      approvalKeyFile,
      baseUrl,
      clock,
      log,
      pause: activity.pause,
    })
    signer.ended.catch(onFatal)
    return { stop: () => signer.stop() }
  } catch (error) {
    if (error instanceof SignerRefused) throw new StartRefused(error.message, { cause: error })
    throw error
  }
}
