/** PostgreSQL's errors about a row's content (class 23 of its error codes). */
const CONSTRAINT_CLASS = '23'

/** Whether an error says that a row contradicts what the database holds: trying again will not help. */
export function isConstraintViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith(CONSTRAINT_CLASS)
}
