import type { Keyspace } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { countUnassigned } from './address-batches.ts'

export type AccountKeyRow = {
  readonly keyspace: Keyspace
  /** BIP32 extended public key of the account; null where derivation is hardened only. */
  readonly xpub: string | null
  readonly path: string
  /** By which the signer signs batches of this keyspace's addresses; null where it has not begun to. */
  readonly batchKey: Uint8Array | null
  /** The first index from which no address was derived. */
  readonly nextIndex: number
}

const COLUMNS = 'keyspace, xpub, path, batch_key as "batchKey", next_index as "nextIndex"'

/** Publishes an account's extended public key. One that is there already stays, whatever it is. */
export async function insertAccountKey(db: Queryable, key: AccountKeyRow, now: Date): Promise<void> {
  await db.query(
    `insert into account_key (keyspace, xpub, path, next_index, created_at, batch_key)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (keyspace) do nothing`,
    [
      key.keyspace,
      key.xpub,
      key.path,
      key.nextIndex,
      now,
      key.batchKey == null ? null : Buffer.from(key.batchKey),
    ],
  )
}

/** Publishes the key by which an account's batches are signed, where there was none. By primary key. */
export async function setBatchKey(db: Queryable, keyspace: Keyspace, batchKey: Uint8Array): Promise<void> {
  await db.query('update account_key set batch_key = $2 where keyspace = $1 and batch_key is null', [
    keyspace,
    Buffer.from(batchKey),
  ])
}

/** Every published account; a handful of rows. */
export async function listAccountKeys(db: Queryable): Promise<AccountKeyRow[]> {
  const { rows } = await db.query<AccountKeyRow>(`select ${COLUMNS} from account_key order by keyspace`)
  return rows
}

/** One account, by its key; null before the signer has published it. */
export async function loadAccountKey(db: Queryable, keyspace: Keyspace): Promise<AccountKeyRow | null> {
  const { rows } = await db.query<AccountKeyRow>(`select ${COLUMNS} from account_key where keyspace = $1`, [
    keyspace,
  ])
  return rows[0] ?? null
}

/** Moves the next index up to `nextIndex`, never down. */
export async function raiseNextIndex(db: Queryable, keyspace: string, nextIndex: number): Promise<void> {
  await db.query('update account_key set next_index = $2 where keyspace = $1 and next_index < $2', [
    keyspace,
    nextIndex,
  ])
}

/**
 * How far each keyspace is used: the next index, and how many indexes below it are in no pool any more. Addresses are given
 * out in no order where several processes lease them, so the highest one says nothing of those below it.
 */
export async function readIndexMarks(
  db: Queryable,
): Promise<{ keyspace: Keyspace; nextIndex: number; given: number }[]> {
  const marks: { keyspace: Keyspace; nextIndex: number; given: number }[] = []
  for (const { keyspace, nextIndex } of await listAccountKeys(db))
    marks.push({ keyspace, nextIndex, given: nextIndex - (await countUnassigned(db, keyspace)) })
  return marks
}
