import type { AccessSeals } from '../core/people/access-seals.ts'
import {
  type AccessKind,
  isAccessKind,
  OWNER_FIELDS,
  type SealedModel,
  type SealedRow,
} from '../core/people/sealed-rows.ts'
import {
  claimFirstSealing,
  deleteUnsealed,
  pageOfAccessSets,
  pageOfSealedRows,
  type StoredSet,
  writeAccessSet,
  writeSeal,
} from '../db/people/access-rows.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withSystemTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

const PAGE = 1_000

/** What lasts: all but sign-ins and links, which end by themselves. */
export const LASTING_ROWS = [
  'user',
  'account',
  'member',
  'invitation',
  'twoFactor',
  'passkey',
  'apiKey',
] as const satisfies readonly SealedModel[]

/**
 * Seals the rows of a release that knew no seals: once, at the first start with the key. Afterwards a row without a
 * seal counts for nothing. Sign-ins and links are ended, so that nobody keeps one that they gave themselves. How many
 * rows were sealed; null where it was done before.
 */
export const sealOlderAccess = (deps: {
  pool: Pool
  clock: Clock
  seals: AccessSeals
}): Promise<number | null> =>
  withSystemTransaction(deps.pool, async (tx) => {
    if (!(await claimFirstSealing(tx, deps.clock()))) return null
    await deleteUnsealed(tx, 'session')
    await deleteUnsealed(tx, 'verification')
    return sealRows(tx, deps.seals, ({ seal }) => seal === null)
  })

/** Seals whatever stands there now, at the operator's word. How many rows had no seal that counted. */
export const acceptAccess = (deps: { pool: Pool; clock: Clock; seals: AccessSeals }): Promise<number> =>
  withSystemTransaction(deps.pool, (tx) => acceptRows(tx, deps))

/** The same, in a transaction that does more. */
export async function acceptRows(tx: Tx, { clock, seals }: { clock: Clock; seals: AccessSeals }) {
  await claimFirstSealing(tx, clock())
  return sealRows(tx, seals, () => true)
}

async function sealRows(tx: Tx, seals: AccessSeals, isTrusted: (row: SealedRow) => boolean): Promise<number> {
  let count = 0
  for (const model of LASTING_ROWS) {
    const entries = new Map<string, string[]>()
    for await (const row of sealedRows(tx, model)) {
      const isSealed = seals.isSealed(model, row)
      if (!isSealed && !isTrusted(row)) continue
      if (!isSealed) count += 1
      const seal = seals.seal(model, row)
      if (!isSealed) await writeSeal(tx, model, row.id, seal)
      if (isAccessKind(model)) addTo(entries, String(row[OWNER_FIELDS[model]]), `${row.id} ${seal}`)
    }
    if (isAccessKind(model)) await writeSets(tx, seals, model, entries)
  }
  return count
}

const addTo = (entries: Map<string, string[]>, ownerId: string, entry: string) =>
  entries.set(ownerId, [...(entries.get(ownerId) ?? []), entry])

async function writeSets(
  tx: Tx,
  seals: AccessSeals,
  kind: AccessKind,
  sets: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const owners = new Set(sets.keys())
  for await (const { ownerId } of accessSets(tx, kind)) owners.add(ownerId)
  for (const ownerId of owners) {
    const entries = [...(sets.get(ownerId) ?? [])].sort()
    await writeAccessSet(tx, { ownerId, kind, entries, seal: seals.sealSet({ ownerId, kind, entries }) })
  }
}

/** All sets of a kind, a page at a time. */
export async function* accessSets(tx: Tx, kind: AccessKind): AsyncGenerator<StoredSet> {
  let page: StoredSet[] = []
  for (let after = ''; after === '' || page.length === PAGE; after = page.at(-1)?.ownerId ?? '') {
    page = await pageOfAccessSets(tx, kind, { after, limit: PAGE })
    yield* page
    if (page.length === 0) return
  }
}

/** All rows of a kind, a page at a time. */
export async function* sealedRows(tx: Tx, model: SealedModel): AsyncGenerator<SealedRow> {
  let page: SealedRow[] = []
  for (let after = ''; after === '' || page.length === PAGE; after = page.at(-1)?.id ?? '') {
    page = await pageOfSealedRows(tx, model, { after, limit: PAGE })
    yield* page
    if (page.length === 0) return
  }
}
