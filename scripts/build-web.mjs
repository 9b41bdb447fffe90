import { createHash } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { renderGuides } from './render-guides.mjs'

/**
 * Builds what browsers get: the dashboard into dist/dashboard, every file beside its compressed forms, and into dist/pages
 * the scripts and styles that the server's own pages carry inline and the guides of docs/. What was built from is remembered: a second start with
 * the same sources builds nothing. With `--watch` it builds on every change and writes a line for `npm run dev` each time.
 */

const ROOT = new URL('..', import.meta.url).pathname
const SOURCES = join(ROOT, 'src/web/dashboard')
const OUT = join(ROOT, 'dist/dashboard')
const PAGES = join(ROOT, 'dist/pages')
/** Each becomes one file in dist/pages; a style's own, empty script is thrown away. */
const PAGE_SCRIPTS = {
  checkout: 'src/web/checkout/browser/checkout.ts',
  embed: 'src/web/embed/browser/embed.ts',
  till: 'src/web/till/browser/till.ts',
  docs: 'src/web/docs/browser/docs.ts',
}
const PAGE_STYLES = {
  checkout: 'src/web/checkout/browser/checkout.css',
  till: 'src/web/till/browser/till.css',
  docs: 'src/web/styles/docs.css',
  audit: 'src/web/styles/audit.css',
}
const MARK = join(PAGES, '.built-from')
/** Below this a compressed form saves no packet. */
const COMPRESS_BYTES_MIN = 512

const watches = process.argv.includes('--watch')
const inputs = await inputsHash()
if (watches || (await readFile(MARK, 'utf8').catch(() => '')) !== inputs) await buildAll()

async function buildAll() {
  const { build } = await import('vite')
  const { default: react } = await import('@vitejs/plugin-react')
  await rm(PAGES, { recursive: true, force: true })
  const watchers = []
  for (const [name, path] of Object.entries(PAGE_SCRIPTS)) {
    const output = { format: 'iife', entryFileNames: `${name}.js` }
    watchers.push(await build(pageBuild({ [name]: join(ROOT, path) }, output)))
  }
  const styles = Object.entries(PAGE_STYLES).map(([name, path]) => [name, join(ROOT, path)])
  const output = { entryFileNames: 'empty/[name].js', assetFileNames: '[name].css' }
  watchers.push(await build(pageBuild(Object.fromEntries(styles), output)))
  const dashboard = await build({
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
  for (const watcher of [...watchers, dashboard]) {
    watcher.on('event', ({ code, result }) => {
      if (code === 'BUNDLE_END') void result?.close()
      if (code === 'ERROR') void result?.close()
      if (code === 'END') void finish().then(() => process.stdout.write('the pages are built\n'))
    })
  }
}

/** How the scripts and styles of the server's own pages are built. */
function pageBuild(input, output) {
  return {
    configFile: false,
    root: ROOT,
    publicDir: false,
    logLevel: 'warn',
    build: {
      outDir: PAGES,
      emptyOutDir: false,
      target: 'es2022',
      modulePreload: { polyfill: false },
      sourcemap: false,
      rollupOptions: { input, output },
      watch: watches ? {} : null,
    },
  }
}

async function finish() {
  await rm(join(PAGES, 'empty'), { recursive: true, force: true })
  const guides = await renderGuides(ROOT)
  await writeFile(join(PAGES, 'guides.json'), JSON.stringify(guides))
  for (const picture of guides.flatMap(({ pictures }) => pictures)) {
    const copy = join(PAGES, 'images', picture)
    await mkdir(dirname(copy), { recursive: true })
    await copyFile(join(ROOT, 'docs/images', picture), copy)
  }
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
  const browsers = ['checkout', 'embed', 'till', 'docs'].map((part) => `src/web/${part}/browser`)
  const names = [...browsers, 'src/web/styles', 'src/wire', 'docs']
  const folders = [SOURCES, ...names.map((name) => join(ROOT, name))]
  const listed = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ),
  )
  const scripts = ['build-web.mjs', 'render-guides.mjs'].map((name) => join(ROOT, 'scripts', name))
  const paths = [...listed.flat(), ...scripts, join(ROOT, 'package-lock.json')].sort()
  const hash = createHash('sha256')
  for (const path of paths)
    hash
      .update(`${relative(ROOT, path)}\0`)
      .update(await readFile(path))
      .update('\0')
  return hash.digest('hex')
}
