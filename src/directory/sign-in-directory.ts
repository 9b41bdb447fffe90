import { CELL_MAX } from '../core/cells.ts'
import { placeAccount } from '../core/people/place-account.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { cellOfUnknown, emailLookup, passkeyLookup } from './lookup.ts'
import { listCells, type RegisteredCell } from './registry.ts'

/** How long a sign-in waits for the directory, connecting included. */
const ANSWER_MS_MAX = 300
/** After so long a connection that gives no answer is given up; nobody waits for it. */
export const CONNECTION_MS_MAX = 2_000
/** While it does not answer no sign-in asks it; the process itself does, so often. */
const LOOK_MS = 2_000
/** While it does, so often, if nobody signs in: a connection that is open answers sooner than a new one. */
const KEEP_OPEN_MS = 20_000
/** How old the list of cells may be. */
const KEEP_MS = 2_000

/** In which cell somebody signs in. Every answer is null or empty while the directory does not answer or lacks this cell's rows. */
export type SignInDirectory = {
  /** The cell where this address signs in: for one that nobody has, always the same one of all cells. */
  cellOfEmail(email: string): Promise<number | null>
  /** `none`: no cell has this passkey. */
  cellOfPasskey(credentialId: string): Promise<number | 'none' | null>
  /** Where a new account belongs; `full` where no cell takes one. `stays`: here, if this cell takes any. */
  cellForNewAccount(stays?: boolean): Promise<number | 'full' | null>
  /** Further cells where this address signs in and was confirmed. */
  otherCellsOf(email: string): Promise<readonly number[] | null>
  stop(): Promise<void>
}

type Deps = {
  readonly pool: Pool
  readonly key: Uint8Array
  readonly ownCell: number
  readonly log: Log
  /** For tests. */
  readonly answerMsMax?: number
}
/** Of one address, the cell that counts first. */
type Known = readonly { readonly cell: number; readonly isVerified: boolean }[]

export function openSignInDirectory(deps: Deps): SignInDirectory {
  const { pool, key, ownCell, log, answerMsMax = ANSWER_MS_MAX } = deps
  const { ask, stop } = keepAsking(() => listCells(pool), log, answerMsMax)
  let kept: readonly RegisteredCell[] = []
  let keptUntilMs = 0
  const cells = async () => {
    if (performance.now() >= keptUntilMs) {
      kept = (await listCells(pool)).filter(({ number }) => isCell(number))
      keptUntilMs = performance.now() + KEEP_MS
    }
    // Until this cell's own people are there, it would lead them away as people of no cell: it leads nobody.
    const isFilled = kept.some(({ number, reportedAt }) => number === ownCell && reportedAt !== null)
    return isFilled ? kept : []
  }
  const knownOf = async (lookup: string, find: typeof findPersonCells) => {
    // Never remembered: two cells that remember different things would send somebody new to and fro.
    const rows = await find(pool, lookup)
    const numbers = (await cells()).map(({ number }) => number)
    // Of a cell that is not registered nothing is believed.
    return { numbers, found: rows.filter(({ cell }) => numbers.includes(cell)) }
  }
  return {
    stop,
    cellOfEmail: (email) =>
      ask(async () => {
        const lookup = emailLookup(key, email)
        const { numbers, found } = await knownOf(lookup, findPersonCells)
        const unknown = cellOfUnknown(key, lookup, numbers)
        return found[0]?.cell ?? unknown
      }),
    cellOfPasskey: (credentialId) =>
      ask(async () => {
        const { numbers, found } = await knownOf(passkeyLookup(key, credentialId), findPasskeyCells)
        return numbers.length === 0 ? null : (found[0]?.cell ?? 'none')
      }),
    cellForNewAccount: (stays = false) =>
      ask(async () => {
        const all = await cells()
        return all.length === 0 ? null : (placeAccount(all, ownCell, stays) ?? 'full')
      }),
    otherCellsOf: (email) =>
      ask(async () => {
        const { found } = await knownOf(emailLookup(key, email), findPersonCells)
        return found.filter(({ cell, isVerified }) => isVerified && cell !== ownCell).map(({ cell }) => cell)
      }),
  }
}

const isCell = (number: unknown): boolean =>
  Number.isInteger(number) && Number(number) >= 0 && Number(number) <= CELL_MAX

/** Asks in time, or not at all while the last look had no answer. */
function keepAsking(look: () => Promise<unknown>, log: Log, answerMsMax: number) {
  let isAway = false
  let answeredAtMs = Number.NEGATIVE_INFINITY
  const answered = (): void => {
    if (isAway) log.info('the directory of cells answers again')
    isAway = false
    answeredAtMs = performance.now()
  }
  const failed = (error: unknown): void => {
    if (!isAway)
      log.warn({ err: error }, 'the directory of cells does not answer: people sign in where they came')
    isAway = true
  }
  const looking = repeat(
    async () => {
      if (!isAway && performance.now() - answeredAtMs < KEEP_OPEN_MS) return
      await look()
      answered()
    },
    { everyMs: LOOK_MS, onError: failed },
  )
  const ask = async <Result>(work: () => Promise<Result>): Promise<Result | null> => {
    if (isAway) return null
    try {
      const result = await inTime(work(), answerMsMax)
      answered()
      return result
    } catch (error) {
      failed(error)
      return null
    }
  }
  return { ask, stop: () => looking.stop() }
}

async function inTime<Result>(answer: Promise<Result>, ms: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    // In a process that was busy for so long, the answer may have come meanwhile: it is read first.
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${ms} ms`))), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Where an address signs in: where it was confirmed, and first, goes before. Served by the primary key. */
async function findPersonCells(pool: Pool, lookup: string): Promise<Known> {
  const { rows } = await pool.query<Known[number]>(
    `select cell, is_verified as "isVerified" from person_cell where lookup = decode($1, 'hex')
     order by is_verified desc, since, cell`,
    [lookup],
  )
  return rows
}

/** Which cells have a passkey. Served by the primary key. */
async function findPasskeyCells(pool: Pool, lookup: string): Promise<Known> {
  const { rows } = await pool.query<Known[number]>(
    `select cell, true as "isVerified" from passkey_cell where lookup = decode($1, 'hex') order by cell`,
    [lookup],
  )
  return rows
}
