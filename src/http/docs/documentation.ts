import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Context, Hono } from 'hono'
import { builtFile } from '../../web/built-files.ts'
import type { ApiVariables } from '../api/answer-request.ts'
import { ApiProblem } from '../api/problem.ts'
import { API_PREFIX, type Route } from '../api/route.ts'
import { DOCS_CSP } from './docs-layout.tsx'
import { renderErrorCatalogue } from './errors-page.tsx'
import { GUIDE_PICTURES, GUIDE_SOURCES, guidePages, llmsTxt, renderMissing } from './guides.tsx'
import { openApiDocument } from './openapi.ts'
import { renderReference } from './reference-page.tsx'
import { searchEntries } from './search-entries.ts'

const CACHE_SECONDS = 300
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': DOCS_CSP,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}
const MISSING = renderMissing()
const FILE_TYPES: { readonly [extension: string]: string } = {
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * Everything that is served below `/docs`, `/openapi.json` and `/llms.txt`, by path: pages as HTML, files of the type that
 * their names end in, and pictures.
 */
export function documentationOf(routes: readonly Route[], baseUrl: string) {
  const { files, pages } = textsOf(routes, baseUrl)
  const written = (texts: Texts) => new Map([...texts].map(([path, text]) => [path, text()]))
  return { files: written(files), pages: written(pages), pictures: GUIDE_PICTURES, missing: MISSING }
}

type Texts = ReadonlyMap<string, () => string>

/** Each text is written when it is first asked for: all of them together are a tenth of a start's work. */
function textsOf(routes: readonly Route[], baseUrl: string): { files: Texts; pages: Texts } {
  const document = kept(() => openApiDocument(routes, baseUrl))
  const json = kept(() => JSON.stringify(document()))
  return {
    files: new Map([
      ['/openapi.json', json],
      [`${API_PREFIX}/openapi.json`, json],
      ['/docs/search.json', kept(() => JSON.stringify(searchEntries(document())))],
      ['/llms.txt', kept(() => llmsTxt(baseUrl))],
      ...[...GUIDE_SOURCES].map(([path, source]) => [path, () => source] as const),
    ]),
    pages: new Map([
      ['/docs', kept(() => renderReference(document()))],
      ['/docs/errors', kept(renderErrorCatalogue)],
      ...guidePages().map(([path, render]) => [path, kept(render)] as const),
    ]),
  }
}

function kept<Made>(make: () => Made): () => Made {
  let made: { readonly it: Made } | null = null
  return () => {
    made ??= { it: make() }
    return made.it
  }
}

/** For a person whose link leads to no page of the documentation. */
export const missingPage = (c: Context<ApiVariables>): Response =>
  c.body(MISSING, 404, { ...c.get('headers'), ...PAGE_HEADERS, 'cache-control': 'no-store' })

/** Serves the documentation, each text of which is made once from the routes and the documents. */
export function addDocumentation(app: Hono<ApiVariables>, routes: readonly Route[], baseUrl: string): void {
  const { files, pages } = textsOf(routes, baseUrl)
  for (const [path, file] of files) {
    const type = FILE_TYPES[extname(path)]
    if (type === undefined) throw new Error(`${path} has no type`)
    app.get(path, (c) =>
      c.body(file(), 200, {
        ...c.get('headers'),
        'content-type': type,
        'cache-control': `public, max-age=${CACHE_SECONDS}`,
      }),
    )
  }
  for (const [path, page] of pages) {
    app.get(path, (c) =>
      c.body(page(), 200, {
        ...c.get('headers'),
        ...PAGE_HEADERS,
        'cache-control': `public, max-age=${CACHE_SECONDS}`,
      }),
    )
  }
  for (const [path, picture] of GUIDE_PICTURES) {
    app.get(path, async (c) =>
      c.body(await readFile(builtFile(picture)), 200, {
        ...c.get('headers'),
        'content-type': path.endsWith('.svg') ? 'image/svg+xml' : 'image/png',
        'cache-control': `public, max-age=${CACHE_SECONDS}`,
      }),
    )
  }
  for (const path of [...files.keys(), ...pages.keys(), ...GUIDE_PICTURES.keys()]) {
    app.all(path, () => {
      throw new ApiProblem('method_not_allowed', { headers: { allow: 'GET, HEAD' } })
    })
  }
}
