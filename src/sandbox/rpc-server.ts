import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { RPC_METHODS } from './rpc-methods.ts'
import { RPC_ERRORS, RpcError } from './rpc-params.ts'
import type { SandboxNode } from './sandbox-node.ts'

export const RPC_USER = 'sandbox'
const MAX_REQUEST_BYTES = 4 * 1024 * 1024
const MAX_BATCH = 1_000
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 60_000

type Answer = { readonly status: number; readonly body: unknown }
type Reply = {
  readonly result: unknown
  readonly error: { readonly code: number; readonly message: string } | null
  readonly id: unknown
}

/**
 * JSON-RPC over HTTP as Bitcoin Core serves it: one user with a password, errors with status 500 (404 for an
 * unknown method, 401 without the password), several calls in one array. `node` is null while the chain loads.
 */
export function createRpcServer(options: {
  readonly password: string
  readonly node: () => SandboxNode | null
  readonly onError: (error: unknown, method: string) => void
}): Server {
  const expected = digestOf(`Basic ${Buffer.from(`${RPC_USER}:${options.password}`).toString('base64')}`)
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return end(response, 405, 'JSONRPC server handles only POST requests')
    if (!timingSafeEqual(digestOf(request.headers.authorization ?? ''), expected)) {
      response.setHeader('www-authenticate', 'Basic realm="jsonrpc"')
      return end(response, 401, '')
    }
    readBody(request, response, (text) => {
      const { status, body } = answer(text, options)
      response.setHeader('content-type', 'application/json')
      end(response, status, JSON.stringify(body))
    })
  })
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  return server
}

function answer(
  text: string,
  context: { node: () => SandboxNode | null; onError: (error: unknown, method: string) => void },
): Answer {
  let request: unknown
  try {
    request = JSON.parse(text)
  } catch {
    // What is no JSON is the caller's mistake, and this is how they are told.
    return { status: 500, body: failure(RPC_ERRORS.parse, 'Parse error', null) }
  }
  if (Array.isArray(request)) {
    if (request.length > MAX_BATCH) {
      return { status: 500, body: failure(RPC_ERRORS.invalidRequest, 'Too many calls at once', null) }
    }
    return { status: 200, body: request.map((one: unknown) => call(one, context)) }
  }
  const reply = call(request, context)
  return { status: statusOf(reply.error?.code), body: reply }
}

function statusOf(code: number | undefined): number {
  if (code === undefined) return 200
  if (code === RPC_ERRORS.methodNotFound) return 404
  return code === RPC_ERRORS.invalidRequest ? 400 : 500
}

function call(
  request: unknown,
  context: { node: () => SandboxNode | null; onError: (error: unknown, method: string) => void },
): Reply {
  if (typeof request !== 'object' || request === null) {
    return failure(RPC_ERRORS.invalidRequest, 'Invalid Request object', null)
  }
  const id = 'id' in request ? request.id : null
  const name = 'method' in request ? request.method : undefined
  const params = 'params' in request && request.params !== null ? request.params : []
  if (typeof name !== 'string') return failure(RPC_ERRORS.invalidRequest, 'Missing method', id)
  if (!Array.isArray(params)) return failure(RPC_ERRORS.invalidRequest, 'Params must be an array', id)
  const node = context.node()
  if (node === null) return failure(RPC_ERRORS.warmingUp, 'Loading block index...', id)
  const method = RPC_METHODS.get(name)
  if (method === undefined) return failure(RPC_ERRORS.methodNotFound, 'Method not found', id)
  try {
    return { result: method(node, params), error: null, id }
  } catch (error) {
    if (error instanceof RpcError) return failure(error.code, error.message, id)
    // A fault of ours ends this call and is told to the log; the chain goes on.
    context.onError(error, name)
    return failure(RPC_ERRORS.misc, 'Internal error', id)
  }
}

const failure = (code: number, message: string, id: unknown): Reply => ({
  result: null,
  error: { code, message },
  id,
})

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
