import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

/**
 * Builds the dashboard for the browser into dist/dashboard, every file beside its compressed forms, so that the server only reads.
 * What it was built from is remembered there: a second start with the same sources builds nothing. With `--watch` it builds on every
 * change and writes a line for `npm run dev` each time.
 */

const ROOT = new URL('..', import.meta.url).pathname
const SOURCES = join(ROOT, 'src/web/dashboard')
const OUT = join(ROOT, 'dist/dashboard')
const MARK = join(OUT, '.built-from')
/** Below this a compressed form saves no packet. */
const COMPRESS_BYTES_MIN = 512

const watches = process.argv.includes('--watch')
const inputs = await inputsHash()
if (watches || (await readFile(MARK, 'utf8').catch(() => '')) !== inputs) await buildAll()

async function buildAll() {
  const { build } = await import('vite')
  const { default: react } = await import('@vitejs/plugin-react')
  const watcher = await build({
    configFile: false,
    root: SOURCES,
    base: '/dashboard/',
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir: OUT,
      emptyOutDir: true,
      target: 'es2022',
      // A polyfill would be an inline script, which the content security policy refuses.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      sourcemap: false,
      watch: watches ? {} : null,
    },
  })
  if (!watches) return finish()
  watcher.on('event', ({ code, result }) => {
    if (code === 'BUNDLE_END') void result?.close()
    if (code === 'ERROR') void result?.close()
    if (code === 'END') void finish().then(() => process.stdout.write('the dashboard is built\n'))
  })
}

async function finish() {
  const names = await readdir(OUT, { recursive: true })
  await Promise.all(
    names.filter((name) => /\.(?:js|css|svg)$/.test(name)).map((name) => compress(join(OUT, name))),
  )
  await writeFile(MARK, await inputsHash())
}

async function compress(path) {
  const bytes = await readFile(path)
  if (bytes.length < COMPRESS_BYTES_MIN) return
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes))
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
}

/** Of everything that the result is made from: our sources, the schemas they read, this script, the libraries. */
async function inputsHash() {
  const folders = [SOURCES, join(ROOT, 'src/wire')]
  const listed = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ),
  )
  const paths = [...listed.flat(), new URL(import.meta.url).pathname, join(ROOT, 'package-lock.json')].sort()
  const hash = createHash('sha256')
  for (const path of paths)
    hash
      .update(`${relative(ROOT, path)}\0`)
      .update(await readFile(path))
      .update('\0')
  return hash.digest('hex')
}
