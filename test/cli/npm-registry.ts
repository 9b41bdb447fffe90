import { execFile } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

const run = promisify(execFile)
const KEY_ID = 'SHA256:a-key-of-the-tests'

/** `tarball`: other bytes than the digest says. `everything`: other bytes, their digest, and the old signature. */
export type Tampering = 'none' | 'tarball' | 'everything'

export type NpmRegistry = {
  readonly url: string
  /** The registry's public keys, by id. */
  readonly keys: { readonly [keyId: string]: string }
  /** Paths that were asked for. */
  readonly requests: string[]
  tamper(with_: Tampering): void
  stop(): Promise<void>
}

type Package = { readonly name: string; readonly version: string; readonly tarball: Buffer }

/** An npm registry on this machine that signs what it serves, made from packages in `node_modules`. */
export async function startNpmRegistry(names: readonly string[]): Promise<NpmRegistry> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const packages = await Promise.all(names.map(packInstalled))
  const requests: string[] = []
  let tampering: Tampering = 'none'
  const served = ({ tarball }: Package) =>
    tampering === 'none' ? tarball : Buffer.concat([tarball, gzipSync('a thief')])
  const distOf = (one: Package, url: string) => {
    const signed = `${one.name}@${one.version}:${digestOf(one.tarball)}`
    return {
      tarball: `${url}/${one.name}/-/package-${one.version}.tgz`,
      integrity: digestOf(tampering === 'everything' ? served(one) : one.tarball),
      signatures: [
        { keyid: KEY_ID, sig: sign('sha256', Buffer.from(signed), privateKey).toString('base64') },
      ],
    }
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    requests.push(path)
    const found = packages.find(({ name }) => path.startsWith(`/${name}`))
    if (found === undefined) return void response.writeHead(404).end()
    if (path.endsWith('.tgz')) return void response.end(served(found))
    const { name, version } = found
    const dist = distOf(found, `http://${request.headers.host}`)
    const packument = {
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { name, version, dist } },
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(packument))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: { [KEY_ID]: publicKey.export({ format: 'der', type: 'spki' }).toString('base64') },
    requests,
    tamper: (with_) => {
      tampering = with_
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const digestOf = (bytes: Buffer): string => `sha512-${createHash('sha512').update(bytes).digest('base64')}`

async function packInstalled(name: string): Promise<Package> {
  const folder = new URL(`../../node_modules/${name}/`, import.meta.url).pathname
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
  const work = await mkdtemp(join(tmpdir(), 'paylink-pack-'))
  try {
    const file = join(work, 'package.tgz')
    await run('tar', ['-czf', file, '--transform', 's,^\\.,package,', '-C', folder, '.'])
    return { name, version, tarball: await readFile(file) }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
