import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { childEnvironment } from '../../config/child-environment.ts'
import type { Log } from '../../runtime/log.ts'
import { fetchPackage, PackageUnavailable } from '../fetch-package.ts'
import { ANVIL, localPackage, packageFor, thisPlatform } from '../platform-package.ts'

const VERSION_TIMEOUT_MS = 5_000

/** There is no anvil for this machine. The message is one line that names the fix. */
export class AnvilMissing extends Error {
  override name = 'AnvilMissing'
}

type Places = {
  readonly dataDir: string
  readonly log: Log
  /** Whether a package that is not here may be fetched. */
  readonly mayFetch?: boolean
  readonly platform?: string
  readonly onPath?: string
}

/**
 * The anvil to run: the one that npm installed or an earlier start fetched, else one on the PATH, else fetched now.
 * Throws `AnvilMissing` where there is none.
 */
export async function findAnvil(places: Places): Promise<string> {
  const { dataDir, log, mayFetch = false, platform = thisPlatform(), onPath = 'anvil' } = places
  const wanted = packageFor(ANVIL, platform)
  const folder = wanted === null ? null : await localPackage(wanted, dataDir)
  if (folder !== null) return join(folder, 'bin', 'anvil')
  if (await runs(onPath)) return onPath
  if (wanted === null || !mayFetch) throw anvilMissing(platform)
  try {
    return join(await fetchPackage(wanted, dataDir, log), 'bin', 'anvil')
  } catch (error) {
    if (!(error instanceof PackageUnavailable)) throw error
    throw anvilMissing(platform, error)
  }
}

const anvilMissing = (platform: string, cause?: PackageUnavailable): AnvilMissing =>
  new AnvilMissing(
    `no anvil for ${platform}, so the sandbox has no Ethereum and no Base: ${cause === undefined ? '' : `${cause.message}; run npm start again when the registry can be reached, or `}install Foundry (getfoundry.sh) so that anvil is on the PATH, or set TEST_ETHEREUM_RPC_URL and TEST_BASE_RPC_URL`,
    { cause },
  )

function runs(program: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, ['--version'], {
      stdio: 'ignore',
      timeout: VERSION_TIMEOUT_MS,
      env: childEnvironment(),
    })
    child.once('error', () => resolve(false))
    child.once('close', (code) => resolve(code === 0))
  })
}
