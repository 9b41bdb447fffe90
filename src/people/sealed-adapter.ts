import type { BetterAuthOptions, BetterAuthPlugin } from 'better-auth'
import { getAdapter } from 'better-auth/db/adapter'
import type { AccessSeals } from '../core/people/access-seals.ts'
import {
  isAccessKind,
  isSealedModel,
  OWNER_FIELDS,
  SEALED_ROWS,
  type SealedModel,
} from '../core/people/sealed-rows.ts'
import { recordAccessAlone } from '../flows/steps/record-access.ts'
import type { Pool } from '../postgres/pool.ts'

type Adapter = Awaited<ReturnType<typeof getAdapter>>
type Transaction = Parameters<Parameters<Adapter['transaction']>[0]>[0]
type Where = Parameters<Adapter['delete']>[0]['where']
type Fields = { readonly [field: string]: unknown }
type Row = { id: string; [field: string]: unknown }
type Deps = { readonly pool: Pool; readonly seals: AccessSeals }
/** Runs work once what was changed is committed. */
type AfterCommit = (work: () => Promise<void>) => Promise<void>
type Use = <Result>(work: (adapter: Transaction) => Promise<Result>) => Promise<Result>

/** Maximum rows that one change updates; a person has fewer sessions and passkeys. */
const ROWS_MAX = 10_000
/** How often a change is tried again where others change the same row meanwhile. */
const ATTEMPTS_MAX = 20

const sealField = {
  fields: { seal: { type: 'string', required: false, input: false, returned: false } },
} as const

/** The column of the seal in each of the library's tables that have one. */
export const SEAL_FIELDS = {
  id: 'seals',
  schema: {
    user: sealField,
    session: sealField,
    account: sealField,
    verification: sealField,
    member: sealField,
    invitation: sealField,
    twoFactor: sealField,
    passkey: sealField,
  },
} satisfies BetterAuthPlugin

/**
 * The library's way to the database, with a seal on every row that decides who may do what: written with each of its
 * changes, and checked at each reading. A row without its seal is not there.
 */
export function openSealedAdapter(options: BetterAuthOptions, deps: Deps): Adapter {
  const plain = getAdapter({ ...options, database: deps.pool })
  return {
    id: 'sealed',
    ...sealedMethods(
      (work) => plain.then(work),
      deps,
      (work) => work(),
    ),
    transaction: async (work) => {
      const later: (() => Promise<void>)[] = []
      const afterCommit: AfterCommit = async (task) => void later.push(task)
      const adapter = await plain
      const result = await adapter.transaction((trx) =>
        work({ id: 'sealed', ...sealedMethods((use) => use(trx), deps, afterCommit) }),
      )
      for (const task of later) await task()
      return result
    },
  }
}

type Methods = Omit<Transaction, 'id'>

/** What reads keeps only rows with their seals; what writes gives each row its new one. */
function sealedMethods(use: Use, deps: Deps, afterCommit: AfterCommit): Methods {
  const changed: Changed = async (model, row) => {
    if (!isAccessKind(model) || !isRow(row)) return
    const ownerId = String(row[OWNER_FIELDS[model]])
    await afterCommit(() => recordAccessAlone(deps.pool, deps.seals, { kind: model, ownerId, id: row.id }))
  }
  const context = { use, seals: deps.seals, changed }
  return { ...reading(context), ...writing(context), ...deleting(context) }
}

/** Called for a row that was created, changed or deleted. */
type Changed = (model: string, row: unknown) => Promise<void>
type Context = { readonly use: Use; readonly seals: AccessSeals; readonly changed: Changed }

function reading({ use, seals }: Context): Pick<Methods, 'findOne' | 'findMany' | 'count'> {
  const findMany: Methods['findMany'] = async ({ select, ...input }) => {
    const isPlain = !isSealedModel(input.model)
    // A seal is of more fields than were asked for.
    const rows = await use((inner) => inner.findMany<never>(isPlain && select ? { ...input, select } : input))
    return rows.flatMap((row) => keptOf(seals, input.model, row) ?? [])
  }
  return {
    findMany,
    findOne: async ({ select, ...input }) => {
      const isPlain = !isSealedModel(input.model)
      const row = await use((inner) => inner.findOne<never>(isPlain && select ? { ...input, select } : input))
      const kept = row === null ? null : keptOf(seals, input.model, row)
      if (kept !== null || row === null) return kept
      // Somebody put a row of theirs before the one that counts.
      return (await findMany<never>({ ...input, limit: ROWS_MAX }))[0] ?? null
    },
    count: (input) => use((inner) => inner.count(input)),
  }
}

function writing(context: Context): Pick<Methods, 'create' | 'update' | 'updateMany' | 'incrementOne'> {
  const { use, seals, changed } = context
  return {
    create: async ({ select, ...input }) => {
      const { model } = input
      if (!isSealedModel(model)) return use((inner) => inner.create(select ? { ...input, select } : input))
      const row: unknown = await use((inner) => inner.create(input))
      if (!isRow(row)) throw new Error(`a new row of ${model} has no id`)
      const where = [{ field: 'id', value: row.id }]
      const sealed = await use((inner) =>
        inner.update<never>({ model, where, update: { seal: seals.seal(model, row) } }),
      )
      const kept = sealed === null ? null : keptOf(seals, model, sealed)
      if (kept === null) throw new Error(`a new row of ${model} was changed before it was sealed`)
      await changed(model, row)
      return kept
    },
    update: async (input) => {
      const { model, update } = input
      if (isSealedModel(model) && touches(model, update)) {
        return rewriteFirst(context, { model, where: input.where, update })
      }
      const row = await use((inner) => inner.update<never>(input))
      return row === null ? null : keptOf(seals, model, row)
    },
    updateMany: async (input) => {
      const { model, where, update } = input
      if (!isSealedModel(model) || !touches(model, update)) return use((inner) => inner.updateMany(input))
      const rows = await listSealed(context, model, where)
      for (const { id } of rows) {
        await rewriteFirst(context, { model, where: [{ field: 'id', value: id }], update })
      }
      return rows.length
    },
    incrementOne: async (input) => {
      const { model, where, set = {} } = input
      if (!isSealedModel(model)) return use((inner) => inner.incrementOne(input))
      const [row] = await listSealed(context, model, where)
      if (row === undefined) return null
      const guarded = {
        ...input,
        where: [...where, ...asRead(row)],
        set: { ...set, seal: sealAfter(seals, model, row, set) },
      }
      const counted = await use((inner) => inner.incrementOne<never>(guarded))
      await changed(model, counted)
      return counted === null ? null : keptOf(seals, model, counted)
    },
  }
}

function deleting({ use, seals, changed }: Context): Pick<Methods, 'delete' | 'deleteMany' | 'consumeOne'> {
  const noted = async <Result>(model: string, where: Where, work: () => Promise<Result>): Promise<Result> => {
    const rows = isAccessKind(model)
      ? await use((inner) => inner.findMany({ model, where, limit: ROWS_MAX }))
      : []
    const result = await work()
    for (const row of rows) await changed(model, row)
    return result
  }
  return {
    delete: (input) => noted(input.model, input.where, () => use((inner) => inner.delete(input))),
    deleteMany: (input) => noted(input.model, input.where, () => use((inner) => inner.deleteMany(input))),
    consumeOne: async (input) => {
      const row = await noted(input.model, input.where, () => use((inner) => inner.consumeOne<never>(input)))
      return row === null ? null : keptOf(seals, input.model, row)
    },
  }
}

async function listSealed({ use, seals }: Context, model: SealedModel, where: Where): Promise<Row[]> {
  const rows = await use((inner) => inner.findMany<Row>({ model, where, limit: ROWS_MAX }))
  return rows.filter((row) => seals.accepts(model, row))
}

/** Changes the first row that has its seal, from what it was when it was read; null where there is none. */
async function rewriteFirst<Found>(
  context: Context,
  { model, where, update }: { model: SealedModel; where: Where; update: Fields },
): Promise<Found | null> {
  const { use, seals, changed } = context
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
    const [row] = await listSealed(context, model, where)
    if (row === undefined) return null
    const sealed = { ...update, seal: sealAfter(seals, model, row, update) }
    const written = await use((inner) => inner.update<Found>({ model, where: asRead(row), update: sealed }))
    if (written === null) continue
    await changed(model, written)
    return keptOf(seals, model, written)
  }
  throw new Error(`others changed a row of ${model} each time that it was to be changed`)
}

/** The row as it was read: with another seal, somebody changed it meanwhile. */
const asRead = ({ id, seal }: Row): Where => [
  { field: 'id', value: id },
  { field: 'seal', value: String(seal) },
]

function sealAfter(seals: AccessSeals, model: SealedModel, row: Row, update: Fields): string {
  const given = Object.entries(update).filter(([, value]) => value !== undefined)
  return seals.seal(model, { ...row, ...Object.fromEntries(given) })
}

const touches = (model: SealedModel, update: Fields): boolean =>
  SEALED_ROWS[model].fields.some((field) => Object.hasOwn(update, field))

/** The row without its seal, and of what is joined to it what has one too; null where it has none. */
function keptOf<Found>(seals: AccessSeals, model: string, row: Found): Found | null {
  if (!isSealedModel(model) || !isRow(row)) return row
  if (!seals.accepts(model, row)) return null
  const kept: Row = row
  for (const [name, joined] of Object.entries(kept)) {
    if (!isSealedModel(name)) continue
    kept[name] = Array.isArray(joined)
      ? joined.flatMap((one: unknown) => keptOf(seals, name, one) ?? [])
      : keptOf(seals, name, joined)
  }
  delete kept.seal
  return row
}

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
