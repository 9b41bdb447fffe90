/**
 * Rows as one value of a statement, which reads them with `json_to_recordset`. Such a statement says what to write by the
 * rows alone, so that those of several callers can be written by one. Bytes go in as base64, JSON as text.
 */
export class Rows {
  readonly list: readonly object[]

  constructor(list: readonly object[]) {
    this.list = list
  }

  /** Called by `pg` for a value that it does not know. */
  toPostgres(): string {
    return JSON.stringify(this.list)
  }
}
