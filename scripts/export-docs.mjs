import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROUTES } from '../dist/http/api/routes.js'
import { documentationOf } from '../dist/http/docs/documentation.js'
import { builtFile } from '../dist/web/built-files.js'

/**
 * `npm run docs -- FOLDER BASE_URL`: writes the documentation as files, to publish at the root of a static site. `BASE_URL`
 * is where the API of the samples is. Without Paylink behind the site “Try it” gets no answer, and says so.
 */
const [folder, baseUrl] = process.argv.slice(2)
if (folder === undefined || baseUrl === undefined) {
  process.stderr.write('usage: npm run docs -- FOLDER BASE_URL\n')
  process.exit(2)
}
const routes = ROUTES.filter((route) => route.dashboardOnly !== true)
const { files, pages, pictures, missing } = documentationOf(routes, baseUrl)
const shown = await Promise.all(
  [...pictures].map(async ([path, picture]) => [path, await readFile(builtFile(picture))]),
)
const dashboard = `href="${new URL('/dashboard/', baseUrl)}`
const named = [...[...pages].map(([path, page]) => [`${path}/index.html`, page]), ['/404.html', missing]]
const asFiles = named.map(([name, page]) => [name, page.replaceAll('href="/dashboard/', dashboard)])
const all = [...files, ...shown, ...asFiles]
for (const [path, content] of all) {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
}
process.stdout.write(`${all.length} files are in ${folder}\n`)
