import { loadProcessConfig } from '../config/config.ts'
import { CELL_MAX, cellTag } from '../core/cells.ts'
import { withDirectory } from '../directory/open-directory.ts'
import { addCell, drainCell, listCells, type RegisteredCell } from '../directory/registry.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Output } from './command-context.ts'
import { UsageError } from './usage-error.ts'

const ROOM_MAX = 100_000_000

/** `paylink cells list`: the cells of the directory, what room each has, and how old its last report is. */
export async function listCellsCommand(options: { readonly json: boolean }, output: Output): Promise<number> {
  const cells = await onDirectory((pool) => listCells(pool))
  if (options.json) {
    output.line(JSON.stringify({ cells: cells.map(toJson) }))
    return 0
  }
  for (const { number, state, room, merchants, reportAgeMs } of cells) {
    const age =
      reportAgeMs === null
        ? 'never reported'
        : `reported ${Math.max(0, Math.round(reportAgeMs / 1_000))} s ago`
    output.line(`${cellTag(number)}  cell ${number}  ${state}  ${merchants}/${room} merchants  ${age}`)
  }
  if (cells.length === 0) output.line('No cells. Add one with paylink cells add 0 --room 33000.')
  return 0
}

const toJson = ({ number, state, room, merchants, reportedAt }: RegisteredCell) => ({
  number,
  tag: cellTag(number),
  state,
  room,
  merchants,
  reported_at: reportedAt?.toISOString() ?? null,
})

/** `paylink cells add`: registers a cell, or opens it again, and prints its own login once. */
export async function addCellCommand(
  cell: string,
  options: { readonly room: string; readonly json: boolean },
  output: Output,
): Promise<number> {
  const number = parseCell(cell)
  if (!/^(0|[1-9][0-9]{0,8})$/.test(options.room) || Number(options.room) > ROOM_MAX)
    throw new UsageError(`--room must be how many merchants the cell takes, from 0 to ${ROOM_MAX}`)
  const room = Number(options.room)
  const url = await onDirectory((pool, directoryUrl) => addCell(pool, { url: directoryUrl, number, room }))
  if (options.json) {
    output.line(JSON.stringify({ number, tag: cellTag(number), state: 'open', room, database_url: url }))
    return 0
  }
  if (url !== null) output.line(url)
  output.problem(
    url === null
      ? `cell ${number} is open, with room for ${room} merchants; its login stays as it was`
      : `cell ${number} is open, with room for ${room} merchants; set this as its DIRECTORY_DATABASE_URL: it is shown only now`,
  )
  return 0
}

/** `paylink cells drain`: no new accounts there; who is there stays, and signs in as before. */
export async function drainCellCommand(
  cell: string,
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const number = parseCell(cell)
  if (!(await onDirectory((pool) => drainCell(pool, number))))
    throw new UsageError(`No such cell: ${number}. List cells with paylink cells list.`)
  if (options.json) output.line(JSON.stringify({ number, tag: cellTag(number), state: 'draining' }))
  else
    output.line(`cell ${number} takes no new accounts; paylink cells add ${number} --room … opens it again`)
  return 0
}

/** `paylink cells map`: the lines of a cell in HAProxy's map, by its tag and by the same inside a token. */
export function mapCellCommand(cell: string, output: Output): number {
  const number = parseCell(cell)
  if (number === 0)
    throw new UsageError('Cell 0 needs no line: everything that the map does not lead elsewhere goes there.')
  const tag = cellTag(number)
  output.line(`${tag} cell_${tag}`)
  output.line(`${(0x8000 + 2 * number).toString(16).toUpperCase()} cell_${tag}`)
  return 0
}

function parseCell(text: string): number {
  if (!/^(0|[1-9][0-9]{0,3})$/.test(text) || Number(text) > CELL_MAX)
    throw new UsageError(`${text} is no cell: give its number, from 0 to ${CELL_MAX}`)
  return Number(text)
}

function onDirectory<Result>(work: (pool: Pool, url: string) => Promise<Result>): Promise<Result> {
  const { directory } = loadProcessConfig()
  if (directory === null)
    throw new UsageError(
      'There is no directory of cells: set DIRECTORY_DATABASE_URL and DIRECTORY_KEY (docs/cells.md).',
    )
  return withDirectory(directory.url, (pool) => work(pool, directory.url))
}
