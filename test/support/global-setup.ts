import { startTestPostgres } from './postgres-server.ts'

/** One PostgreSQL server and one migrated template for the whole run; each test file clones the template. */
export default async function setup(project: { provide(key: 'postgresUrl', value: string): void }) {
  const server = await startTestPostgres()
  project.provide('postgresUrl', server.ownerUrl)
  return () => server.stop()
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Owner's connection string of the server, without a database. */
    postgresUrl: string
  }
}
