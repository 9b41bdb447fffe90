import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { parseTransaction } from 'viem'
import { type EvmReceipt, receiptsSchema } from '../../src/chain/evm/evm-answers.ts'
import { receiptsRootOf } from '../../src/chain/evm/receipts-root.ts'
import { TRANSFER_GAS } from '../../src/core/payout/gas.ts'
import { type Anvil, hex, newEvmAddress } from './anvil.ts'

/** ArbOS itself, which begins each block with a transaction of its own. */
const ARBOS = '0x00000000000000000000000000000000000a4b05'
const RETRYABLES = '0x000000000000000000000000000000000000006e'
const TYPES = { deposit: '0x64', submitRetryable: '0x69', internal: '0x6a' } as const
/** Bytes of a signed plain transfer. */
const TRANSFER_BYTES = 115n
/** What an estimate has more than is charged: a tenth, and the price of gas an eighth lower (arbos/tx_processor.go). */
const ESTIMATE_ROOM = { times: 88n, parts: 70n }
const NO_BLOOM = `0x${'00'.repeat(256)}`

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
type Fields = { readonly [name: string]: unknown }
type Block = Fields & {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly (string | Fields)[]
}
type Side = { readonly [address: string]: unknown }
type Trace = { readonly txHash: string; readonly result: { readonly pre: Side; readonly post: Side } }

/** An anvil that answers as a node of Arbitrum does. */
export type NitroNode = {
  readonly url: string
  /** Gas that the data of a plain transfer takes, of longer ones as much more; 0 at first. */
  setDataGas(gas: bigint): void
  /** Ether that comes over the bridge, in the next block: a transaction that no account of this chain has signed; its id. */
  deposit(to: string, amount: bigint): Promise<string>
  /** What a ticket of the bridge gives back of its fees, in the next block: named in no transaction, and in no trace. */
  refund(to: string, amount: bigint): Promise<string>
  close(): Promise<void>
}

class Refusal extends Error {}

export async function startNitroNode(anvil: Anvil): Promise<NitroNode> {
  let dataGas = 0n
  /** Plain transfers of anvil that stand for what only Arbitrum has, by their ids. */
  const disguised = new Map<string, { readonly type: string; readonly to: string; readonly from: string }>()
  const refunded = (txid: string) =>
    disguised.get(txid)?.type === TYPES.submitRetryable ? disguised.get(txid) : undefined

  /** Each block begins with one of ArbOS's own. */
  const internalOf = ({ number }: Pick<Block, 'number'>): string =>
    `0x6a${BigInt(number).toString(16).padStart(62, '0')}`

  const disguise = (of: Fields, txid: string): Fields => {
    const as = disguised.get(txid)
    if (as === undefined) return of
    const isRefund = as.type === TYPES.submitRetryable
    const own = { type: as.type, from: as.from, ...(isRefund ? { to: RETRYABLES } : {}) }
    return { ...of, ...own, ...(isRefund && 'value' in of ? { value: '0x0' } : {}) }
  }
  const receiptsOf = async (block: Block): Promise<Fields[]> => {
    const own = await anvil.rpc<Fields[]>('eth_getBlockReceipts', [block.hash])
    const internal = {
      transactionHash: internalOf(block),
      blockHash: block.hash,
      blockNumber: block.number,
      from: ARBOS,
      to: ARBOS,
      type: TYPES.internal,
      status: '0x1',
      cumulativeGasUsed: '0x0',
      gasUsed: '0x0',
      gasUsedForL1: '0x0',
      effectiveGasPrice: '0x0',
      logsBloom: NO_BLOOM,
      logs: [],
    }
    return [internal, ...own.map((one) => disguise(one, String(one.transactionHash)))]
  }
  const blockOf = async (block: Block | null, isFull: boolean): Promise<Block | null> => {
    if (block === null) return null
    const hash = internalOf(block)
    const internal = isFull
      ? {
          hash,
          type: TYPES.internal,
          from: ARBOS,
          to: ARBOS,
          value: '0x0',
          nonce: '0x0',
          gas: '0x0',
          input: '0x',
        }
      : hash
    const own = block.transactions.map((one) =>
      typeof one === 'string' ? one : disguise(one, String(one.hash)),
    )
    const receipts: EvmReceipt[] = receiptsSchema.parse(await receiptsOf(block))
    return { ...block, receiptsRoot: receiptsRootOf(receipts), transactions: [internal, ...own] }
  }
  const traceOf = ({ txHash, result: { pre, post } }: Trace): Trace => {
    const without = (side: Side): Side =>
      Object.fromEntries(
        Object.entries(side).filter(([address]) => address.toLowerCase() !== refunded(txHash)?.to),
      )
    return { txHash, result: { pre: without(pre), post: without(post) } }
  }

  const answers: { readonly [method: string]: (params: readonly unknown[]) => Promise<unknown> } = {
    eth_maxPriorityFeePerGas: async () => '0x0',
    eth_estimateGas: async ([call]) => {
      const { gas: limit, ...rest } = call as { gas?: string }
      const data = (dataGas * ESTIMATE_ROOM.times) / ESTIMATE_ROOM.parts
      const needed = BigInt(await anvil.rpc<string>('eth_estimateGas', [rest])) + data
      if (limit !== undefined && BigInt(limit) < needed)
        throw new Refusal(`gas required exceeds allowance (${BigInt(limit)})`)
      return hex(needed)
    },
    eth_sendRawTransaction: async ([raw]) => {
      const { gas = 0n } = parseTransaction(raw as `0x${string}`)
      const bytes = BigInt((raw as string).length / 2 - 1)
      if (gas < TRANSFER_GAS + (dataGas * bytes) / TRANSFER_BYTES) throw new Refusal('intrinsic gas too low')
      return anvil.rpc('eth_sendRawTransaction', [raw])
    },
    eth_getBlockByNumber: async ([place, isFull]) =>
      blockOf(await anvil.rpc('eth_getBlockByNumber', [place, isFull]), isFull === true),
    eth_getBlockByHash: async ([hash, isFull]) =>
      blockOf(await anvil.rpc('eth_getBlockByHash', [hash, isFull]), isFull === true),
    eth_getBlockReceipts: async ([hash]) => receiptsOf(await anvil.rpc('eth_getBlockByHash', [hash, false])),
    debug_traceBlockByHash: async ([hash, options]) => {
      const block = await anvil.rpc<Block>('eth_getBlockByHash', [hash, false])
      const own = await anvil.rpc<Trace[]>('debug_traceBlockByHash', [hash, options])
      return [{ txHash: internalOf(block), result: { pre: {}, post: {} } }, ...own.map(traceOf)]
    },
  }
  const answer = async ({ id, method, params }: Call): Promise<Fields> => {
    try {
      const ask = answers[method]
      const result = ask === undefined ? await anvil.rpc(method, params) : await ask(params)
      return { jsonrpc: '2.0', id, result }
    } catch (error) {
      const message = error instanceof Error ? error.message.replace(`${method}: `, '') : String(error)
      return { jsonrpc: '2.0', id, error: { code: -32_000, message } }
    }
  }
  const server = createServer((request, response) => {
    void buffer(request)
      .then((text) => JSON.parse(text.toString('utf8')) as Call | Call[])
      .then(async (asked) =>
        Array.isArray(asked) ? await Promise.all(asked.map(answer)) : await answer(asked),
      )
      .then((told) => response.end(JSON.stringify(told)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const listening = server.address()
  if (listening === null || typeof listening === 'string') throw new Error('the node has no port')

  const send = async (type: string, to: string, value: bigint): Promise<string> => {
    const txid = await anvil.send({ to, value })
    disguised.set(txid, { type, to: to.toLowerCase(), from: newEvmAddress().address })
    return txid
  }
  return {
    url: `http://127.0.0.1:${listening.port}`,
    setDataGas: (gas) => {
      dataGas = gas
    },
    deposit: (to, amount) => send(TYPES.deposit, to, amount),
    refund: (to, amount) => send(TYPES.submitRetryable, to, amount),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
