import { startTestPostgres } from './postgres-server.ts'

type Project = { provide(key: 'postgresUrl', value: string): void }

/** One PostgreSQL server and one migrated template for the whole run; each test file clones the template. */
export default function setup(project: Project) {
  return provideServer(project, { isDurable: false })
}

/** As `setup`, on a server that waits for its disk at each commit where asked. Returns how to stop it. */
export async function provideServer(project: Project, options: { readonly isDurable: boolean }) {
  const server = await startTestPostgres(options)
  project.provide('postgresUrl', server.ownerUrl)
  return () => server.stop()
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Owner's connection string of the server, without a database. */
    postgresUrl: string
  }
}
