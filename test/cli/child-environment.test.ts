import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { until } from '../support/until.ts'

/** What no child may see of its parent's environment, and what looks like it. */
const CANARY = 'canary-4b1f6e0c9a'
const SECRETS = {
  SECRET_KEY: Buffer.from(CANARY.padEnd(32, '.')).toString('hex'),
  SMTP_URL: `smtp://user:${CANARY}@127.0.0.1:9`,
  API_TOKEN_OF_ANOTHER_PROGRAM: CANARY,
}
/** Of the shell, of every program, and of the signer. */
const ALLOWED = [
  ...[
    '_',
    'PWD',
    'OLDPWD',
    'SHLVL',
    'PATH',
    'HOME',
    'TMPDIR',
    'LANG',
    'LC_ALL',
    'LC_MESSAGES',
    'TZ',
    'NODE_ENV',
  ],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'PGSSLMODE', 'PGDATA', 'PG_GRANDPARENT_PID', 'PGLOCALEDIR'],
  ...['PGSYSCONFDIR', 'LC_COLLATE', 'LC_CTYPE', 'LC_MONETARY', 'LC_NUMERIC', 'LC_TIME'],
]
const SIGNER_SETTINGS = [
  'SIGNER_DATABASE_URL',
  'DATA_DIR',
  'ADDRESS_KEYS_FILE',
  'APPROVAL_KEY_FILE',
  'BASE_URL',
  'LOG_LEVEL',
  'SIGNER_KEY_FILE',
  'STAGING',
  'CELL',
  'PAYLINK_ENV_FILE',
]
const CHILDREN_MS_MAX = 120_000

let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
beforeAll(async () => {
  place = await makeDataDir()
  app = await startApp({ ...place, env: SECRETS })
})
afterAll(async () => {
  await app.stop()
  await place.remove()
})

type Process = {
  readonly pid: number
  readonly parent: number
  readonly command: string
  readonly environment: string
}

/** Every process of this machine that is still there when it is looked at. */
async function listProcesses(): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid): Promise<Process[]> => {
      try {
        const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8')
        const [stat, command, environment] = await Promise.all([
          read('stat'),
          read('cmdline'),
          read('environ'),
        ])
        return [{ pid, parent: Number(/.*\) \S (\d+)/s.exec(stat)?.[1]), command, environment }]
      } catch {
        // It ended, or it is another user's.
        return []
      }
    }),
  )
  return found.flat()
}

/** The children of the program, theirs, and the database server, which is nobody's child any more. */
async function listChildren(): Promise<Process[]> {
  const postmaster = Number(
    (await readFile(join(place.dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0],
  )
  const all = await listProcesses()
  const below = (pid: number): Process[] =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid)])
  return [...below(app.pid), ...all.filter(({ pid }) => pid === postmaster), ...below(postmaster)]
}

test('no process that the program starts gets more of its environment than it needs', async () => {
  const programs = ['start\0signer', 'anvil', 'postgres']
  let children: Process[] = []
  await until(
    async () => {
      children = await listChildren()
      return programs.every((name) => children.some(({ command }) => command.includes(name)))
    },
    { timeoutMs: CHILDREN_MS_MAX },
  )
  for (const { command, environment } of children) {
    expect(environment, command).not.toContain(CANARY)
    expect(environment, command).not.toContain(SECRETS.SECRET_KEY)
    const names = environment.split('\0').flatMap((line) => line.split('=')[0] || [])
    const allowed = command.includes('start\0signer') ? [...ALLOWED, ...SIGNER_SETTINGS] : ALLOWED
    expect(
      names.filter((name) => !allowed.includes(name)),
      command,
    ).toEqual([])
  }
})

/** How many sockets of a process others can connect to: those in the kernel's tables in the state LISTEN (0A). */
async function countListening(pid: number): Promise<number> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')),
  )
  const rows = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  const inodes = new Set(rows.filter((row) => row[3] === '0A').map((row) => `socket:[${row[9]}]`))
  const files = await readdir(`/proc/${pid}/fd`)
  const targets = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')))
  return targets.filter((target) => inodes.has(target)).length
}

test('the signer listens on no port', async () => {
  const signer = (await listChildren()).find(({ command }) => command.includes('start\0signer'))
  expect(await countListening(signer?.pid ?? 0)).toBe(0)
  expect(await countListening(app.pid)).toBeGreaterThan(0)
})

test('the signer does not read the env file of the folder that everything is started in', async () => {
  const own = await makeDataDir()
  const folder = dirname(own.dataDir)
  // Whoever reads the file, and not the environment that comes before it, refuses to start.
  await writeFile(join(folder, 'paylink.env'), `SMTP_URL=${CANARY}\n`)
  const started = await startApp({ ...own, cwd: folder, env: { SMTP_URL: SECRETS.SMTP_URL } })
  expect(started.stderr()).not.toContain('the signer ended')
  expect(await started.stop()).toBe(0)
  await own.remove()
})
