import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { childEnvironment } from '../../config/config.ts'

/** Its name in Foundry's packages, by Node's names of platform and architecture. */
const PACKAGES: { readonly [platform: string]: string } = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
}
const VERSION_TIMEOUT_MS = 5_000

/** There is no anvil for this machine. The message is one line that names the fix. */
export class AnvilMissing extends Error {
  override name = 'AnvilMissing'
}

/** The anvil to run: the one that npm installed, else one on the PATH. Throws `AnvilMissing` where there is neither. */
export async function findAnvil(
  platform = `${process.platform}-${process.arch}`,
  onPath = 'anvil',
): Promise<string> {
  const installed = packagedAnvil(platform)
  if (installed !== null) return installed
  if (await runs(onPath)) return onPath
  throw new AnvilMissing(
    `no anvil for ${platform}, so the sandbox has no Ethereum and no Base: install Foundry (getfoundry.sh) so that anvil is on the PATH, or set TEST_ETHEREUM_RPC_URL and TEST_BASE_RPC_URL`,
  )
}

function packagedAnvil(platform: string): string | null {
  const name = PACKAGES[platform]
  if (name === undefined) return null
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${name}/bin/anvil`)
  } catch {
    // An optional package that npm left out, which is what the question was.
    return null
  }
}

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
