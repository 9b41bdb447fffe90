import { StartRefused } from '../runtime/start-refused.ts'
import { SignerRefused } from '../signer/refused.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { startSigner } from './start-signer.ts'

/** The one process that may open the seed. It listens on nothing and talks to the database alone. */
export async function startSignerRole(
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
