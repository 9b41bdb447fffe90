import type { DatabaseRole } from '../../src/postgres/roles.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import type { PayoutSteps } from '../support/payout-steps.ts'
import { NO_MONEY } from './unnamed-attacks.ts'

/** Writes that a login's grants allow on tables of money, read from the catalogue of an installation. */
type Shop = {
  readonly world: PayoutSteps
  readonly victim: Tenant
  readonly thief: Tenant
  readonly theirs: string
}

export type Column = {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly isKey: boolean
  readonly updates: boolean
  readonly inserts: boolean
  readonly deletes: boolean
}
export type Attack = {
  readonly key: string
  readonly table: string
  readonly statement: string
  /** Of which row it is, no order says. */
  readonly oneRow?: true
  /** As whom it is written, where row level security asks; else the victim. */
  readonly as?: Tenant
}

/** Every column that a role may update, and every table that it may add rows to or delete from. */
export async function grantsOf({ world }: Shop, role: DatabaseRole): Promise<Column[]> {
  const { rows } = await world.database.owner.query<Column>(
    `select c.relname as table, a.attname as column, format_type(a.atttypid, null) as type,
       has_column_privilege($1, c.oid, a.attnum, 'update') as updates,
       has_column_privilege($1, c.oid, a.attnum, 'insert') as inserts,
       has_table_privilege($1, c.oid, 'delete') as deletes,
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as "isKey"
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition
     order by c.relname, a.attnum`,
    [`paylink_${role}`],
  )
  return rows.filter(({ table }) => NO_MONEY[table] === undefined)
}

/** Words that a check of the table allows, such as statuses. */
async function wordsOf({ world }: Shop, table: string): Promise<string[]> {
  const { rows } = await world.database.owner.query<{ text: string }>(
    `select pg_get_constraintdef(oid) as text from pg_constraint where conrelid = $1::regclass and contype = 'c'`,
    [table],
  )
  return [
    ...new Set(
      rows.flatMap(({ text }) => [...text.matchAll(/'([a-z_]+)'::text/g)].map(([, word = '']) => word)),
    ),
  ]
}

/** Values that somebody hostile would write in place of a column's own. */
async function hostile(shop: Shop, { table, column, type }: Column): Promise<string[]> {
  const quote = (text: string) => `'${text}'`
  if (/^(numeric|bigint|integer)$/.test(type)) return [`${column} * 1000`, '0']
  if (type.startsWith('timestamp')) return [quote('2020-01-01'), 'null']
  if (type === 'boolean') return [`not ${column}`]
  if (type === 'bytea') return [`decode(repeat('ab', greatest(1, octet_length(${column}))), 'hex')`]
  if (type === 'json' || type === 'jsonb') return [quote('{}')]
  if (type !== 'text') return ['null']
  if (/status|bucket|resolution|reason|kind|account$/.test(column))
    return [...(await wordsOf(shop, table)).map(quote), 'null']
  if (column === 'merchant_id') return [quote(shop.thief.merchantId)]
  return [quote(shop.theirs), 'null']
}

export async function attacksOf(shop: Shop, role: DatabaseRole): Promise<Attack[]> {
  const columns = await grantsOf(shop, role)
  const attacks: Attack[] = []
  for (const each of columns.filter(({ updates }) => updates)) {
    const key = `${role} update ${each.table}.${each.column}`
    for (const value of await hostile(shop, each)) {
      const set = `update ${each.table} set ${each.column} = ${value}`
      const differs = `${each.column}::text is distinct from (${value})::text`
      attacks.push({ key, table: each.table, statement: `${set} where ${differs}` })
      attacks.push({
        key,
        table: each.table,
        oneRow: true,
        statement: `${set} where ctid = (select min(ctid) from ${each.table})`,
      })
    }
  }
  for (const table of new Set(columns.filter(({ deletes }) => deletes).map(({ table }) => table)))
    attacks.push({ key: `${role} delete ${table}`, table, statement: `delete from ${table}` })
  for (const table of new Set(columns.filter(({ inserts }) => inserts).map(({ table }) => table))) {
    const own = columns.filter((one) => one.table === table && one.inserts)
    const key = `${role} insert ${table}`
    attacks.push({ key, table, statement: cloneOf(own, {}) })
    // The victim's row as the thief's own, at the thief's invoice and payout.
    const of = (kind: string) =>
      `(select id from ${kind} where merchant_id = '${shop.thief.merchantId}' order by id limit 1)`
    const thiefs = {
      merchant_id: `'${shop.thief.merchantId}'`,
      invoice_id: of('invoice'),
      payout_id: of('payout'),
    }
    if (own.some(({ column }) => column === 'merchant_id'))
      attacks.push({ key, table, statement: cloneOf(own, thiefs), as: shop.thief })
  }
  return attacks
}

/** A row like those that are there, under a key of its own, of a thousand times the amount; `changes`: by column. */
function cloneOf(
  columns: readonly Column[],
  changes: { readonly [column: string]: string },
  which = '',
): string {
  const value = ({ column, type, isKey }: Column): string => {
    if (changes[column] !== undefined) return changes[column]
    if (isKey && type === 'text' && !/merchant_id|network|keyspace|account|asset/.test(column))
      return `${column} || 'x'`
    if (isKey && /bigint|integer/.test(type)) return `${column} + 1000`
    return column === 'amount' ? 'amount * 1000' : column
  }
  const table = columns[0]?.table
  return `insert into ${table} (${columns.map(({ column }) => column).join(', ')})
    select ${columns.map(value).join(', ')} from ${table} ${which} limit 1`
}

/** Values that a type has and nobody means; a row of them must stop nobody. */
const ODD: { readonly [type: string]: readonly string[] } = {
  'timestamp with time zone': [`'infinity'`, `'-infinity'`, `'290000-01-01'`, 'null'],
  numeric: [`'NaN'`, '-1', '0', `'1e77'`, 'null'],
  bigint: ['-1', '9223372036854775807', 'null'],
  integer: ['-1', '2147483647', 'null'],
  text: [`''`, `'x'`, `repeat('x', 1000000)`, 'null'],
  jsonb: [`'null'`, `'[]'`, `'{"a": 1e400}'`, 'null'],
  bytea: [`''`, `'\\x00'`, 'null'],
  'text[]': [`'{}'`, `'{null}'`, 'null'],
}
const ODD_MAX = 5

/**
 * What writes an odd value into each column of the victim's rows, as they stand and as one row more: the first odd values of
 * all columns together, then the second, and so on.
 */
export function oddRounds({ victim }: Shop, columns: readonly Column[]): Attack[][] {
  const mine = `merchant_id = '${victim.merchantId}'`
  const tables = new Set(columns.filter(({ column }) => column === 'merchant_id').map(({ table }) => table))
  const own = columns.filter(({ table, column }) => tables.has(table) && column !== 'merchant_id')
  return Array.from({ length: ODD_MAX }, (_, index) =>
    own.flatMap(({ table, column, type, isKey, updates, inserts }): Attack[] => {
      const value = ODD[type]?.[index]
      if (value === undefined) return []
      const key = `${table}.${column}`
      const inserted = columns.filter((one) => one.table === table && one.inserts)
      const order = own.some((one) => one.table === table && one.column === 'status') ? 'order by status' : ''
      const changes = { ...(isKey ? {} : { id: `id || '${column}'` }), [column]: value }
      return [
        ...(updates ? [`update ${table} set ${column} = ${value} where ${mine}`] : []),
        ...(inserts ? [cloneOf(inserted, changes, `where ${mine} ${order}`)] : []),
      ].map((statement) => ({ key, table, statement }))
    }),
  )
}
