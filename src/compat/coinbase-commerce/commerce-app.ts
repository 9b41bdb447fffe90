import { type Context, Hono } from 'hono'
import { ApiProblem } from '../../http/api/problem.ts'
import { ERRORS } from '../../wire/errors.ts'
import { invoiceList, invoiceView } from '../../wire/invoice.ts'
import { type CompatDeps, createOwnApi, type OwnApi, ownId, Refused } from '../own-api.ts'
import { readFields } from '../read-fields.ts'
import { chargeOf, chargeRequest, FIELDS } from './charge.ts'

const LIMIT_DEFAULT = 25
const LIMIT_MAX = 100

/** Coinbase Commerce's charges, as far as docs/coming-from-elsewhere.md says, below the given path. */
export function createCommerceApp(deps: CompatDeps, path: string): Hono {
  const app = new Hono().basePath(path)
  const apiOf = (c: Context): OwnApi => createOwnApi(deps, c.req.header('x-cc-api-key') ?? null)
  app.post('/charges', async (c) => {
    const request = chargeRequest(await readFields(c.req.raw))
    if (request.kind === 'refused')
      throw new Refused(400, { code: 'validation_error', message: request.message })
    const idempotencyKey = c.req.header('idempotency-key')
    const call = { method: 'POST', path: '/invoices', body: request.body, idempotencyKey } as const
    return c.json({ data: chargeOf(await apiOf(c).call(call, invoiceView)) }, 201)
  })
  app.get('/charges', (c) => listCharges(c, apiOf(c)))
  app.get('/charges/:id', async (c) => {
    const charge = { method: 'GET', path: pathOf(c) } as const
    return c.json({ data: chargeOf(await apiOf(c).call(charge, invoiceView)) })
  })
  app.post('/charges/:id/cancel', async (c) => {
    const cancel = { method: 'POST', path: `${pathOf(c)}/cancel` } as const
    return c.json({ data: chargeOf(await apiOf(c).call(cancel, invoiceView)) })
  })
  app.post('/charges/:id/resolve', async (c) => {
    const resolve = { method: 'POST', path: `${pathOf(c)}/resolve`, body: { resolution: 'accept' } } as const
    return c.json({ data: chargeOf(await apiOf(c).call(resolve, invoiceView)) })
  })
  app.notFound(() => errorAnswer(404, 'not_found', 'Paylink does not translate this route.', null))
  app.onError((error, c) => answerError(deps, c, error))
  return app
}

const pathOf = (c: Context): string => `/invoices/${ownId(c.req.param('id') ?? '')}`

async function listCharges(c: Context, api: OwnApi): Promise<Response> {
  const {
    limit = String(LIMIT_DEFAULT),
    order = 'desc',
    starting_after,
    ending_before,
    ...others
  } = c.req.query()
  const [unknown] = Object.keys(others)
  if (unknown !== undefined || order !== 'desc')
    throw new Refused(400, { code: 'invalid_request', message: `${unknown ?? 'order=asc'} is not covered` })
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > LIMIT_MAX)
    throw new Refused(400, { code: 'invalid_request', message: `limit must be from 1 to ${LIMIT_MAX}` })
  const query = { limit, starting_after, ending_before }
  const { data } = await api.call({ method: 'GET', path: '/invoices', query }, invoiceList)
  const [first, last] = [data[0]?.id, data.at(-1)?.id]
  return c.json({
    pagination: {
      order,
      starting_after: starting_after ?? null,
      ending_before: ending_before ?? null,
      yielded: data.length,
      limit: Number(limit),
      cursor_range: first === undefined || last === undefined ? [] : [first, last],
    },
    data: data.map(chargeOf),
  })
}

/** Error types that Coinbase Commerce's clients tell apart. */
const TYPES: { readonly [status: number]: string } = {
  401: 'authentication_error',
  403: 'authentication_error',
  404: 'not_found',
  422: 'validation_error',
  429: 'rate_limit_exceeded',
}

function answerError(deps: CompatDeps, c: Context, error: Error): Response {
  if (error instanceof ApiProblem) {
    return errorAnswer(ERRORS[error.code].status, 'invalid_request', error.message, null)
  }
  if (error instanceof Refused) {
    const field = error.status === 400 && error.param !== null ? FIELDS[error.param] : undefined
    if (field !== undefined) return errorAnswer(400, 'validation_error', `${field}: ${error.message}`, null)
    const type = TYPES[error.status] ?? (error.code === 'validation_error' ? error.code : 'invalid_request')
    return errorAnswer(
      error.status,
      error.status >= 500 ? 'internal_server_error' : type,
      error.message,
      error.retryAfter,
    )
  }
  deps.log.error({ err: error, path: c.req.path }, 'a translated request failed')
  return errorAnswer(500, 'internal_server_error', 'Something went wrong on our side.', null)
}

function errorAnswer(status: number, type: string, message: string, retryAfter: string | null): Response {
  const headers = retryAfter === null ? {} : { 'retry-after': retryAfter }
  return Response.json({ error: { type, message } }, { status, headers })
}
