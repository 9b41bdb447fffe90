import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { readRootFile } from '../support/root-file.ts'

/** deploy/startos, built as its Makefile builds it, with StartOS's own SDK, whose types are its manifest's schema. */

const run = promisify(execFile)
const SOURCES = new URL('../../deploy/startos', import.meta.url).pathname
const TIMEOUT_MS = 300_000
const SHORT_MAX = 80
const LONG_MAX = 500
const UNBUILT = new Set(['node_modules', 'javascript'])

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-startos-'))
  await cp(SOURCES, folder, { recursive: true, filter: (path) => !UNBUILT.has(basename(path)) })
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder })
}, TIMEOUT_MS)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('the package passes the checks of the SDK and builds to a manifest', {
  timeout: TIMEOUT_MS,
}, async () => {
  await run('npm', ['run', '--silent', 'check'], { cwd: folder })
  await run('node', ['node_modules/@start9labs/start-sdk/lint.mjs'], { cwd: folder })
  await run('npm', ['run', '--silent', 'build'], { cwd: folder })
  const built: unknown = createRequire(import.meta.url)(join(folder, 'javascript/index.js'))
  const whole = z.looseObject({
    manifest: z.looseObject({
      id: z.literal('paylink'),
      version: z.string(),
      volumes: z.tuple([z.literal('main')]),
      description: z.object({ short: z.string().max(SHORT_MAX), long: z.string().max(LONG_MAX) }),
      images: z.object({ paylink: z.looseObject({ arch: z.array(z.string()) }) }),
    }),
  })
  const { manifest, ...exported } = whole.parse(built)
  expect(Object.keys(exported).sort()).toEqual(['actions', 'createBackup', 'init', 'main', 'uninit'])
  const { version } = z
    .looseObject({ version: z.string() })
    .parse(JSON.parse(await readRootFile('package.json')))
  expect(manifest.version).toBe(`${version}:0`)
  expect(manifest.images.paylink.arch).toEqual(['x86_64', 'aarch64'])
  // The Dockerfile that the manifest names is the project's own.
  const { dockerfile, workdir } = z
    .object({ dockerfile: z.string(), workdir: z.string() })
    .parse(Object(manifest.images.paylink.source).dockerBuild)
  expect(await readFile(join(SOURCES, dockerfile), 'utf8')).toContain('ENTRYPOINT')
  expect(join(SOURCES, workdir, 'Dockerfile')).toBe(join(SOURCES, dockerfile))
})
