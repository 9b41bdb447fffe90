import { inject } from 'vitest'
import { withDirectory } from '../../src/directory/open-directory.ts'
import { addCell } from '../../src/directory/registry.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

export const DIRECTORY_KEY = '5e'.repeat(32)

export type TestDirectory = {
  /** As its owner. */
  readonly database: TestDatabase
  /** The connection string of a cell's own login. */
  urlOf(cell: number): string
  drop(): Promise<void>
}

/** A directory that knows these cells, each open with this room. */
export async function createTestDirectory(rooms: {
  readonly [cell: number]: number
}): Promise<TestDirectory> {
  const database = await createTestDatabase(inject('postgresUrl'), 'template1')
  const urls = new Map<number, string>()
  const { ownerUrl: url } = database
  await withDirectory(url, async (pool) => {
    for (const [cell, room] of Object.entries(rooms)) {
      const number = Number(cell)
      urls.set(number, (await addCell(pool, { url, number, room })) ?? '')
    }
  })
  return {
    database,
    urlOf: (cell) => urls.get(cell) ?? '',
    drop: async () => {
      for (const one of urls.values()) {
        const { username } = new URL(one)
        await database.owner.query(`drop owned by ${username}; drop role ${username}`)
      }
      await database.drop()
    },
  }
}
