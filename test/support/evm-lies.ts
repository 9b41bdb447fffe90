import type { NativeMode } from '../../src/chain/evm/block-reader.ts'
import { type AssetId, isToken } from '../../src/core/assets.ts'
import { type Anvil, hex } from './anvil.ts'
import { type ChainLie, unstorableWords } from './chain-driver.ts'

type Block = { readonly hash: string; readonly number: string }

/** How a node of Ethereum's kind can be wrong; `anvil` is the real one, whose tip is three blocks ahead. */
export function evmLies(anvil: Anvil, asset: AssetId, mode: NativeMode): readonly ChainLie[] {
  const blockBelow = async (depth: number) =>
    anvil.rpc<Block>('eth_getBlockByNumber', [hex(BigInt((await anvil.height()) - depth)), false])
  const common: ChainLie[] = [
    unstorableWords('eth_getBlockByNumber'),
    {
      name: 'tells of an old head',
      outcome: 'unseen',
      tell: async (proxy) => {
        const old = await blockBelow(3)
        proxy.lie('eth_blockNumber', () => old.number)
        proxy.lie('eth_getBlockByNumber', (told, { params }) => (params[0] === 'latest' ? old : told))
      },
    },
    {
      name: 'goes back to a lower height',
      outcome: { told: /not yet come back to block/ },
      tell: async (proxy) => {
        const old = await blockBelow(8)
        proxy.lie('eth_getBlockByNumber', (told, { params }) => (params[0] === 'latest' ? old : told))
      },
    },
    {
      name: 'mixes the blocks of two forks',
      outcome: { told: /do not follow one another/ },
      tell: async (proxy) => {
        const [other, second] = [await blockBelow(9), (await blockBelow(1)).number]
        proxy.lie('eth_getBlockByNumber', (told, { params }) => (params[0] === second ? other : told))
      },
    },
    {
      name: 'is on another chain',
      outcome: { told: /is on chain 1, and (ethereum|base|arbitrum|polygon)-test is chain/ },
      tell: (proxy) => {
        proxy.lie('eth_chainId', () => '0x1')
        proxy.lie('eth_getBlockByNumber', () => {
          throw new Error('internal error')
        })
      },
    },
    {
      name: 'answers only so many calls',
      outcome: { told: /rate limit/ },
      tell: (proxy) =>
        proxy.lie('eth_getBlockByNumber', () => {
          throw new Error('rate limit exceeded')
        }),
    },
    {
      name: 'hangs up in the middle of its answers',
      outcome: { told: /ended the connection/ },
      tell: (proxy) => proxy.hangUp(),
    },
    { name: 'is slow', outcome: 'harmless', tell: (proxy) => proxy.delay(40) },
  ]
  const own = isToken(asset) ? tokenLies : mode === 'traces' ? traceLies(blockBelow) : balanceLies(blockBelow)
  return [...common, ...own.map((lie) => ({ ...lie, isOfAsset: true }))]
}

const tokenLies: readonly ChainLie[] = [
  {
    name: 'gives no logs for a block that has some',
    outcome: { told: /gave no logs for block \d+, and its receipts hold some/ },
    tell: (proxy) => proxy.lie('eth_getLogs', () => []),
  },
  {
    name: 'gives neither logs nor receipts for a block that has some',
    outcome: { told: /receipts of block \S+ that are not its transactions'/ },
    tell: (proxy) => {
      proxy.lie('eth_getLogs', () => [])
      proxy.lie('eth_getBlockReceipts', () => [])
    },
  },
  {
    name: 'leaves logs out of its receipts',
    outcome: { told: /do not have the root in its header/ },
    tell: (proxy) => {
      proxy.lie('eth_getLogs', () => [])
      proxy.lie('eth_getBlockReceipts', (told) => (told as object[]).map((each) => ({ ...each, logs: [] })))
    },
  },
  {
    name: 'gives logs of another block',
    outcome: { told: /not what it was asked for|reorganised while its logs were read/ },
    tell: (proxy) =>
      proxy.lie('eth_getLogs', (told) =>
        (told as object[]).map((each) => ({ ...each, blockHash: `0x${'ab'.repeat(32)}` })),
      ),
  },
]

const traceLies = (blockBelow: (depth: number) => Promise<Block>): readonly ChainLie[] => [
  {
    name: 'leaves transactions out of its traces',
    outcome: { told: /traces of block \S+ that are not its transactions'/ },
    tell: (proxy) => proxy.lie('debug_traceBlockByHash', () => []),
  },
  {
    name: 'has no state left to trace a block by',
    outcome: { told: /cannot trace block \d+ \(historical state is not available\).*archive node/ },
    tell: (proxy) =>
      proxy.lie('debug_traceBlockByHash', (told) =>
        (told as { txHash: string }[]).map(({ txHash }) => ({
          txHash,
          error: 'historical state is not available',
        })),
      ),
  },
  {
    name: 'gives the traces of another block',
    outcome: { told: /traces of block \S+ that are not its transactions'/ },
    tell: async (proxy) => {
      await blockBelow(0)
      proxy.lie('debug_traceBlockByHash', (told) =>
        (told as object[]).map((each) => ({ ...each, txHash: `0x${'ab'.repeat(32)}` })),
      )
    },
  },
]

const balanceLies = (blockBelow: (depth: number) => Promise<Block>): readonly ChainLie[] => [
  {
    name: 'gives another block than the one asked for',
    outcome: { told: /does not know block|do not follow one another/ },
    tell: async (proxy) => {
      const other = { ...(await blockBelow(5)), transactions: [] }
      proxy.lie('eth_getBlockByHash', () => other)
      // Of several blocks, each is asked for by its height.
      proxy.lie('eth_getBlockByNumber', (told, { params }) => (params[1] === true ? other : told))
    },
  },
  {
    name: 'tells balances of before the block',
    outcome: { told: /does not add up over block/ },
    tell: (proxy) => proxy.lie('eth_call', (told) => `0x${'0'.repeat(String(told).length - 2)}`),
  },
]
