import type { Server } from 'node:http'
import { createPasswordServer } from '../password-server.ts'
import { ACCOUNT_METHODS } from './rpc-account-methods.ts'
import { BLOCK_METHODS } from './rpc-block-methods.ts'
import { CONTROL_METHODS } from './rpc-control-methods.ts'
import { RPC_CODES, SolanaRpcError, stringifyWithBigints } from './rpc-support.ts'
import type { SolanaNode } from './solana-node.ts'

const BATCH_MAX = 100
export const WARMING_UP = 'Node is warming up'

type Context = {
  readonly node: () => SolanaNode | null
  readonly onError: (error: unknown, method: string) => void
}

/** JSON-RPC over HTTP as Solana's nodes serve it: status 200 with an error in the body, calls one by one or in an array. */
export function createSolanaRpcServer(options: Context & { readonly password: string }): Server {
  return createPasswordServer({
    password: options.password,
    answer: async (body) => ({ status: 200, text: stringifyWithBigints(await answer(body, options)) }),
    onError: (error) => options.onError(error, 'any'),
  })
}

async function answer(body: string, context: Context): Promise<unknown> {
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    // Not JSON: the caller's mistake, answered as such.
    return failure(null, RPC_CODES.parse, 'Parse error')
  }
  if (!Array.isArray(request)) return call(request, context)
  if (request.length === 0 || request.length > BATCH_MAX) {
    return failure(null, RPC_CODES.invalidRequest, `a batch holds 1 to ${BATCH_MAX} calls`)
  }
  const answers: unknown[] = []
  for (const one of request) answers.push(await call(one, context))
  return answers
}

async function call(request: unknown, context: Context): Promise<unknown> {
  if (typeof request !== 'object' || request === null || !('method' in request)) {
    return failure(null, RPC_CODES.invalidRequest, 'Invalid request')
  }
  const id = 'id' in request ? request.id : null
  const params: unknown = 'params' in request ? request.params : []
  const name = String(request.method)
  const method = BLOCK_METHODS.get(name) ?? ACCOUNT_METHODS.get(name) ?? CONTROL_METHODS.get(name)
  if (method === undefined) return failure(id, RPC_CODES.methodNotFound, 'Method not found')
  if (params !== undefined && !Array.isArray(params)) {
    return failure(id, RPC_CODES.invalidParams, 'Invalid params: expected an array')
  }
  const node = context.node()
  if (node === null) return failure(id, RPC_CODES.nodeUnhealthy, WARMING_UP)
  try {
    return { jsonrpc: '2.0', result: await method(node, params ?? []), id }
  } catch (error) {
    if (error instanceof SolanaRpcError) return failure(id, error.code, error.message, error.data)
    // A fault of ours ends this call and is told to the log; the chain goes on.
    context.onError(error, name)
    return failure(id, RPC_CODES.internal, 'Internal error')
  }
}

const failure = (id: unknown, code: number, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  error: { code, message, ...(data === undefined ? {} : { data }) },
  id,
})
