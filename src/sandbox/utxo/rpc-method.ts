import type { Params } from './rpc-params.ts'
import type { SandboxNode } from './sandbox-node.ts'

/** One method: throws `RpcError` for what it refuses, and what it returns becomes JSON. */
export type RpcMethod = (node: SandboxNode, params: Params) => unknown
