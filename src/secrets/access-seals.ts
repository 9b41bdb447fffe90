import { timingSafeEqual } from 'node:crypto'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { SEALED_ROWS, sealedText } from '../core/people/sealed-rows.ts'
import type { Keyring } from './keyring.ts'

const ROW_PURPOSE = 'access_row/1'
const SET_PURPOSE = 'access_set/1'
/** Rows that are logged; more of the same say nothing new. */
const REPORTED_MAX = 1_000

type ErrorLog = { error(fields: object, message: string): void }

export function openAccessSeals(keyring: Keyring, log: ErrorLog): AccessSeals {
  const refusals = { count: 0 }
  const reported = new Set<string>()
  const macOf = (purpose: string, text: string) =>
    keyring.mac(purpose, Buffer.from(text, 'utf8')).toString('base64url')
  const seal: AccessSeals['seal'] = (model, row) => macOf(ROW_PURPOSE, sealedText(model, row))
  const sealSet: AccessSeals['sealSet'] = ({ ownerId, kind, entries }) =>
    macOf(SET_PURPOSE, JSON.stringify([ownerId, kind, ...entries]))
  const isSealed: AccessSeals['isSealed'] = (model, row) => isSame(row.seal, seal(model, row))
  return {
    seal,
    isSealed,
    sealSet,
    isSetSealed: (set) => isSame(set.seal, sealSet(set)),
    accepts: (model, row) => {
      if (isSealed(model, row)) return true
      refusals.count += 1
      const name = `${SEALED_ROWS[model].table}/${row.id}`
      if (!reported.has(name) && reported.size < REPORTED_MAX) {
        reported.add(name)
        log.error(
          { row: name },
          'a row that decides who may do what was not written by Paylink: it counts for nothing',
        )
      }
      return false
    },
    refusals,
  }
}

function isSame(given: unknown, expected: string): boolean {
  if (typeof given !== 'string') return false
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
