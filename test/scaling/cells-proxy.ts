import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { mapCellCommand } from '../../src/cli/cells-commands.ts'
import { cellTag } from '../../src/core/cells.ts'
import { readRootFile } from '../support/root-file.ts'
import { until } from '../support/until.ts'
import type { StartedChild, TestMachine } from './test-network.ts'

/** A cell, and where its API processes are, as `host:port`. */
export type ProxiedCell = { readonly number: number; readonly servers: readonly string[] }

/**
 * The proxy's file as it is shipped, without encryption, with these cells in place of its own, and their map; HAProxy has
 * checked it. Returns its path.
 */
export async function writeCellsProxy(
  folder: string,
  bind: string,
  cells: readonly ProxiedCell[],
): Promise<string> {
  const [map, path] = [join(folder, 'cells.map'), join(folder, 'cells.cfg')]
  const sections = (await readRootFile('deploy/haproxy/cells.cfg')).split(/\n(?=backend )/)
  const backend = sections.find((section) => section.startsWith('backend cell_00')) ?? ''
  const lines = backend.split('\n').filter((line) => !/^ *server |^$/.test(line))
  const backends = cells.map(({ number, servers }) =>
    [
      ...lines.map((line) => line.replace('cell_00', `cell_${cellTag(number)}`)),
      ...servers.map((server, at) => `    server ${'ab'[at]} ${server}`),
      '',
    ].join('\n'),
  )
  const any = cells.map(({ number, servers: [server] }) => {
    const tag = cellTag(number)
    return `    server ${tag}a ${server} track cell_${tag}/a`
  })
  const config = [sections[0], ...backends, 'backend cell_any', ...any, ''].join('\n')
  await writeFile(
    path,
    config.replace(/bind :443 .*/, `bind ${bind}`).replaceAll('/etc/haproxy/cells.map', map),
  )
  const mapped: string[] = []
  const output = { line: (line: string) => void mapped.push(line), problem: () => {} }
  for (const { number } of cells) if (number > 0) mapCellCommand(String(number), output)
  await writeFile(map, mapped.map((line) => `${line}\n`).join(''))
  execFileSync('haproxy', ['-c', '-q', '-f', path])
  return path
}

/** Puts lines at the top of the map, where they count before older ones. */
async function addToMap(folder: string, lines: readonly string[]): Promise<void> {
  const map = join(folder, 'cells.map')
  const text = lines.map((line) => `${line}\n`).join('') + (await readFile(map, 'utf8'))
  await writeFile(`${map}.new`, text)
  await rename(`${map}.new`, map)
}

export type SiteProxy = {
  kill(): Promise<void>
  start(): void
  /** Has it read these lines before those of its map. */
  learn(lines: readonly string[]): Promise<void>
}

/** On a machine. A new process takes over from the one before: who signals one that only starts may not be heard. */
export function startSiteProxy(machine: TestMachine, config: string): SiteProxy {
  const running: StartedChild[] = []
  const start = (...inPlaceOf: string[]) => {
    const args = ['-db', '-f', config, ...inPlaceOf]
    running.push(machine.start({ name: 'cells-proxy', file: '/usr/sbin/haproxy', args }))
  }
  start()
  return {
    kill: async () => {
      await Promise.all(running.splice(0).map((one) => one.kill()))
    },
    start: () => start(),
    learn: async (lines) => {
      await addToMap(dirname(config), lines)
      const before = running.at(-1)
      // One that was killed reads the map when it starts.
      if (before !== undefined) start('-sf', String(before.pid))
    },
  }
}

export type CellsProxy = {
  /** Puts lines at the top of the map, where they count before older ones, and reads it again without a stop. */
  learn(lines: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** The same, started at an address. */
export async function startCellsProxy(site: string, cells: readonly ProxiedCell[]): Promise<CellsProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-cells-'))
  const path = await writeCellsProxy(folder, new URL(site).host, cells)
  const running: ChildProcess[] = []
  const start = (...inPlaceOf: string[]) =>
    running.push(spawn('haproxy', ['-db', '-f', path, ...inPlaceOf], { stdio: 'ignore' }))
  start()
  await until(async () => (await fetch(`${site}/healthz`).catch(() => null))?.status === 200)
  return {
    learn: async (lines) => {
      await addToMap(folder, lines)
      const before = running.at(-1)
      start('-sf', String(before?.pid))
      await until(() => before?.exitCode !== null || before.signalCode !== null, {
        what: 'the proxy before has ended',
      })
    },
    stop: async () => {
      for (const one of running) one.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
