import { DatabaseError } from 'pg'
import { isDatabaseAway } from '../postgres/database-away.ts'
import { type Tx, withSavepoint } from '../postgres/transaction.ts'
import { describeError } from '../runtime/log.ts'

/** A promise of the service, and the query that finds whatever breaks it: merchant_id, subject, detail. */
export type AuditCheck = {
  readonly name: string
  readonly rule: string
  readonly sql: string
  /** Asked of one part of the events after another, which it reads as `event_part`: of all of them it would take hours. */
  readonly inParts?: true
  /** Finds whatever breaks this promise or another one that names the same query: where it finds nothing, none is asked alone. */
  readonly unless?: string
}

/** PostgreSQL's code of a statement that took too long, or that somebody ended. */
const QUERY_CANCELED = '57014'

/** What `work` gives, or `otherwise` with why, where the database ended the query. The transaction goes on. */
export const unlessEnded = <Result>(
  tx: Tx,
  work: () => Promise<Result>,
  otherwise: (reason: string) => Result,
): Promise<Result> =>
  withSavepoint(tx, work, (error) => {
    if (!(error instanceof DatabaseError) || error.code !== QUERY_CANCELED) throw error
    return otherwise('its query took too long and was ended')
  })

/**
 * What `work` gives, or `otherwise` with why, where the database cannot read a value that is stored. The transaction goes
 * on, so that such a row keeps nothing else from being checked.
 */
export const unlessUnreadable = <Result>(
  tx: Tx,
  work: () => Promise<Result>,
  otherwise: (reason: string) => Result,
): Promise<Result> =>
  withSavepoint(tx, work, (error) => {
    if (!(error instanceof DatabaseError) || isDatabaseAway(error)) throw error
    return otherwise(`a stored value cannot be read: ${describeError(error)}`)
  })
