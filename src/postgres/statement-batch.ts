import pg from 'pg'

/** A statement that waits to be sent, and what to do with its answer. */
export type BatchedStatement = {
  readonly config: pg.QueryConfig
  readonly onResult: (error: Error | null, result: pg.QueryResult) => void
}

/** What `pg` calls of a query that it has sent, and a connection of it that we call; its types leave both out. */
type SentQuery = {
  name?: string
  text: string
  callback?: (error: Error | null) => void
  submit(connection: Connection): Error | null
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleReadyForQuery(connection: Connection): void
  handleError(error: Error, connection: Connection): void
}
type Connection = {
  sync(): void
  readonly stream: { cork(): void; uncork(): void; destroy(): void }
  readonly submittedNamedStatements: { [name: string]: string }
}

/**
 * Sends statements with one Sync message after the last: one round trip, and one transaction that the server begins
 * and commits by itself ("Pipelining" in PostgreSQL's description of the protocol). After an error it runs none of the
 * others and keeps nothing. Resolves once it has committed, and each statement is answered only then.
 */
export function sendBatch(client: pg.PoolClient, statements: readonly BatchedStatement[]): Promise<void> {
  const types = { getTypeParser: client.getTypeParser.bind(client) }
  /** The first error of any statement: of one that could not be sent, before the others are. */
  let failed: Error | null = null
  const queries = statements.map(({ config, onResult }) => {
    const onAnswer = (error: Error | undefined | null, result: unknown): void => {
      failed ??= error ?? null
      onResult(error ?? null, result as pg.QueryResult)
    }
    // Without a name or values `pg` would send a simple query, which commits what came before it.
    const extended: pg.QueryConfig & { queryMode: 'extended' } = { ...config, types, queryMode: 'extended' }
    return new pg.Query(extended, onAnswer) as unknown as SentQuery
  })
  /** The statement whose answer comes next. */
  let current = 0
  return new Promise((resolve, reject) => {
    // To `pg` it is one query, which has the name of the statement whose answer comes.
    const batch = new pg.Query({ text: '' }, (error) => (error ? reject(error) : resolve()))
    const handlers: Omit<SentQuery, 'text'> = {
      submit: (connection) => {
        const withoutSync = Object.create(connection, { sync: { value: () => {} } }) as Connection
        connection.stream.cork()
        for (const query of queries) {
          const refused = query.submit(withoutSync)
          failed ??= refused
          if (failed !== null) break
        }
        // Without its Sync, nothing that was sent before a value that cannot be sent is ever committed.
        if (failed === null) connection.sync()
        else connection.stream.destroy()
        connection.stream.uncork()
        return null
      },
      handleRowDescription: (message) => queries[current]?.handleRowDescription(message),
      handleDataRow: (message) => queries[current]?.handleDataRow(message),
      handleCommandComplete: (message, connection) => {
        queries[current]?.handleCommandComplete(message, connection)
        current += 1
      },
      handleReadyForQuery: (connection) => {
        for (const query of queries) query.handleReadyForQuery(connection)
        ;(batch as unknown as SentQuery).callback?.(null)
      },
      handleError: (error, connection) => {
        // These were not parsed, and are to be sent whole the next time.
        for (const { name = '' } of queries.slice(current)) delete connection.submittedNamedStatements[name]
        for (const query of queries) query.handleError(error, connection)
        ;(batch as unknown as SentQuery).callback?.(failed ?? error)
      },
    }
    Object.assign(batch, handlers)
    Object.defineProperties(batch, {
      name: { get: () => queries[current]?.name },
      text: { get: () => queries[current]?.text },
    })
    client.query(batch)
  })
}
