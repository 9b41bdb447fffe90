import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

/** As the table `merchant_move` says; `cell` is the other one. */
export type MerchantMove = {
  readonly state: 'moving' | 'staying' | 'moved' | 'arriving' | 'arrived'
  readonly cell: number
  readonly beganAt: Date
}

/** Whether the merchant is in this database, and what is known of a move. By primary key. */
export async function loadMerchantMove(
  db: Queryable,
  merchantId: string,
): Promise<{ readonly exists: boolean; readonly move: MerchantMove | null }> {
  const { rows } = await db.query<{ exists: boolean } & MerchantMove>(
    `select true as exists, state, cell, began_at as "beganAt"
     from merchant left join merchant_move on merchant_id = id where id = $1`,
    [merchantId],
  )
  const [row] = rows
  return { exists: row !== undefined, move: row?.state == null ? null : row }
}

/** Merchants who sell nothing until a move, or its undoing, ends: a handful of rows. */
export async function listUnfinishedMoves(db: Queryable): Promise<(MerchantMove & { merchantId: string })[]> {
  const { rows } = await db.query<MerchantMove & { merchantId: string }>(
    `select merchant_id as "merchantId", state, cell, began_at as "beganAt" from merchant_move
     where state not in ('moved', 'arrived') order by began_at, merchant_id`,
  )
  return rows
}

/** Waits until nothing is half written of the merchant's sales and settings; until the transaction ends nobody begins. */
export async function lockMerchantMove(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('merchant_move/' || $1, 0))`, [merchantId])
}

/** Notes a move where there is none; false where there is one. */
export async function insertMerchantMove(
  tx: Tx,
  merchantId: string,
  { state, cell, beganAt }: MerchantMove,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into merchant_move (merchant_id, state, cell, began_at) values ($1, $2, $3, $4) on conflict do nothing`,
    [merchantId, state, cell, beganAt],
  )
  return rowCount === 1
}

/** From one state to the next; false where it is in another, with another cell, or began at another time. By primary key. */
export async function stepMerchantMove(
  tx: Tx,
  merchantId: string,
  of: {
    readonly from: MerchantMove['state']
    readonly to: MerchantMove['state']
    readonly cell: number
    readonly beganAt?: Date
  },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update merchant_move set state = $3
     where merchant_id = $1 and state = $2 and cell = $4 and began_at = coalesce($5, began_at)`,
    [merchantId, of.from, of.to, of.cell, of.beganAt],
  )
  return rowCount === 1
}

/** Forgets a move that is in a state. By primary key. */
export async function deleteMerchantMove(
  tx: Tx,
  merchantId: string,
  state: MerchantMove['state'],
): Promise<boolean> {
  const { rowCount } = await tx.query('delete from merchant_move where merchant_id = $1 and state = $2', [
    merchantId,
    state,
  ])
  return rowCount === 1
}

/** Each takes far less than a statement may. */
const DELETED_AT_ONCE = 10_000

/** Deletes what a table holds of a merchant, for a copy that is not in use yet. */
export async function deleteRowsOf(tx: Tx, table: string, column: string, merchantId: string): Promise<void> {
  for (;;) {
    const { rowCount } = await tx.query(
      `delete from ${table} where ${column} = $1
         and ctid = any (array(select ctid from ${table} where ${column} = $1 limit ${DELETED_AT_ONCE}))`,
      [merchantId],
    )
    if (rowCount === 0) return
  }
}

/** Of two cells' transactions each waits while the other one works, as long as reading may take. */
export async function waitForOther(tx: Tx, minutesMax: number): Promise<void> {
  await tx.query(`set local idle_in_transaction_session_timeout = '${minutesMax}min'`)
}

/** The names of a table's columns, in order. */
export async function columnsOfTable(db: Queryable, table: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
  return rows.map(({ name }) => name)
}

/** Another text once a merchant's rows in any of these tables are others: sooner known than what they say. */
export async function markRows(
  db: Queryable,
  tables: readonly { readonly table: string; readonly owner?: string }[],
  merchantId: string,
): Promise<string> {
  // A row that is written gets another place and transaction.
  const marks = tables.map(
    ({ table, owner = 'merchant_id' }) =>
      `(select count(*) || ' ' || coalesce(sum(hashtextextended(ctid || ' ' || xmin, 0)), 0) from ${table}
        where ${owner} = $1)`,
  )
  const { rows } = await db.query<{ mark: string }>(`select concat_ws(', ', ${marks.join(', ')}) as mark`, [
    merchantId,
  ])
  return rows[0]?.mark ?? ''
}

const ROWS_AT_ONCE = 500

/** Rows of a query of a merchant's, each as JSON, some at a time: a shop may have millions. `$1` is the merchant. */
export async function* readRows(
  tx: Tx,
  query: string,
  values: readonly unknown[],
): AsyncGenerator<readonly string[]> {
  await tx.query(`declare moved_rows no scroll cursor for select to_json(t)::text as row from (${query}) t`, [
    ...values,
  ])
  for (;;) {
    const { rows } = await tx.query<{ row: string }>(`fetch ${ROWS_AT_ONCE} from moved_rows`)
    if (rows.length === 0) break
    yield rows.map(({ row }) => row)
  }
  await tx.query('close moved_rows')
}

/** Writes rows as `readRows` gives them. */
export async function writeRows(
  tx: Tx,
  table: string,
  columns: readonly string[],
  rows: readonly string[],
): Promise<void> {
  const names = columns.join(', ')
  await tx.query(
    `insert into ${table} (${names}) select ${names} from json_populate_recordset(null::${table}, $1::json)`,
    [`[${rows.join(',')}]`],
  )
}

/** Keys and links that a merchant brought along, as a proxy knows them: SHA-256 of the key in upper case, and the slug. */
export async function listMovedNames(
  db: Queryable,
  merchantId: string,
): Promise<{ readonly id: string; readonly name: string }[]> {
  const { rows } = await db.query<{ id: string; name: string }>(
    `select id, upper(encode(key_hash, 'hex')) as name from api_key where merchant_id = $1 and revoked_at is null
     union all select id, slug from payment_link where merchant_id = $1 order by id`,
    [merchantId],
  )
  return rows
}

/** A person's membership of a shop. */
export async function insertMember(
  tx: Tx,
  member: { id: string; organizationId: string; userId: string; role: string; seal: string; now: Date },
): Promise<void> {
  await tx.query(
    `insert into organization_member (id, organization_id, user_id, role, seal, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [member.id, member.organizationId, member.userId, member.role, member.seal, member.now],
  )
}

/** Of the members of a shop, the addresses of those who have no password. */
export async function listMembersWithoutPassword(db: Queryable, merchantId: string): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    `select email from organization_member join person on person.id = user_id
     where organization_id = $1
       and not exists (select from person_account a where a.user_id = person.id and a.password is not null)
     order by email`,
    [merchantId],
  )
  return rows.map(({ email }) => email)
}
