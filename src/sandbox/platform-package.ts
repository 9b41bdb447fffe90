import { readFileSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { z } from 'zod'

/** An npm package with a native program for one platform. */
export type PlatformPackage = {
  readonly name: string
  readonly version: string
  /** The file in it that must be executable, or null. */
  readonly executable: string | null
}

type Family = {
  /** The one that is locked: its version is the version of all. */
  readonly locked: string
  readonly executable: string | null
  readonly names: { readonly [platform: string]: string }
}

export const ANVIL: Family = {
  locked: '@foundry-rs/anvil-linux-amd64',
  executable: 'bin/anvil',
  names: {
    'linux-x64': '@foundry-rs/anvil-linux-amd64',
    'linux-arm64': '@foundry-rs/anvil-linux-arm64',
    'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
    'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  },
}
export const LITESVM: Family = {
  locked: 'litesvm-linux-x64-gnu',
  executable: null,
  names: {
    'linux-x64': 'litesvm-linux-x64-gnu',
    'linux-x64-musl': 'litesvm-linux-x64-musl',
    'linux-arm64': 'litesvm-linux-arm64-gnu',
    'linux-arm64-musl': 'litesvm-linux-arm64-musl',
    'darwin-x64': 'litesvm-darwin-x64',
    'darwin-arm64': 'litesvm-darwin-arm64',
  },
}

const reportSchema = z.object({ header: z.object({ glibcVersionRuntime: z.string().optional() }) })
const packageSchema = z.object({ optionalDependencies: z.record(z.string(), z.string()) })

/** Node's names of platform and architecture, and `-musl` where that is Linux' C library. */
export function thisPlatform(): string {
  const name = `${process.platform}-${process.arch}`
  if (process.platform !== 'linux') return name
  const { header } = reportSchema.parse(process.report.getReport())
  return header.glibcVersionRuntime === undefined ? `${name}-musl` : name
}

/** The family's package for a platform, in the version that package.json names; null where there is none. */
export function packageFor(family: Family, platform: string): PlatformPackage | null {
  const name = family.names[platform]
  if (name === undefined) return null
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const version = packageSchema.parse(JSON.parse(text)).optionalDependencies[family.locked]
  if (version === undefined) throw new Error(`package.json names no version of ${family.locked}`)
  return { name, version, executable: family.executable }
}

/** Where packages that a start fetched are kept. */
export const fetchedFolder = (dataDir: string, { name, version }: PlatformPackage): string =>
  join(dataDir, 'sandbox', 'packages', `${name.replace('/', '+')}@${version}`)

/** The folder of the package, as npm installed it or as an earlier start fetched it; null where it is not here. */
export async function localPackage(wanted: PlatformPackage, dataDir: string): Promise<string | null> {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${wanted.name}/package.json`))
  } catch {
    // An optional package that npm left out, which is what the question was.
  }
  const fetched = fetchedFolder(dataDir, wanted)
  return access(fetched).then(
    () => fetched,
    () => null,
  )
}
