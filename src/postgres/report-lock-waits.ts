import pg from 'pg'
import { describeError, withoutSecrets } from '../runtime/log.ts'

/** Looked at this often; a wait of so long is told. Shorter than a migration stands in the queue for a table. */
const LOOK_EVERY_MS = 500
/** The same wait is told again after this long. */
const AGAIN_MS = 60_000
/** No look takes longer. */
const LOOK_MAX_MS = 5_000

type Wait = {
  /** The table that is held; null where it is no table. */
  readonly table: string | null
  readonly is_turn: boolean
  readonly pid: number
  readonly name: string
}

/**
 * While a connection works, says by a second one what the first waits for: a table, or its turn, with the process of
 * PostgreSQL that holds it. `pid`: the first one's process. What comes back ends it. It only tells: where it cannot look,
 * it says so and the work goes on.
 */
export function tellWaiting(
  ownerUrl: string,
  pid: number,
  tell: (line: string) => void,
): () => Promise<void> {
  const toldAtMs = new Map<string, number>()
  let client: pg.Client | null = null
  let looking: Promise<void> = Promise.resolve()
  let isBusy = false
  const look = async (): Promise<void> => {
    client ??= await connect(ownerUrl)
    for (const wait of await listWaits(client, pid)) {
      const line = describeWait(wait)
      const nowMs = performance.now()
      if (nowMs - (toldAtMs.get(line) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) continue
      toldAtMs.set(line, nowMs)
      tell(line)
    }
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    looking = look()
      .catch((error) => {
        clearInterval(timer)
        tell(`what it may wait for cannot be told: ${withoutSecrets(describeError(error))}`)
      })
      .finally(() => {
        isBusy = false
      })
  }, LOOK_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await looking
    await client?.end()
  }
}

async function connect(ownerUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: ownerUrl,
    application_name: 'paylink-migrate',
    connectionTimeoutMillis: LOOK_MAX_MS,
    query_timeout: LOOK_MAX_MS,
  })
  // The next look says so.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Who holds what a process has been waiting for. A handful of rows out of shared memory. */
async function listWaits(client: pg.Client, pid: number): Promise<readonly Wait[]> {
  const { rows } = await client.query<Wait>(
    `select w.relation::regclass::text as table, w.locktype = 'advisory' as is_turn, a.pid, a.application_name as name
     from pg_locks w cross join unnest(pg_blocking_pids(w.pid)) as holder join pg_stat_activity a on a.pid = holder
     where w.pid = $1 and not w.granted and w.waitstart < now() - $2 * interval '1 millisecond'`,
    [pid, LOOK_EVERY_MS],
  )
  return rows
}

function describeWait({ table, is_turn, pid, name }: Wait): string {
  const holder = `process ${pid} of PostgreSQL (${name === '' ? 'which gave no name' : name})`
  if (is_turn) return `waiting for another migration to end: ${holder}`
  const what = table === null ? 'a transaction' : `the table ${table}, which is used`
  return `waiting for ${what} by ${holder}: it goes on when that is done; to end it instead: select pg_terminate_backend(${pid})`
}
