import { randomBytes } from 'node:crypto'
import type { Pool, Queryable } from '../postgres/pool.ts'
import { connectionStringFor } from '../postgres/roles.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import { StartRefused } from '../runtime/start-refused.ts'

const PASSWORD_BYTES = 24
/** Of PostgreSQL's names: NAMEDATALEN - 1. */
const NAME_BYTES_MAX = 63

export type RegisteredCell = {
  readonly number: number
  /** Whether it takes new accounts. */
  readonly state: 'open' | 'draining'
  /** How many merchants it takes. */
  readonly room: number
  /** How many it had when it last reported. */
  readonly merchants: number
  /** Null until its first report. */
  readonly reportedAt: Date | null
  /** How long ago that was, by the directory's clock alone: those of cells differ. */
  readonly reportAgeMs: number | null
}

/** All cells by number: a few rows. */
export async function listCells(db: Queryable): Promise<RegisteredCell[]> {
  const { rows } = await db.query<RegisteredCell>(
    // Numbers: a cell may have written a time that is infinite.
    `select number, state, room, merchants, reported_at as "reportedAt",
       ((extract(epoch from now()) - extract(epoch from reported_at)) * 1000)::float8 as "reportAgeMs"
     from cell order by number`,
  )
  return rows
}

/**
 * Registers a cell, or one that is there anew, as open with this room. Gives the connection string of its own login where
 * the server has none of that name yet, the only time that anybody sees the password; null where it has. Throws
 * `StartRefused` where that name would be too long.
 */
export async function addCell(
  pool: Pool,
  { url, number, room }: { url: string; number: number; room: number },
): Promise<string | null> {
  return withSystemTransaction(pool, async (tx) => {
    await tx.query(
      `insert into cell (number, state, room) values ($1, 'open', $2)
       on conflict (number) do update set state = 'open', room = excluded.room`,
      [number, room],
    )
    const login = await loginOf(tx, number)
    const { rowCount } = await tx.query('select from pg_roles where rolname = $1', [login])
    if (rowCount !== 0) return null
    const password = randomBytes(PASSWORD_BYTES).toString('base64url')
    // Utility statements take no parameters: quoted by PostgreSQL itself.
    const { rows } = await tx.query<{ statement: string }>(
      `select format('create role %I login password %L in role paylink_directory', $1::text, $2::text) as statement`,
      [login, password],
    )
    await tx.query(rows[0]?.statement ?? '')
    return connectionStringFor(url, login, password)
  })
}

/** A cell's login is of one directory: a server may have several. */
async function loginOf(db: Queryable, number: number): Promise<string> {
  const { rows } = await db.query<{ login: string }>(
    `select current_database() || '_cell_' || $1::integer as login`,
    [number],
  )
  const login = rows[0]?.login ?? ''
  // PostgreSQL cuts what is longer: the login of cell 12 would be that of cell 1.
  if (Buffer.byteLength(login) > NAME_BYTES_MAX)
    throw new StartRefused(
      `the name of the directory’s database is too long for logins such as ${login}: rename it, to ${NAME_BYTES_MAX - '_cell_1023'.length} bytes at most`,
    )
  return login
}

/** From now on it takes no new accounts; false where there is no such cell. */
export async function drainCell(db: Queryable, number: number): Promise<boolean> {
  const { rowCount } = await db.query(`update cell set state = 'draining' where number = $1`, [number])
  return rowCount === 1
}
