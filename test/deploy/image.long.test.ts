// @module-tag podman
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** The image is built from the repository and runs as compose.yaml runs it. Needs root and Debian's podman. */

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const STAND_IN = new URL('node-image.sh', import.meta.url).pathname
const NODE_IMAGE = 'docker.io/library/node:24-bookworm-slim'
const BUILD_MS_MAX = 900_000
/** Of the machine's own kind; an emulated one takes ten times as long. */
const READY_MS_MAX = 300_000
const CERTIFICATES = '/etc/ssl/certs'
const CHROOT = { ...process.env, BUILDAH_ISOLATION: 'chroot' }
/** What compose.yaml gives every container. */
const LOCKED = ['--read-only', '--tmpfs=/tmp', '--cap-drop=ALL', '--security-opt=no-new-privileges']

const ASSETS = ['BTC', 'LTC', 'ETH', 'ETH_BASE', 'USDC_BASE']
/**
 * Paylink's lock file has the programs of amd64 alone: on arm64 the first start fetches them. Without SOL there, as not
 * every mirror of the registry has litesvm's package of that release for arm64.
 */
const PLATFORMS = [
  { architecture: 'amd64', machine: 'x86_64', assets: [...ASSETS, 'SOL'], tags: [] },
  { architecture: 'arm64', machine: 'aarch64', assets: ASSETS, tags: ['qemu'] },
] as const

const assetsShape = z.array(z.object({ asset: z.string(), available: z.boolean() }))
const name = `paylink-test-${randomBytes(4).toString('hex')}`
let folder: string
let port: number
const podman = async (...args: readonly string[]) =>
  (await run('podman', args, { maxBuffer: 10_000_000 })).stdout
const inside = (script: string) => podman('exec', name, 'sh', '-c', script)

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-image-'))
  port = await freePort()
})
afterEach(async () => {
  await podman('rm', '--force', '--ignore', name)
  await podman('volume', 'rm', '--force', name)
  await podman('rmi', '--force', '--ignore', name)
  await rm(folder, { recursive: true, force: true })
})

/** The image that ours begins with: pulled, or a stand-in. */
async function provideNodeImage(architecture: string): Promise<void> {
  const platform = `--platform=linux/${architecture}`
  const pulled = await run('podman', ['pull', '--quiet', platform, NODE_IMAGE]).then(
    () => true,
    () => false,
  )
  if (pulled) return
  const kept = await podman('images', '--quiet', NODE_IMAGE)
  const inspect = ['image', 'inspect', '--format={{.Architecture}}', NODE_IMAGE]
  if (kept !== '' && (await podman(...inspect)).trim() === architecture) return
  await run(STAND_IN, [NODE_IMAGE, architecture])
}

/** npm inside asks the registry that npm here asks, and believes whom this machine believes. */
async function mountsOfNpm(): Promise<string[]> {
  const npmrc = join(folder, 'npmrc')
  const own = join(homedir(), '.npmrc')
  await (existsSync(own) ? copyFile(own, npmrc) : writeFile(npmrc, ''))
  const cafile = join(CERTIFICATES, 'ca-certificates.crt')
  if (existsSync(cafile)) await writeFile(npmrc, `\ncafile=${cafile}\n`, { flag: 'a' })
  // The program inside is another user's.
  await chmod(folder, 0o755)
  await chmod(npmrc, 0o644)
  return [`${npmrc}:/root/.npmrc:ro`, `${npmrc}:/run/npmrc:ro`, `${CERTIFICATES}:${CERTIFICATES}:ro`].map(
    (mount) => `--volume=${mount}`,
  )
}

async function build(architecture: string): Promise<void> {
  await provideNodeImage(architecture)
  const given = [
    '--pull-never',
    `--platform=linux/${architecture}`,
    '--network=host',
    ...(await mountsOfNpm()),
  ]
  await run('buildah', ['bud', '--format=docker', ...given, '--tag', name, ROOT], {
    env: CHROOT,
    maxBuffer: 100_000_000,
  })
}

async function start(): Promise<{ key: string }> {
  const env = [`--env=PORT=${port}`, `--env=OPERATOR_PORT=${await freePort()}`]
  const limits = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096']
  const npm = [...(await mountsOfNpm()), '--env=npm_config_userconfig=/run/npmrc']
  const given = ['--network=host', `--volume=${name}:/data`, ...LOCKED, ...limits, ...env, ...npm]
  await podman('run', '--detach', '--runtime=runc', '--name', name, ...given, name)
  const logs = async () => {
    const { stdout, stderr } = await run('podman', ['logs', name])
    return stdout + stderr
  }
  await until(async () => (await logs()).includes('Stop with Ctrl-C'), { timeoutMs: READY_MS_MAX })
  return { key: /Test API key +(\S+)/.exec(await logs())?.[1] ?? '' }
}

async function ask(key: string, method: string, path: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(response.status).toBeLessThan(300)
  return z
    .looseObject({ id: z.string().optional(), status: z.string().optional() })
    .parse(await response.json())
}

/** An invoice in a coin whose chain may still be starting. */
async function invoice(key: string, asset: string): Promise<string> {
  const isReady = async () => {
    const { data } = await ask(key, 'GET', '/assets')
    return assetsShape.parse(data).some((coin) => coin.asset === asset && coin.available)
  }
  await until(isReady, { what: `invoices in ${asset} can be made`, timeoutMs: READY_MS_MAX })
  return (await ask(key, 'POST', '/invoices', { usd_amount: '7.00', asset })).id ?? ''
}

describe.each(PLATFORMS)('for $architecture', ({ architecture, machine, assets, tags }) => {
  test('the image runs without rights on a read-only disk, takes payments, and keeps them in its volume', {
    timeout: 2 * BUILD_MS_MAX,
    tags: [...tags],
  }, async () => {
    await build(architecture)
    const { key } = await start()
    expect(await inside('uname -m')).toBe(`${machine}\n`)
    expect(await inside('id -u')).toBe('1000\n')
    expect(await inside('grep CapBnd /proc/self/status')).toMatch(/\b0{16}\n/)
    await expect(inside('touch /app/new')).rejects.toThrow(/Read-only file system/)
    expect(await inside('node /app/deploy/health-check.mjs && echo healthy')).toBe('healthy\n')
    // What only a build needs stays out of it, and so does everything of this machine's.
    const left = await inside('ls -a /app; ls /app/node_modules /root 2>/dev/null || true')
    for (const unwanted of [
      'playwright-core',
      'vite',
      'typescript',
      'react-dom',
      'src',
      'test',
      '.git',
      '.npmrc',
    ])
      expect(left.split('\n')).not.toContain(unwanted)
    const paid: string[] = []
    for (const asset of assets) {
      const id = await invoice(key, asset)
      await ask(key, 'POST', `/test/invoices/${id}/pay`, { scenario: 'exact' })
      await until(async () => (await ask(key, 'GET', `/invoices/${id}`)).status === 'paid', {
        timeoutMs: READY_MS_MAX,
      })
      paid.push(id)
    }
    await podman('stop', '--time=45', name)
    expect(await podman('inspect', name, '--format={{.State.ExitCode}}')).toBe('0\n')
    await podman('rm', name)
    const again = await start()
    for (const id of paid) expect((await ask(again.key, 'GET', `/invoices/${id}`)).status).toBe('paid')
  })
})
