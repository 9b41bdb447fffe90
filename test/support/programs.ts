import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

type Program = {
  readonly install: string
  /** Where it may be, best first. */
  readonly places: () => readonly string[]
  /** Arguments with which it succeeds where it has all that tests need. */
  readonly check?: readonly string[]
}

const onPath = (...names: readonly string[]) =>
  (process.env.PATH ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
const debian = (name: string, packages = name): Program => ({
  install: `apt-get install ${packages}`,
  places: () => onPath(name),
})
const caches = () => process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')

/** Programs that tests need and npm does not bring. Each is a tag: `// @module-tag php`, or `{ tags: ['php'] }`. */
const PROGRAMS = {
  litecoind: debian('litecoind'),
  bitcoind: {
    install: 'scripts/install-bitcoin-node.sh',
    places: () => [...onPath('bitcoind'), join(caches(), 'paylink/bitcoin-knots/bitcoind')],
  },
  // Without windows of its own it takes half of the time that the whole browser takes; any other does as well.
  chromium: {
    ...debian('chromium', 'chromium-headless-shell'),
    places: () =>
      process.env.CHROMIUM_PATH === undefined
        ? ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].flatMap((name) =>
            onPath(name),
          )
        : [process.env.CHROMIUM_PATH],
  },
  // Debian's Python, for which Debian has psycopg2: another one on the PATH would not find it.
  python: {
    install: 'apt-get install python3-psycopg2',
    places: () => ['/usr/bin/python3'],
    check: ['-c', 'import psycopg2'],
  },
  php: { ...debian('php', 'php-cli php-pgsql'), check: ['-r', "extension_loaded('pdo_pgsql') or exit(1);"] },
  // Its programs for backups, which the embedded one lacks.
  postgresql: { install: 'apt-get install postgresql', places: debianPostgres },
  hledger: debian('hledger'),
  beancount: debian('bean-check', 'beancount'),
  promtool: debian('promtool', 'prometheus'),
  'systemd-analyze': debian('systemd-analyze', 'systemd'),
  ps: debian('ps', 'procps'),
  zsh: debian('zsh'),
  fish: debian('fish'),
  // A terminal of its own for a program: macOS has another one of this name.
  script: { ...debian('script', 'bsdutils'), check: ['-qec', 'true', '/dev/null'] },
  pgbackrest: debian('pgbackrest'),
  haproxy: debian('haproxy'),
  patroni: debian('patroni', 'patroni etcd-server haproxy'),
  podman: debian('podman', 'podman buildah runc debootstrap'),
  // Programs of arm64 on another machine, once it is registered: /proc/sys/fs/binfmt_misc/qemu-aarch64.
  qemu: debian('qemu-aarch64-static', 'qemu-user-static binfmt-support'),
} satisfies { readonly [name: string]: Program }
export type ProgramName = keyof typeof PROGRAMS

/** The newest version's folder first. */
function debianPostgres(): string[] {
  const root = '/usr/lib/postgresql'
  try {
    const versions = readdirSync(root).map(Number)
    return versions.sort((a, b) => b - a).map((version) => join(root, String(version), 'bin/pg_basebackup'))
  } catch {
    return []
  }
}

/** The program's path. Throws an error that names the command which installs it. */
export function programPath(name: ProgramName): string {
  const path = find(PROGRAMS[name])
  if (path === null) throw new Error(`this test needs ${name}: run ${PROGRAMS[name].install}`)
  return path
}

function find({ places, check }: Program): string | null {
  for (const path of places()) {
    try {
      accessSync(path, constants.X_OK)
      if (check !== undefined) execFileSync(path, check, { stdio: 'ignore' })
      return path
    } catch {
      // Not there, or without what the tests need.
    }
  }
  return null
}

/** Tags of tests, for Vitest: where their program is missing they are skipped, and fail where `CI` is `true`. */
export const programTags = () =>
  Object.entries<Program>(PROGRAMS).map(([name, program]) => ({
    name,
    description: program.install,
    skip: process.env.CI !== 'true' && find(program) === null,
  }))
