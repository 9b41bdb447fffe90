import type { Server } from 'node:http'
import type { Changes } from '../changes.ts'
import { createPasswordServer } from '../password-server.ts'
import { MEMPOOL_METHODS } from './rpc-mempool-methods.ts'
import type { RpcMethod } from './rpc-method.ts'
import { CHAIN_METHODS, CONTROL_METHODS } from './rpc-methods.ts'
import { RPC_ERRORS, RpcError } from './rpc-params.ts'
import type { SandboxNode } from './sandbox-node.ts'

const NODE_METHODS: { readonly [method: string]: RpcMethod } = {
  getnetworkinfo: ({ state }) => ({
    version: state.parameters.version,
    subversion: state.parameters.subversion,
    protocolversion: 70016,
    localrelay: true,
    timeoffset: 0,
    networkactive: false,
    connections: 0,
    networks: [],
    relayfee: 0.00001,
    incrementalfee: 0.00001,
    localaddresses: [],
    warnings: '',
  }),
  /** The sandbox publishes nothing by ZMQ: who watches it asks again and again. */
  getzmqnotifications: () => [],
  uptime: ({ uptimeS }) => uptimeS,
}

/** Every method by its name. A Map, because a name such as `constructor` is no method. */
const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map(
  Object.entries({ ...NODE_METHODS, ...CHAIN_METHODS, ...MEMPOOL_METHODS, ...CONTROL_METHODS }),
)

const MAX_BATCH = 1_000

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
  readonly changes: Changes
  readonly onError: (error: unknown, method: string) => void
}): Server {
  return createPasswordServer({
    password: options.password,
    changes: options.changes,
    answer: (text) => {
      const { status, body } = answer(text, options)
      return { status, text: JSON.stringify(body) }
    },
    onError: (error) => options.onError(error, 'any'),
  })
}

function answer(
  text: string,
  context: { node: () => SandboxNode | null; onError: (error: unknown, method: string) => void },
): Answer {
  let request: unknown
  try {
    request = JSON.parse(text)
  } catch {
    // Not JSON: the caller's mistake, answered as such.
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
    // A fault of ours ends this call and is logged; the chain goes on.
    context.onError(error, name)
    return failure(RPC_ERRORS.misc, 'Internal error', id)
  }
}

const failure = (code: number, message: string, id: unknown): Reply => ({
  result: null,
  error: { code, message },
  id,
})
