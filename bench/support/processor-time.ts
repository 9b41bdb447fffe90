import { readdirSync, readFileSync } from 'node:fs'
import type { Queryable } from '../../src/postgres/pool.ts'

/** Linux counts processor time in hundredths of a second. */
const TICK_MICROSECONDS = 10_000

type ProcessTimes = { readonly parent: number; readonly own: number; readonly ofEnded: number }

/** Processor time that a process has used, in microseconds; 0 where it is gone or the system has no /proc. */
export function processorTimeOf(pid: number): number {
  return (timesOf(pid)?.own ?? 0) * TICK_MICROSECONDS
}

/** The same of a PostgreSQL server, with all its connections, those that ended included. */
export async function processorTimeOfServer(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  const server = timesOf(rows[0]?.pid ?? 0)?.parent
  if (server === undefined) return 0
  const postmaster = timesOf(server)
  let ticks = (postmaster?.own ?? 0) + (postmaster?.ofEnded ?? 0)
  for (const name of readdirSync('/proc')) {
    const times = /^\d+$/.test(name) ? timesOf(Number(name)) : undefined
    if (times?.parent === server) ticks += times.own
  }
  return ticks * TICK_MICROSECONDS
}

/** Fields of proc_pid_stat(5), counted after the command's closing parenthesis. */
function timesOf(pid: number): ProcessTimes | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // Processes end while they are counted, and other systems have no /proc.
    return undefined
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (index: number): number => Number(fields[index])
  return { parent: field(1), own: field(11) + field(12), ofEnded: field(13) + field(14) }
}
