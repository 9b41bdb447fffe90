import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Changes } from './changes.ts'
import { RPC_USER } from './own-port.ts'

const MAX_REQUEST_BYTES = 4 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 60_000
/** `GET` of this path with the last count is answered at the next change, or after a while. */
export const CHANGES_PATH = '/changes?after='
const CHANGES_WAIT_MS = 20_000

type HttpAnswer = { readonly status: number; readonly text: string }

/** An HTTP server that answers one POST at a time to whoever has the password, and reports changes; 401 without it. The path may be the password in place of a header. */
export function createPasswordServer(options: {
  readonly password: string
  readonly answer: (body: string) => HttpAnswer | Promise<HttpAnswer>
  readonly onError: (error: unknown) => void
  readonly changes: Changes
}): Server {
  const expected = digestOf(basicOf(options.password))
  const server = createServer((request, response) => {
    const isOfChanges = request.method === 'GET' && request.url?.startsWith(CHANGES_PATH) === true
    if (request.method !== 'POST' && !isOfChanges)
      return end(response, 405, 'JSONRPC server handles only POST requests')
    // Some clients send no header of their own: as path it is what hosted nodes take as key.
    const given = request.headers.authorization ?? basicOf(request.url?.slice(1) ?? '')
    if (!timingSafeEqual(digestOf(given), expected)) {
      response.setHeader('www-authenticate', 'Basic realm="jsonrpc"')
      return end(response, 401, '')
    }
    if (isOfChanges) {
      const known = Number(request.url?.slice(CHANGES_PATH.length))
      options.changes
        .until(known, CHANGES_WAIT_MS)
        .then(() => end(response, 200, String(options.changes.count)), options.onError)
      return
    }
    readBody(request, response, (body) => {
      Promise.resolve(options.answer(body)).then(
        ({ status, text }) => {
          response.setHeader('content-type', 'application/json')
          end(response, status, text)
        },
        (error: unknown) => {
          options.onError(error)
          end(response, 500, '')
        },
      )
    })
  })
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  return server
}

function readBody(request: IncomingMessage, response: ServerResponse, then: (text: string) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_REQUEST_BYTES) chunks.push(chunk)
    else if (!response.headersSent) {
      response.setHeader('connection', 'close')
      end(response, 413, '')
    }
  })
  request.on('end', () => {
    if (size <= MAX_REQUEST_BYTES) then(Buffer.concat(chunks).toString('utf8'))
  })
  // A caller who went away wants no answer.
  request.on('error', () => response.destroy())
}

function end(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status
  response.end(text)
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

const basicOf = (password: string): string =>
  `Basic ${Buffer.from(`${RPC_USER}:${password}`).toString('base64')}`
