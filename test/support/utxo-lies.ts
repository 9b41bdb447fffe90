import { type ChainLie, unstorableWords } from './chain-driver.ts'

type Rpc = <Result>(method: string, params?: readonly unknown[]) => Promise<Result>

/** How a node of Bitcoin Core's family can be wrong; `rpc` asks the real one, whose tip is three blocks ahead. */
export function utxoLies(rpc: Rpc): readonly ChainLie[] {
  const heightOf = () => rpc<{ blocks: number }>('getblockchaininfo').then(({ blocks }) => blocks)
  const hashBelow = async (depth: number) => rpc<string>('getblockhash', [(await heightOf()) - depth])
  return [
    unstorableWords('getbestblockhash'),
    {
      name: 'tells of an old head',
      outcome: 'unseen',
      tell: async (proxy) => {
        const height = (await heightOf()) - 3
        const hash = await hashBelow(3)
        proxy.lie('getbestblockhash', () => hash)
        proxy.lie('getblockchaininfo', (told) => ({
          ...(told as object),
          blocks: height,
          headers: height,
          bestblockhash: hash,
        }))
      },
    },
    {
      name: 'goes back to a lower height',
      outcome: { told: /not yet come back to block/ },
      tell: async (proxy) => {
        const height = (await heightOf()) - 8
        const hash = await hashBelow(8)
        proxy.lie('getbestblockhash', () => hash)
        proxy.lie('getblockheader', (header) => asSeenFrom(header, height))
      },
    },
    {
      name: 'gives another block than the one asked for',
      outcome: { told: /the node gave/ },
      tell: async (proxy) => {
        const other = await rpc('getblock', [await hashBelow(5), 0])
        proxy.lie('getblock', () => other)
      },
    },
    {
      name: 'cuts blocks off',
      outcome: { told: /damaged/ },
      tell: (proxy) => proxy.lie('getblock', (hex) => String(hex).slice(0, -20)),
    },
    {
      name: 'leaves transactions out of its blocks',
      outcome: { told: /transactions that are not the block's/ },
      tell: async (proxy) => {
        const empty = String(await rpc('getblock', [await hashBelow(0), 0]))
        // Header of the block asked for, contents of one that holds nothing of ours.
        proxy.lie('getblock', (hex) => `${String(hex).slice(0, 160)}${empty.slice(160)}`)
      },
    },
    {
      name: 'mixes the blocks of two forks',
      outcome: { told: /do not follow one another/ },
      tell: async (proxy) => {
        const other = await hashBelow(9)
        const second = (await heightOf()) - 1
        proxy.lie('getblockhash', (hash, { params }) => (params[0] === second ? other : hash))
      },
    },
    {
      name: 'claims a height that it does not have',
      outcome: { told: /getblockhash with/ },
      tell: (proxy) =>
        proxy.lie('getblockheader', (header) => {
          const told = header as { height: number; confirmations: number }
          return told.confirmations === 1 ? { ...told, height: told.height + 1_000 } : told
        }),
    },
    {
      name: 'fails at each block',
      outcome: { told: /Can't read block from disk/ },
      tell: (proxy) =>
        proxy.lie('getblock', () => {
          throw new Error("Can't read block from disk")
        }),
    },
    {
      name: 'hangs up in the middle of its answers',
      outcome: { told: /ended the connection/ },
      tell: (proxy) => proxy.hangUp(),
    },
    { name: 'is slow', outcome: 'harmless', tell: (proxy) => proxy.delay(60) },
  ]
}

/** A header as a node tells it that stands at `height`: what is above is on no chain of its. */
export function asSeenFrom(header: unknown, height: number): unknown {
  const told = header as { height: number; confirmations: number }
  return { ...told, confirmations: told.height > height ? -1 : height - told.height + 1 }
}
