import type { Config } from '../config/config.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { hasCode } from '../runtime/data-dir.ts'
import { createLogger } from '../runtime/log.ts'
import { openAccessSeals } from '../secrets/access-seals.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { inspectKey, openInstallationKeyring } from '../secrets/open-keyring.ts'
import { UsageError } from './usage-error.ts'

/** The installation's key. A command makes one where there is none yet, but no folder for it: that is left to the start. */
export async function openCommandKeyring(config: Config, pool: Pool): Promise<Keyring> {
  try {
    return await openInstallationKeyring(config, pool, systemClock)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    throw new UsageError(
      `DATA_DIR ${config.dataDir} is not there: set it to the folder of the installation, or set SECRET_KEY`,
      { cause: error },
    )
  }
}

/** What a command seals people, members and keys with: the installation's own key. */
export async function openCommandSeals(config: Config, pool: Pool): Promise<AccessSeals> {
  const keyring = await openCommandKeyring(config, pool)
  return openAccessSeals(keyring, createLogger('error', 'stderr'))
}

/** The same for an audit, which makes no key: null where the key is not here, and the check is left out. */
export const openSealsForAudit = async (config: Config, pool: Pool): Promise<AccessSeals | null> =>
  (await inspectKey(config, pool)) === 'right' ? openCommandSeals(config, pool) : null
