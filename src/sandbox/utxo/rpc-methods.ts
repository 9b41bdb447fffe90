import { CHAIN_METHODS } from './rpc-chain-methods.ts'
import { CONTROL_METHODS } from './rpc-control-methods.ts'
import { MEMPOOL_METHODS } from './rpc-mempool-methods.ts'
import type { RpcMethod } from './rpc-method.ts'

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
export const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map(
  Object.entries({ ...NODE_METHODS, ...CHAIN_METHODS, ...MEMPOOL_METHODS, ...CONTROL_METHODS }),
)
