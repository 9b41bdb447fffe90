import { cellTag } from '../core/cells.ts'

let cell = 0
let isOneOfSeveral = false

/** The cell that this process is of, as its configuration says: everything that it makes for callers carries it. */
export const ownCell = (): number => cell

/** Called once, when the configuration is read; `isGiven` where `CELL` is set, to 0 as well, or there is a directory. */
export function setOwnCell(number: number, isGiven: boolean): void {
  cell = number
  isOneOfSeveral = isGiven
}

/** Its tag and what ends it, at the front of a key or slug; nothing in the first cell, whose keys and slugs carry none. */
export const ownTag = (end: string): string => (cell === 0 ? '' : `${cellTag(cell)}${end}`)

/** Where the dashboard is for somebody who follows a link, and whose browser may not know yet which cell is theirs. */
export const dashboardUrl = (baseUrl: string): string =>
  isOneOfSeveral ? `${baseUrl}/cells/${cellTag(cell)}/dashboard` : `${baseUrl}/dashboard`
