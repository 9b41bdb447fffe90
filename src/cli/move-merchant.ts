import { type Config, loadOtherConfig } from '../config/config.ts'
import { cellTag, readCell } from '../core/cells.ts'
import { decodeBase32, parseId } from '../core/ids.ts'
import { listMembersWithoutPassword, listMovedNames } from '../db/people/merchant-moves.ts'
import { abortMove, type Move, type MovingCell, moveMerchant } from '../flows/move-merchant.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { setOwnCell } from '../runtime/own-cell.ts'
import { openAccessSeals } from '../secrets/access-seals.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { renewPasswordUrl } from './merchant-commands.ts'
import { openCommandKeyring } from './open-seals.ts'
import { UsageError } from './usage-error.ts'

export type MoveArguments = { readonly toEnv: string; readonly abort: boolean; readonly json: boolean }

const STEPS = {
  stop: (from: string) => `cell ${from} takes no new sales of the merchant from now on`,
  copy: () => 'copying',
  verify: () => 'comparing both sides',
  switch: (from: string) => `cell ${from} gives the merchant up`,
  open: (_: string, to: string) => `cell ${to} takes new sales`,
}

/** `paylink merchant move`: the lines for the proxy's map on standard output, all else beside them. */
export async function moveMerchantCommand(
  merchantId: string,
  options: MoveArguments,
  output: Output,
): Promise<number> {
  if (parseId('merchant', merchantId) === null) throw new UsageError('<id> must be a merchant’s id')
  const other = loadOtherConfig(options.toEnv)
  return withOwnerPool((pool, own) => {
    refuseUnlike(own, other, options.toEnv)
    return withOwnerPool(
      async (otherPool) => {
        // What is made from here on is of the other cell.
        setOwnCell(other.cell, true)
        const move: Move = {
          merchantId,
          source: await openCell(own, pool),
          target: await openCell(other, otherPool),
          now: systemClock(),
          onStep: (step) => output.problem(STEPS[step](cellTag(own.cell), cellTag(other.cell))),
        }
        if (options.abort) {
          await abortMove(move)
          output.problem(`${merchantId} stays in cell ${cellTag(own.cell)}, which takes new sales again`)
          return 0
        }
        const { copied, optoutsLost } = await moveMerchant(move)
        const lines = await mapLines(otherPool, merchantId, other.cell)
        const people = await passwordUrls(otherPool, other, merchantId)
        if (options.json) {
          const cell = cellTag(other.cell)
          output.line(
            JSON.stringify({ id: merchantId, cell, copied, map: lines, people, optouts_lost: optoutsLost }),
          )
          return 0
        }
        for (const line of lines) output.line(line)
        for (const { email, set_password_url } of people)
          output.problem(`${email} chooses a password, once, within seven days: ${set_password_url}`)
        if (optoutsLost > 0)
          output.problem(`${optoutsLost} buyers who unsubscribed are in no invoice, and are not known there`)
        output.problem(`put these ${lines.length} lines at the top of the proxy’s map, and reload it`)
        return 0
      },
      { config: other },
    )
  })
}

function refuseUnlike(own: Config, other: Config, file: string): void {
  if (own.cell === other.cell) throw new UsageError(`--to-env: ${file} is of this cell: set CELL in it`)
  if (own.baseUrl !== other.baseUrl) throw new UsageError(`--to-env: ${file} must have the same BASE_URL`)
  if (own.staging !== other.staging)
    throw new UsageError(`--to-env: only one of the two cells is for staging`)
}

async function openCell(config: Config, pool: Pool): Promise<MovingCell> {
  const keyring = await openCommandKeyring(config, pool)
  return {
    keyring,
    seals: openAccessSeals(keyring, createLogger('error', 'stderr')),
    pool,
    cell: config.cell,
  }
}

/** What names no cell, or another one, and leads to the merchant's new one from now on. */
async function mapLines(pool: Pool, merchantId: string, cell: number): Promise<string[]> {
  const names = await listMovedNames(pool, merchantId)
  return names.flatMap(({ id, name }) => (cellOfId(id) === cell ? [] : [`${name} cell_${cellTag(cell)}`]))
}

const cellOfId = (id: string): number | null => {
  const uuid = decodeBase32(id.slice(id.indexOf('_') + 1))
  return uuid === null ? null : readCell(uuid)
}

async function passwordUrls(
  pool: Pool,
  config: Config,
  merchantId: string,
): Promise<{ email: string; set_password_url: string }[]> {
  const urls: { email: string; set_password_url: string }[] = []
  for (const email of await listMembersWithoutPassword(pool, merchantId)) {
    const url = await renewPasswordUrl(pool, config, email)
    if (url !== null) urls.push({ email, set_password_url: url })
  }
  return urls
}
