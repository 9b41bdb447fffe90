import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { freePort } from '../test/support/free-port.ts'
import { printFigure } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import { startPaylink } from './support/paylink.ts'
import { memoryOfAll, type ProcessFigures, readProcessTree } from './support/process-tree.ts'
import { processorTimeOfServer } from './support/processor-time.ts'

/** For trying out a change; the figures are of five minutes. */
const MEASURED_MS = numberOf('IDLE_SECONDS', 300) * 1_000
/** The demo shop is made, the chains have come to rest, and the first retention has run. */
const SETTLE_MS = 40_000

const MEGABYTE = 1024 * 1024

test('all roles with their sandbox chains, while nothing happens', async () => {
  const database = await createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'paylink-idle-'))
  const paylink = await startPaylink(['all'], {
    DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder,
    PORT: String(await freePort()),
  })
  try {
    await pause(SETTLE_MS)
    const commits = async (): Promise<number> => {
      const { rows } = await database.owner.query<{ commits: number }>(
        'select xact_commit as commits from pg_stat_database where datname = current_database()',
      )
      return Number(rows[0]?.commits)
    }
    const before = readProcessTree(paylink.pid)
    const [commitsBefore, serverBefore] = [await commits(), await processorTimeOfServer(database.owner)]
    const beganAt = performance.now()
    await pause(MEASURED_MS)
    const elapsedMs = performance.now() - beganAt
    const after = readProcessTree(paylink.pid)
    const serverMs = ((await processorTimeOfServer(database.owner)) - serverBefore) / 1_000
    const perSecond = ((await commits()) - commitsBefore) / (elapsedMs / 1_000)
    // A process that began meanwhile used all of its time within.
    const usedMs = (each: ProcessFigures) =>
      each.processorMs - (before.find(({ pid }) => pid === each.pid)?.processorMs ?? 0)
    const share = (ms: number) => `${((ms / elapsedMs) * 100).toFixed(1)} %`
    const memory = (bytes: number) => `${(bytes / MEGABYTE).toFixed(0)} MB`
    printFigure({
      name: 'Resident memory of all roles when idle, sandbox chains included, PostgreSQL left out',
      target: '≤250 MB',
      measured: memory(memoryOfAll(after)),
      detail: `by itself each: ${after.map((each) => `${memory(memoryOfAll([each]))} ${titleOf(each)}`).join('; ')}`,
    })
    printFigure({
      name: 'Share of a core that they use meanwhile',
      target: '≤2 %',
      measured: share(sum(after.map(usedMs))),
      detail: `${after.map((each) => `${share(usedMs(each))} ${titleOf(each)}`).join('; ')}; PostgreSQL besides ${share(serverMs)}, ${perSecond.toFixed(1)} transactions/s`,
    })
    expect(after.length).toBeGreaterThan(1)
  } finally {
    await paylink.stop()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }
})

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** The end of its command line, which says what it is. */
const titleOf = ({ command }: ProcessFigures): string => {
  const [program = '', ...words] = command.split(' ')
  const name = program.split('/').at(-1) ?? ''
  return name === 'node' ? `node ${words.slice(1).join(' ')}` : name
}
