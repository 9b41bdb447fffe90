import type { ApiApp } from '../../src/http/api/app.ts'
import { API_PREFIX } from '../../src/http/api/route.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { CODES_OUTSIDE_ROUTES, problemCodesOf } from '../../src/http/docs/openapi.ts'
import { ERRORS } from '../../src/wire/errors.ts'

/** What the documents promise of an answer: a success's status, or an error's with its code. */
const DECLARED = ROUTES.map((route) => ({
  route,
  path: new RegExp(`^${API_PREFIX}${route.path.replace(':id', '[^/]+')}$`),
  answers: new Set([
    `${route.success.status}`,
    ...(route.success.found === undefined ? [] : ['200']),
    ...problemCodesOf(route).map((code) => `${ERRORS[code].status} ${code}`),
  ]),
}))
const OUTSIDE_ROUTES = new Set(CODES_OUTSIDE_ROUTES.map((code) => `${ERRORS[code].status} ${code}`))

/** The same app, except that an answer that the OpenAPI document does not declare for its route throws. */
export function withDeclaredAnswers(app: ApiApp): ApiApp {
  const answer = app.fetch
  app.fetch = async (request, ...rest) => {
    const response = await answer(request, ...rest)
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(`${API_PREFIX}/`) && request.method !== 'HEAD') {
      expectDeclared(request.method, pathname, response.status, await response.clone().text())
    }
    return response
  }
  return app
}

/** Throws where the document does not declare this answer of the API. */
export function expectDeclared(method: string, pathname: string, status: number, text: string): void {
  const declared = DECLARED.find(
    ({ route, path }) => route.method.toUpperCase() === method && path.test(pathname),
  )
  const answer = status < 300 ? `${status}` : `${status} ${JSON.parse(text).error.code}`
  if ((declared?.answers ?? OUTSIDE_ROUTES).has(answer)) return
  throw new Error(`${method} ${pathname} answered ${answer}, which its OpenAPI document does not declare`)
}
