import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ANVIL, LITESVM } from '../../src/sandbox/platform-package.ts'
import { type App, startApp, startRoles } from '../support/app.ts'
import { invoicesOf } from '../support/app-invoices.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type NpmRegistry, startNpmRegistry } from './npm-registry.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const LEFT_OUT = [ANVIL.locked, LITESVM.locked]

/** Without an anvil of somebody's own, which would be taken before one is fetched. */
const PATH = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':')

let folder: string
let registry: NpmRegistry
/** By the name of the data folder. */
const databases = new Map<string, TestDatabase>()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-elsewhere-'))
  registry = await startNpmRegistry(LEFT_OUT)
  await installWithout(LEFT_OUT)
})
afterAll(async () => {
  for (const database of databases.values()) await database.drop()
  await registry.stop()
  await rm(folder, { recursive: true, force: true })
})

const program = () => join(folder, 'dist/main.js')

/** Paylink as it is where npm has no package for the platform, trusting the keys of the registry above. */
async function installWithout(names: readonly string[]): Promise<void> {
  for (const name of ['package.json', 'migrations']) await symlink(join(ROOT, name), join(folder, name))
  await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  await writeFile(
    join(folder, 'dist/sandbox/registry-keys.js'),
    `export const REGISTRY_KEYS = ${JSON.stringify(registry.keys)}\nexport const KNOWN_DIGESTS = {}\n`,
  )
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  for (const entry of await readdir(join(ROOT, 'node_modules'))) {
    // Of a scope, all of it: the two stand beside no other package that a start needs.
    if (names.some((name) => name.split('/')[0] === entry)) continue
    await symlink(join(ROOT, 'node_modules', entry), join(modules, entry))
  }
}

async function withApp(name: string, work: (app: App) => Promise<void>, registryUrl = registry.url) {
  const database = databases.get(name) ?? (await createTestDatabase())
  databases.set(name, database)
  const app = await startApp({
    dataDir: join(folder, name),
    database,
    program: program(),
    env: { PATH, npm_config_registry: registryUrl },
  })
  try {
    await work(app)
  } finally {
    await app.stop()
  }
}

const logged = (app: App, words: string): number => app.stderr().split(words).length - 1

async function expectOnlyBitcoinAndLitecoin(app: App): Promise<void> {
  const { create, isAvailable } = invoicesOf(() => app)
  expect((await create('LTC')).asset).toBe('LTC')
  for (const asset of ['ETH', 'ETH_BASE', 'USDC_BASE', 'SOL']) expect(await isAvailable(asset)).toBe(false)
  expect(await readdir(join(app.dataDir, 'sandbox/packages'))).toEqual([])
}

test('a start fetches the packages that npm could not install, once, and every coin can be paid', async () => {
  await withApp('data', async (app) => {
    const { create, pay, untilAllAreAvailable, untilStatus } = invoicesOf(() => app)
    for (const name of LEFT_OUT) expect(logged(app, `fetching ${name}@`)).toBe(1)
    await untilAllAreAvailable()
    for (const asset of ['ETH', 'USDC_BASE', 'SOL']) {
      const { id } = await create(asset)
      await pay(id, 'exact')
      await untilStatus(id, 'paid')
    }
  })
  const asked = registry.requests.length
  await withApp('data', async (app) => {
    await invoicesOf(() => app).untilAllAreAvailable()
    expect(logged(app, 'fetching')).toBe(0)
  })
  expect(registry.requests).toHaveLength(asked)
})

test.each([
  ['a tarball of other bytes than the registry gave a digest of', 'tarball', 'EINTEGRITY'],
  ['a tarball whose digest the registry gives, and npm did not sign', 'everything', 'was refused'],
] as const)('%s is refused, and the other coins work', async (_, tampering, reason) => {
  registry.tamper(tampering)
  await withApp(tampering, async (app) => {
    for (const name of LEFT_OUT) expect(app.stderr()).toMatch(new RegExp(`${name}@\\S+ .*${reason}`))
    await expectOnlyBitcoinAndLitecoin(app)
  })
})

test('without a network the start goes on, and says which command fetches what is missing', async () => {
  await withApp(
    'offline',
    async (app) => {
      expect(logged(app, 'ECONNREFUSED); run npm start again when')).toBe(2)
      await expectOnlyBitcoinAndLitecoin(app)
    },
    'http://127.0.0.1:9',
  )
})

test('an installation with live networks fetches nothing, and says what its sandbox lacks', async () => {
  const asked = registry.requests.length
  const env = {
    PATH,
    DATA_DIR: join(folder, 'live'),
    LIVE_LITECOIN_RPC_URL: 'http://127.0.0.1:9',
    npm_config_registry: registry.url,
  }
  const roles = await startRoles(['sandbox'], env, program())
  await roles.stop()
  expect(roles.stderr()).toContain('no anvil for')
  expect(roles.stderr()).toContain('litesvm-linux-x64-gnu is not installed')
  expect(registry.requests).toHaveLength(asked)
})
