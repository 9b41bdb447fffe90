import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { openShop } from '../flows/open-shop.ts'
import { findSignIn } from './find-sign-in.ts'
import type { People } from './open-people.ts'
import { AUTH_PREFIX, SERVED_PATHS } from './paths.ts'

const BODY_BYTES_MAX = 16 * 1_024
const NO_STORE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/**
 * Sign-in and everything around it, for the dashboard: the library's endpoints, those that are listed and no
 * other, asked in JSON and from the dashboard's own pages.
 */
export function createPeopleApp(options: {
  people: People
  pool: Pool
  clock: Clock
  baseUrl: string
}): Hono {
  const { people, baseUrl } = options
  const app = new Hono()
  app.use(
    `${AUTH_PREFIX}/*`,
    bodyLimit({ maxSize: BODY_BYTES_MAX, onError: (c) => c.json(problem('BODY_TOO_LARGE'), 413, NO_STORE) }),
  )
  app.post(`${AUTH_PREFIX}/*`, async (c, next) => {
    if (!isJson(c.req.header('content-type'))) return c.json(problem('JSON_ONLY'), 415, NO_STORE)
    if (!isOwnPage(c.req.raw.headers, baseUrl)) return c.json(problem('CROSS_ORIGIN'), 403, NO_STORE)
    return next()
  })
  app.post(`${AUTH_PREFIX}/open-shop`, async (c) => {
    const signIn = await findSignIn(people, c.req.raw.headers)
    if (signIn === null) return c.json(problem('SIGN_IN'), 401, NO_STORE)
    const input = shopShape.safeParse(await c.req.json().catch(() => null))
    if (!input.success) return c.json(problem('NAME_INVALID'), 400, NO_STORE)
    const opened = await openShop(options, { ...signIn, name: input.data.name })
    if (opened.kind === 'too_many') return c.json(problem('TOO_MANY_SHOPS'), 409, NO_STORE)
    return c.json({ merchant_id: opened.merchantId }, 201, NO_STORE)
  })
  app.on(['GET', 'POST'], `${AUTH_PREFIX}/*`, async (c) => {
    const path = c.req.path.slice(AUTH_PREFIX.length)
    if (!SERVED_PATHS.has(path)) return c.json(problem('NOT_FOUND'), 404, NO_STORE)
    // Links are built on BASE_URL, whatever name the caller knows us by.
    const request = new Request(new URL(c.req.path + new URL(c.req.url).search, baseUrl), c.req.raw)
    const response = await people.handler(request)
    for (const [name, value] of Object.entries(NO_STORE)) response.headers.set(name, value)
    return response
  })
  app.all('*', (c) => c.json(problem('NOT_FOUND'), 404, NO_STORE))
  return app
}

const isJson = (type: string | undefined): boolean => /^application\/json(?:;|$)/i.test(type ?? '')

/** No page of another site can forge these two headers; whoever calls without a browser must send Origin. */
function isOwnPage(headers: Headers, baseUrl: string): boolean {
  const site = headers.get('sec-fetch-site')
  return headers.get('origin') === baseUrl && (site === null || site === 'same-origin')
}

const NAME_LENGTH_MAX = 120
const shopShape = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(NAME_LENGTH_MAX)
    .regex(/^\P{Cc}*$/u)
    .refine((name) => name.trim() !== ''),
})

const MESSAGES = {
  SIGN_IN: 'Sign in first.',
  NAME_INVALID: `Give the shop a name of 1 to ${NAME_LENGTH_MAX} characters.`,
  TOO_MANY_SHOPS: 'You belong to as many organizations as one person can.',
  NOT_FOUND: 'There is nothing here.',
  JSON_ONLY: 'Send JSON.',
  CROSS_ORIGIN: 'This works from the dashboard itself only.',
  BODY_TOO_LARGE: 'The request is too large.',
}
const problem = (code: keyof typeof MESSAGES) => ({ code, message: MESSAGES[code] })
