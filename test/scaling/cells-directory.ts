import { join } from 'node:path'
import { z } from 'zod'
import { PROGRAM } from '../support/app.ts'
import { DIRECTORY_KEY } from '../support/cell-directory.ts'
import { askServer } from './postgres-cluster.ts'
import { type LonePostgres, startLonePostgres } from './postgres-pair.ts'
import type { TestNetwork } from './test-network.ts'

const ROOM = '1000'
const addedShape = z.object({ database_url: z.string() })

/** The directory of the cells, on a machine of its own. */
export type CellsDirectory = LonePostgres & {
  /** What each of them is given, by its number. */
  readonly settings: ReadonlyMap<number, { readonly [name: string]: string }>
}

/** Starts it, and adds the cells as their operator does. */
export async function startCellsDirectory(
  network: TestNetwork,
  folder: string,
  cells: readonly number[],
): Promise<CellsDirectory> {
  const postgres = await startLonePostgres(await network.machine('directory'), join(folder, 'directory'))
  const { machine } = postgres
  await askServer(machine, 'create database directory')
  const settingsWith = (url: string) => ({ DIRECTORY_DATABASE_URL: url, DIRECTORY_KEY })
  const owner = settingsWith(`postgresql://postgres:postgres@${machine.address}:5432/directory`)
  const settings = new Map<number, { readonly [name: string]: string }>()
  for (const cell of cells) {
    const args = [PROGRAM, 'cells', 'add', String(cell), '--room', ROOM, '--json']
    const added = await machine.run(process.execPath, args, owner)
    if (added.code !== 0) throw new Error(`paylink cells add: ${added.stdout}${added.stderr}`)
    settings.set(cell, settingsWith(addedShape.parse(JSON.parse(added.stdout)).database_url))
  }
  return { ...postgres, settings }
}
