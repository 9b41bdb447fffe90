import { timingSafeEqual } from 'node:crypto'
import { holdsSealedRows, insertKeyCheck, loadKeyCheck } from '../db/installation-secret.ts'
import type { Queryable } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { type Keyring, keyCheckOf, type Opener, openDeliveryKey, openKeyring } from './keyring.ts'
import { loadSecretKey, readSecretKey, secretKeyPath } from './secret-key.ts'

type KeyState =
  /** The key is the one of the first start. */
  | 'right'
  /** Nothing was sealed yet. */
  | 'unused'
  /** Another key than the one of the first start. */
  | 'wrong'
  /** There is none, and the database holds what only it can open. */
  | 'lost'

/** The settings that say which keys there are. */
type KeyConfig = { readonly dataDir: string; readonly secretKey: Uint8Array | null }

/** How the installation's key stands to what `db` holds. Makes none. */
export async function inspectKey(config: KeyConfig, db: Queryable): Promise<KeyState> {
  const known = await loadKeyCheck(db)
  const key = await readSecretKey(config.dataDir, config.secretKey)
  if (key === null) return known !== null || (await holdsSealedRows(db)) ? 'lost' : 'unused'
  if (known === null) return 'unused'
  return isSame(known, keyCheckOf(openKeyring(key))) ? 'right' : 'wrong'
}

const isSame = (known: Buffer, check: Buffer): boolean =>
  known.length === check.length && timingSafeEqual(known, check)

/** What to do about a key that is not right, as one line. */
export function keyHint(config: KeyConfig, state: 'wrong' | 'lost'): string {
  const path = secretKeyPath(config.dataDir)
  if (state === 'lost')
    return `${path} is missing, and the database holds secrets that only it opens: put the file back from your backup, or set SECRET_KEY, or for delivery alone DELIVERY_KEY`
  return config.secretKey === null
    ? `${path} is not the key of this database: put the file back from your backup, or set SECRET_KEY`
    : 'SECRET_KEY is not the key of this database: set it to the one that it was first started with'
}

/**
 * The installation's secrets, with the key of the first start: a check of it stands in the database. Throws
 * `StartRefused` where it is another one, or lost: with a new key no checkout link and no signing secret would work.
 */
export async function openInstallationKeyring(
  config: KeyConfig,
  db: Queryable,
  clock: Clock,
): Promise<Keyring> {
  const keyring = await openWithoutWriting(config, db)
  if ((await loadKeyCheck(db)) !== null) return keyring
  await insertKeyCheck(db, keyCheckOf(keyring), clock())
  // Another process may have been first, with a key of its own.
  if ((await inspectKey(config, db)) !== 'right') throw new StartRefused(keyHint(config, 'wrong'))
  return keyring
}

/**
 * What delivery workers open signing secrets with: `DELIVERY_KEY` where it is given, else the installation's whole
 * keyring. Throws `StartRefused` where the key is another installation's.
 */
export async function openForDelivery(
  config: KeyConfig & { readonly deliveryKey: Uint8Array | null },
  db: Queryable,
): Promise<Opener> {
  if (config.deliveryKey === null) return openWithoutWriting(config, db)
  const { open, check } = openDeliveryKey(config.deliveryKey)
  const known = await loadKeyCheck(db)
  if (known !== null && !isSame(known, check)) {
    throw new StartRefused(
      'DELIVERY_KEY is not of this database: set it to what paylink delivery-key prints where SECRET_KEY is known',
    )
  }
  return { open }
}

/** Which key it is, the API writes down: nothing was sealed before it did. */
async function openWithoutWriting(config: KeyConfig, db: Queryable): Promise<Keyring> {
  const state = await inspectKey(config, db)
  if (state === 'wrong' || state === 'lost') throw new StartRefused(keyHint(config, state))
  return openKeyring(await loadSecretKey(config.dataDir, config.secretKey))
}
