import type { Hono } from 'hono'
import type { ApiVariables } from '../api/answer-request.ts'
import { ApiProblem } from '../api/problem.ts'
import { API_PREFIX, type Route } from '../api/route.ts'
import { DOCS_CSP, renderErrorCatalogue, renderReference } from './docs-page.tsx'
import { openApiDocument } from './openapi.ts'

const CACHE_SECONDS = 300

/** Serves `/openapi.json`, `/docs` and `/docs/errors`, made once from the routes. */
export function addDocumentation(app: Hono<ApiVariables>, routes: readonly Route[], baseUrl: string): void {
  const document = openApiDocument(routes, baseUrl)
  const json = JSON.stringify(document)
  const pages = new Map([
    ['/docs', renderReference(document)],
    ['/docs/errors', renderErrorCatalogue()],
  ])
  for (const path of ['/openapi.json', `${API_PREFIX}/openapi.json`]) {
    app.get(path, (c) =>
      c.body(json, 200, {
        ...c.get('headers'),
        'content-type': 'application/json; charset=utf-8',
        'cache-control': `public, max-age=${CACHE_SECONDS}`,
      }),
    )
  }
  for (const [path, page] of pages) {
    app.get(path, (c) =>
      c.body(page, 200, {
        ...c.get('headers'),
        'content-type': 'text/html; charset=utf-8',
        'cache-control': `public, max-age=${CACHE_SECONDS}`,
        'content-security-policy': DOCS_CSP,
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      }),
    )
  }
  for (const path of ['/openapi.json', `${API_PREFIX}/openapi.json`, ...pages.keys()]) {
    app.all(path, () => {
      throw new ApiProblem('method_not_allowed', { headers: { allow: 'GET, HEAD' } })
    })
  }
}
