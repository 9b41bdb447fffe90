import { z } from 'zod'
import { ASSET_IDS } from '../../core/assets.ts'
import type { Clock } from '../../runtime/clock.ts'
import { AnvilRefused, type RpcAnswer } from './anvil-process.ts'
import type { EvmChain } from './evm-chain.ts'
import type { EvmMiner } from './evm-miner.ts'
import { type EvmWallet, WalletRefused } from './evm-wallet.ts'

/** Anvil's methods that only read. What changes the chain goes through the journal, or not at all. */
const READING = /^(eth_(?!send)|net_|web3_|debug_(trace|getRaw)|trace_|txpool_)[A-Za-z]+$/
const MINE_MAX = 100

/** JSON-RPC 2.0's own codes. */
const CODES = { parse: -32_700, invalidRequest: -32_600, methodNotFound: -32_601, invalidParams: -32_602 }
/** EIP-1474: the request was understood and refused. */
const REFUSED = -32_000

export type EvmSandboxNode = {
  readonly chain: EvmChain
  readonly wallet: EvmWallet
  readonly miner: EvmMiner
  readonly clock: Clock
}

const hex = z.string().regex(/^0x[0-9a-f]*$/i)
const paySchema = z.tuple([z.enum(ASSET_IDS), hex, z.string().regex(/^[1-9][0-9]*$/)])
const showSchema = z.tuple([hex, z.enum(['detected', 'confirmed'])])
const replaceSchema = z.tuple([hex, hex.nullable()])
const mineSchema = z.tuple([z.int().min(1).max(MINE_MAX)])
const requestSchema = z.tuple([z.record(z.string(), z.unknown())]).rest(z.unknown())

/** The controls of the sandbox, and what wallets send. Each changes the chain. */
const METHODS: {
  readonly [method: string]: (node: EvmSandboxNode, params: unknown) => Promise<unknown>
} = {
  eth_sendRawTransaction: (node, params) => send(node, z.tuple([hex]).rest(z.unknown()).parse(params)[0]),
  eth_sendTransaction: async (node, params) =>
    send(node, await node.wallet.signFor(requestSchema.parse(params)[0])),
  sandbox_signpayment: (node, params) => {
    const [asset, address, amount] = paySchema.parse(params)
    return node.wallet.signPayment(asset, address, BigInt(amount), node.clock().getTime())
  },
  sandbox_show: (node, params) => show(node, ...showSchema.parse(params)),
  sandbox_replace: (node, params) => replace(node, ...replaceSchema.parse(params)),
  sandbox_mine: async (node, params) => {
    const [count] = mineSchema.parse(params)
    const hashes: string[] = []
    for (let made = 0; made < count; made++) hashes.push((await node.chain.mine()).hash)
    return hashes
  },
}

async function send(node: EvmSandboxNode, raw: string): Promise<string> {
  const txid = await node.chain.send(raw)
  node.wallet.settle(txid)
  node.miner.wake()
  return txid
}

/**
 * Puts a payment in a block, and lets the chain stand still while that block can be taken back: with no block above
 * it, which is no more than detected, or with one, which makes it safe and not final.
 */
async function show(node: EvmSandboxNode, raw: string, until: 'detected' | 'confirmed'): Promise<string> {
  if (!node.miner.keepStill())
    throw new WalletRefused('another test keeps this chain still: try again in a moment')
  try {
    const txid = await node.chain.send(raw)
    await node.chain.mine()
    if (until === 'confirmed') await node.chain.mine()
    return txid
  } catch (error) {
    node.miner.goOn()
    throw error
  }
}

/** Takes the block of a transaction back, puts what replaces it in its place where there is something, and goes on. */
async function replace(node: EvmSandboxNode, txid: string, instead: string | null): Promise<boolean> {
  try {
    const replaced = await node.chain.replaceBlocksFrom(txid, instead)
    if (instead !== null) node.wallet.settle(txid)
    return replaced
  } finally {
    node.miner.goOn()
  }
}

/** The answer to a request's text, one call or an array of them (JSON-RPC 2.0). `node` is null while the chain opens. */
export async function answerEvmRpc(
  text: string,
  node: EvmSandboxNode | null,
  onError: (error: unknown, method: string) => void,
): Promise<unknown> {
  let request: unknown
  try {
    request = JSON.parse(text)
  } catch {
    // Not JSON: the caller's mistake, answered as such.
    return reply(null, refusal(CODES.parse, 'Parse error'))
  }
  if (!Array.isArray(request)) return call(request, node, onError)
  return Promise.all(request.map((one: unknown) => call(one, node, onError)))
}

async function call(
  request: unknown,
  node: EvmSandboxNode | null,
  onError: (error: unknown, method: string) => void,
): Promise<unknown> {
  const id = typeof request === 'object' && request !== null && 'id' in request ? request.id : null
  const method =
    typeof request === 'object' && request !== null && 'method' in request ? request.method : null
  const params = typeof request === 'object' && request !== null && 'params' in request ? request.params : []
  if (typeof method !== 'string') return reply(id, refusal(CODES.invalidRequest, 'Invalid request'))
  if (node === null) return reply(id, refusal(REFUSED, 'The sandbox chain is being opened'))
  return reply(id, await perform(node, method, params, onError))
}

async function perform(
  node: EvmSandboxNode,
  method: string,
  params: unknown,
  onError: (error: unknown, method: string) => void,
): Promise<RpcAnswer> {
  try {
    const own = METHODS[method]
    if (own !== undefined) return { result: await own(node, params) }
    if (READING.test(method)) return await node.chain.ask(method, params)
    return refusal(CODES.methodNotFound, `the method ${method} is not available on the sandbox`)
  } catch (error) {
    if (error instanceof AnvilRefused) return refusal(error.code, error.message)
    if (error instanceof WalletRefused) return refusal(REFUSED, error.message)
    if (error instanceof z.ZodError) return refusal(CODES.invalidParams, 'Invalid params')
    // A fault of ours, or anvil died: this call ends, and the chain goes on.
    onError(error, method)
    return refusal(REFUSED, 'the sandbox chain failed: see its log')
  }
}

const refusal = (code: number, message: string): RpcAnswer => ({ error: { code, message } })

const reply = (id: unknown, { result, error }: RpcAnswer) =>
  error === undefined ? { jsonrpc: '2.0', id, result: result ?? null } : { jsonrpc: '2.0', id, error }
