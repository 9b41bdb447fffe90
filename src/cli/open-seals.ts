import type { Config } from '../config/config.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { openAccessSeals } from '../secrets/access-seals.ts'
import { inspectKey, openInstallationKeyring } from '../secrets/open-keyring.ts'

/** What a command seals people, members and keys with: the installation's own key. */
export async function openCommandSeals(config: Config, pool: Pool): Promise<AccessSeals> {
  const keyring = await openInstallationKeyring(config, pool, systemClock)
  return openAccessSeals(keyring, createLogger('error', 'stderr'))
}

/** The same for an audit, which makes no key: null where the key is not here, and the check is left out. */
export const openSealsForAudit = async (config: Config, pool: Pool): Promise<AccessSeals | null> =>
  (await inspectKey(config, pool)) === 'right' ? openCommandSeals(config, pool) : null
