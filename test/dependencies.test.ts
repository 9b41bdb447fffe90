import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ANVIL, LITESVM, packageFor } from '../src/sandbox/platform-package.ts'
import { KNOWN_DIGESTS, REGISTRY_KEYS } from '../src/sandbox/registry-keys.ts'

/**
 * A dependency that nobody looked at is how other payment programs lost their keys. Whoever adds one reads it,
 * then lists it here: packages in `dependencies.txt`, direct ones with their reason in
 * docs/decisions/libraries.md, install scripts in package.json.
 */

const packageShape = z.object({
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()),
})
const lockShape = z.object({
  packages: z.record(
    z.string(),
    z.object({
      hasInstallScript: z.boolean().optional(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      link: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})
const seedsShape = z.record(z.string(), z.object({ targets: z.record(z.string(), z.string()) }))

const root = new URL('..', import.meta.url)
const readText = (path: string) => readFile(new URL(path, root), 'utf8')
const readPackage = async () => packageShape.parse(JSON.parse(await readText('package.json')))
const readLocked = async () =>
  Object.entries(lockShape.parse(JSON.parse(await readText('package-lock.json'))).packages)
    // The root and the workspaces are our own: they come with the repository and not from a registry.
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .map(([path, entry]) => ({ name: path.slice(path.lastIndexOf('node_modules/') + 13), ...entry }))

test('every package of the lockfile is listed in test/dependencies.txt, and no other', async () => {
  const listed = (await readText('test/dependencies.txt')).split('\n').filter((line) => line !== '')
  const locked = [...new Set((await readLocked()).map(({ name }) => name))].sort()
  expect(locked).toEqual(listed)
})

test('every install script that may run is listed in package.json', async () => {
  const { allowScripts } = await readPackage()
  // Programs of systems that Paylink does not support are locked but never installed.
  const supported = (name: string) => !/[-/](linux-(arm|ia32|ppc64)|windows-x64)$/.test(name)
  const withScript = (await readLocked()).filter(
    ({ hasInstallScript, name }) => hasInstallScript && supported(name),
  )
  const names = [...new Set(withScript.map(({ name }) => name))].sort()
  expect(names).toEqual(Object.keys(allowScripts).sort())
})

test('a workspace brings no package, and is no dependency of the product', async () => {
  const lock = lockShape.parse(JSON.parse(await readText('package-lock.json')))
  const links = Object.entries(lock.packages).filter(([, { link }]) => link === true)
  expect(links.map(([path, { resolved }]) => [path, resolved])).toEqual([
    ['node_modules/paylink-sdk', 'packages/sdk'],
  ])
  const manifest: object = JSON.parse(await readText('packages/sdk/package.json'))
  expect(manifest).not.toHaveProperty('dependencies')
  expect((await readPackage()).dependencies).not.toHaveProperty('paylink-sdk')
})

test('every locked package is pinned by its hash', async () => {
  expect((await readLocked()).filter(({ integrity }) => !integrity?.startsWith('sha512-'))).toEqual([])
})

test('the lockfile holds the packages of every platform, without which npm ci refuses it', async () => {
  const locked = await readLocked()
  const names = new Set(locked.map(({ name }) => name))
  const wanted = locked.flatMap(({ optionalDependencies }) => Object.keys(optionalDependencies ?? {}))
  expect(wanted.filter((name) => !names.has(name))).toEqual([])
})

test('every direct dependency is pinned to one version and has its reason in docs/decisions/libraries.md', async () => {
  const { dependencies, devDependencies, optionalDependencies } = await readPackage()
  const direct = { ...dependencies, ...devDependencies, ...optionalDependencies }
  expect(
    Object.entries(direct).filter(([, version]) => !/^\d+\.\d+\.\d+(-[a-z0-9.]+)?$/.test(version)),
  ).toEqual([])
  const reasons = await readText('docs/decisions/libraries.md')
  expect(Object.keys(direct).filter((name) => !reasons.includes(`\`${name}\``))).toEqual([])
})

test('what a start fetches is verified by the digests of the lockfile and the keys that npm trusts', async () => {
  const { optionalDependencies } = await readPackage()
  const digests = (await readLocked())
    .filter(({ name }) => optionalDependencies[name] !== undefined)
    .map(({ name, integrity }) => [`${name}@${optionalDependencies[name]}`, integrity])
  expect(KNOWN_DIGESTS).toMatchObject(Object.fromEntries(digests))
  // Those of other platforms are of the same releases.
  const fetched = [ANVIL, LITESVM].flatMap((family) =>
    Object.keys(family.names).map((platform) => packageFor(family, platform)),
  )
  const specs = fetched.map((wanted) => `${wanted?.name}@${wanted?.version}`)
  expect(Object.keys(KNOWN_DIGESTS).filter((spec) => !specs.includes(spec))).toEqual([])
  const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  const seeds = await readFile(join(modules, 'npm/node_modules/@sigstore/tuf/seeds.json'), 'utf8')
  // The trust root that npm ships: its files are in base64.
  const targets = Object.values(seedsShape.parse(JSON.parse(seeds))).flatMap((mirror) =>
    Object.entries(mirror.targets),
  )
  const keys =
    targets.find(([path]) => decodeURIComponent(path) === 'registry.npmjs.org/keys.json')?.[1] ?? ''
  for (const key of Object.values(REGISTRY_KEYS)) {
    expect(Buffer.from(keys, 'base64').toString()).toContain(key)
  }
})
