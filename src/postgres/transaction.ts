import pg from 'pg'
import type { Tenant } from '../core/tenant.ts'
import { isGuarded, type Pool, type Queryable } from './pool.ts'
import { type BatchedStatement, sendBatch } from './statement-batch.ts'
import { createStatementGroups, type StatementGroups } from './statement-groups.ts'

/** Whose rows a transaction may see. Row level security enforces it for the API. */
export type { Tenant }

/** An open transaction. Only `withTransaction` makes one. */
export type Tx = Queryable & { readonly inTransaction: true }

const MERCHANT_ID = /^mer_[0-9a-z]{26}$/

/**
 * Runs `work` in one transaction for one tenant: commits when it returns what `isKept` accepts, and rolls back otherwise or
 * when it throws. The only place that says begin and commit. No network call belongs inside.
 */
export function withTransaction<Result>(
  pool: Pool,
  tenant: Tenant,
  work: (tx: Tx) => Promise<Result>,
  isKept: (result: Result) => boolean = () => true,
): Promise<Result> {
  return runTransaction(pool, beginFor(tenant), work, { together: isGuarded(pool), isKept })
}

/** The same, but always rolled back: shows what a request would do, using the statements that would do it. */
export function withTrialTransaction<Result>(
  pool: Pool,
  tenant: Tenant,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return withTransaction(pool, tenant, work, () => false)
}

function beginFor({ merchantId, livemode }: Tenant): string {
  requireMerchant(merchantId)
  // set_config(…, true) ends with the transaction; a plain SET would leak to the connection's next user.
  return `begin; select set_config('paylink.merchant_id', '${merchantId}', true), set_config('paylink.livemode', '${livemode ? 'true' : 'false'}', true)`
}

function requireMerchant(merchantId: string): void {
  if (!MERCHANT_ID.test(merchantId)) throw new Error('a transaction was opened for no merchant')
}

const SET_TENANT = `select set_config('paylink.merchant_id', $1, true), set_config('paylink.livemode', $2, true)`

/**
 * Sends what `gather` asks for in one round trip, as one transaction that commits by itself; nothing of it happens
 * where one of the statements fails, or `gather` throws. None of them is answered before all have committed, so `gather` must
 * wait for none. No connection is held until it has returned. Batches of one tenant that would wait for a connection share one
 * transaction; a statement with `Rows` is then answered for the rows of all of them.
 */
export async function withStatementBatch<Result>(
  pool: Pool,
  tenant: Tenant,
  gather: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  requireMerchant(tenant.merchantId)
  const statements: BatchedStatement[] = []
  const result = await gather(gatherInto(statements))
  await groupsOf(pool).send(tenant, statements)
  return result
}

const groupsByPool = new WeakMap<Pool, StatementGroups>()

function groupsOf(pool: Pool): StatementGroups {
  const known = groupsByPool.get(pool)
  if (known !== undefined) return known
  const commit = async (tenant: Tenant, statements: readonly BatchedStatement[]): Promise<void> => {
    const all: BatchedStatement[] = []
    gatherInto(all).query(SET_TENANT, [tenant.merchantId, String(tenant.livemode)])
    all.push(...statements)
    const client = await pool.connect()
    let broken: Error | undefined
    try {
      await sendBatch(client, all)
    } catch (error) {
      // Of a connection whose server refused the statements for what they say, everything is known.
      broken = isRefusedData(error) ? undefined : asError(error)
      throw error
    } finally {
      client.release(broken)
    }
  }
  const groups = createStatementGroups({ commit, isUndone })
  groupsByPool.set(pool, groups)
  return groups
}

/**
 * Classes of errors that end a statement, and so its transaction, but no connection: wrong data, a constraint, a conflict, too much data,
 * what a function raises. Severities come in the server's language.
 */
const REFUSED_DATA_CLASSES = ['22', '23', '40', '54', 'P0', 'PL']
/** The same, of a right that is missing, or of what the connection has prepared: a new one may do better. */
const REFUSED_STATEMENT_CLASS = '42'

const isOfClass = (error: unknown, classes: readonly string[]): boolean =>
  error instanceof pg.DatabaseError && classes.includes(String(error.code).slice(0, 2))

const isRefusedData = (error: unknown): boolean => isOfClass(error, REFUSED_DATA_CLASSES)

/** Whether it is known that nothing was kept: where a connection ends, its transaction may have committed. */
const isUndone = (error: unknown): boolean =>
  isRefusedData(error) || isOfClass(error, [REFUSED_STATEMENT_CLASS])

/** An error that a function of ours raises to end a transaction whose further statements are on their way already. */
const REFUSALS = { keyNotFresh: 'PL001', addressTaken: 'PL002' } as const

/** Whether `error` is a refusal by a function of the database, and if `why` is given, that one. */
export function isRefusal(error: unknown, why?: keyof typeof REFUSALS): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const codes: readonly string[] = why === undefined ? Object.values(REFUSALS) : [REFUSALS[why]]
  return codes.includes(String(error.code))
}

function gatherInto(statements: BatchedStatement[]): Tx {
  const query = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
    const answer = new Promise<pg.QueryResult<Row>>((resolve, reject) => {
      statements.push({
        config: { ...preparedAs(text), text, values },
        onResult: (error, result) =>
          error === null ? resolve(result as pg.QueryResult<Row>) : reject(error),
      })
    })
    // Whoever asked need not wait: the batch itself fails with its statement.
    answer.catch(() => {})
    return answer
  }
  return { inTransaction: true, query }
}

/** A transaction over data that belongs to no tenant: network state, address pool, account keys, delivery queues. */
export function withSystemTransaction<Result>(
  pool: Pool,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return runTransaction(pool, 'begin', work)
}

/** A transaction whose statements are planned to use indexes. */
export type QueueTx = Tx & { readonly plansByIndexes: true }

const PLAN_BY_INDEXES = `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

/**
 * The same as `withSystemTransaction` for the delivery queue, where an index serves every statement. A connection plans a
 * statement once, perhaps while the queue is empty and a sequential scan looks cheapest; that plan would then have to serve
 * a million rows.
 */
export function withQueueTransaction<Result>(
  pool: Pool,
  work: (tx: QueueTx) => Promise<Result>,
): Promise<Result> {
  return runTransaction(pool, `begin; ${PLAN_BY_INDEXES}`, (tx) => work({ ...tx, plansByIndexes: true }))
}

/** A transaction of another kind, that looks at the delivery queue from here on. */
export async function planByIndexes(tx: Tx): Promise<QueueTx> {
  await tx.query(PLAN_BY_INDEXES)
  return { ...tx, plansByIndexes: true }
}

/**
 * A read-only transaction that sees one snapshot of everything, so that a running service cannot make it disagree
 * with itself. Its statements may take `statementMinutesMax`, longer than the pool allows others. `before` is asked on the
 * same connection, before the snapshot.
 */
export function withOneMoment<Result>(
  pool: Pool,
  statementMinutesMax: number,
  work: (tx: Tx) => Promise<Result>,
  before: (db: Queryable) => Promise<void> = async () => {},
): Promise<Result> {
  const timeoutMs = statementMinutesMax * 60_000
  const begin = `begin isolation level repeatable read, read only; set local statement_timeout = ${timeoutMs}`
  return runTransaction(pool, begin, work, { answerMsMax: timeoutMs + 5_000, before })
}

/** Where a statement fails inside, the transaction goes on from before it, with what `recover` makes of the error. */
export async function withSavepoint<Result>(
  tx: Tx,
  work: () => Promise<Result>,
  recover: (error: unknown) => Result,
): Promise<Result> {
  await tx.query('savepoint before_work')
  try {
    return await work()
  } catch (error) {
    const recovered = recover(error)
    await tx.query('rollback to savepoint before_work')
    return recovered
  }
}

/**
 * A transaction on a connection of its own, for COPY, which the pipelined connections of a pool cannot carry: `reads`
 * sees one snapshot of everything, without a limit of time, and after an error the connection has to be ended.
 */
export async function withCopyTransaction<Result>(
  client: pg.Client,
  kind: 'reads' | 'writes',
  work: () => Promise<Result>,
): Promise<Result> {
  await client.query(kind === 'reads' ? 'begin isolation level repeatable read, read only' : 'begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // Where the connection is gone, so is the transaction. A read is left to its end: a rollback would wait for ever behind
    // a COPY to us whose rows nobody takes any more.
    if (kind === 'writes') await client.query('rollback').catch(() => {})
    throw error
  }
}

async function runTransaction<Result>(
  pool: Pool,
  begin: string,
  work: (tx: Tx) => Promise<Result>,
  {
    together = false,
    isKept = () => true,
    answerMsMax,
    before,
  }: {
    together?: boolean
    isKept?: (result: Result) => boolean
    answerMsMax?: number
    before?: (db: Queryable) => Promise<void>
  } = {},
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  /** Of the statement that ended the transaction; those behind it only say that it has ended. */
  let atFault: unknown
  const note = (error: unknown): void => {
    if (!isAborted(error)) atFault = error
  }
  try {
    await before?.(client)
    const sent = client.query(begin)
    sent.catch(note)
    const begun = outcomeOf(sent)
    // `begin` can fail by itself, cancelled by an operator: statements sent along with it would then commit one by
    // one. They may be sent early only where row level security stops that, since `begin` also sets whose rows they
    // see.
    const early = together ? null : await begun
    if (early !== null) throw early.error
    const result = await work(asTransaction(client, note, answerMsMax))
    const failure = await begun
    if (failure !== null) throw failure.error
    const end = isKept(result) ? 'commit' : 'rollback'
    const { command } = await client.query(end)
    // PostgreSQL answers `commit` with a rollback, and no error, where a statement failed and `work` went on anyway.
    if (command !== end.toUpperCase())
      throw new Error('a transaction was rolled back: one of its statements failed', { cause: atFault })
    return result
  } catch (thrown) {
    // Whoever waits for several statements may learn of a later one first.
    const error = isAborted(thrown) ? (atFault ?? thrown) : thrown
    broken = (await rollback(client)) ?? outdated(error)
    throw error
  } finally {
    // A client that could not roll back, or whose prepared statements are outdated, is closed instead of returned.
    client.release(broken)
  }
}

async function outcomeOf(sent: Promise<unknown>): Promise<{ error: unknown } | null> {
  try {
    await sent
    return null
  } catch (error) {
    return { error }
  }
}

async function rollback(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback')
    return undefined
  } catch (error) {
    return asError(error)
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error('the connection failed', { cause: error })

/**
 * A migration changed the result of a prepared statement, or the statement is gone: a new connection prepares it
 * again. Or the server became a standby (25006): a new connection finds the primary.
 */
const OUTDATED_STATEMENT_CODES = ['0A000', '26000', '25006']

/** The statement came after one that failed in its transaction. */
const isAborted = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '25P02'

function outdated(error: unknown): Error | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return OUTDATED_STATEMENT_CODES.some((code) => error.code === code) ? error : undefined
}

function asTransaction(
  client: pg.PoolClient,
  onError: (error: unknown) => void,
  answerMsMax: number | undefined,
): Tx {
  const waiting = answerMsMax === undefined ? {} : { query_timeout: answerMsMax }
  const query = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
    const answer = client.query<Row>({ ...preparedAs(text), ...waiting, text, values })
    answer.catch(onError)
    return answer
  }
  return { inTransaction: true, query }
}

/** More statements than the program has; a list query's text varies with its filters. */
const PREPARED_MAX = 500
const preparedNames = new Map<string, { name: string }>()

/** Naming a statement has it parsed and planned once per connection. */
function preparedAs(text: string): { name: string } | Record<string, never> {
  const known = preparedNames.get(text)
  if (known !== undefined) return known
  if (preparedNames.size >= PREPARED_MAX) return {}
  const named = { name: `q${preparedNames.size}` }
  preparedNames.set(text, named)
  return named
}
