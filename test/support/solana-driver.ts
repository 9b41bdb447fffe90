import { randomBytes } from 'node:crypto'
import { address, getAddressDecoder, getBase58Decoder } from '@solana/kit'
import { SolanaAdapter, type WayOfWatching } from '../../src/chain/solana/solana-adapter.ts'
import { type AssetId, isToken } from '../../src/core/assets.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { SANDBOX_MINTS } from '../../src/sandbox/solana/sandbox-mints.ts'
import { startSolanaChain } from '../../src/sandbox/solana/start-solana-chain.ts'
import type { ChainDriver, ChainLie, DrivenChain } from './chain-driver.ts'
import { temporaryFolder } from './sandbox-state.ts'
import { lever, SolanaPayer } from './solana-payer.ts'

const ROOM_BELOW = 200
const SIGNATURES_PER_CALL = 1_000
/** Tokens of a payer, base units. */
const PLENTY = 10n ** 15n

/** A page of `getSignaturesForAddress`, as full as it may be, of transactions that failed. */
export const pageOfFailed = () =>
  Array.from({ length: SIGNATURES_PER_CALL }, () => ({
    signature: getBase58Decoder().decode(randomBytes(64)),
    slot: 10,
    err: { InstructionError: [0, 'Custom'] },
    memo: null,
    blockTime: null,
    confirmationStatus: 'finalized',
  }))

/** Drives the Solana sandbox, paid in one of its assets: the real virtual machine, whose blocks come only when asked for. */
export function solanaDriver(way: WayOfWatching, asset: AssetId = 'SOL'): ChainDriver<DrivenSolana> {
  return {
    title: `${asset} on Solana, watched by ${way}`,
    network: 'solana-test',
    asset,
    amount: 250_000_000n,
    seesWaiting: false,
    settlesLater: true,
    waitsForDropped: true,
    readsEveryBlock: way === 'blocks',
    start: async () => {
      const folder = await temporaryFolder()
      const open = () =>
        startSolanaChain({
          dataDir: folder.path,
          clock: systemClock,
          log: createLogger('silent'),
          lag: { confirmed: 0, finalized: 0 },
          slotMs: 0,
          skipEvery: 0,
        })
      const sandbox = await open()
      const payer = await SolanaPayer.fund(sandbox.rpcUrl)
      if (isToken(asset)) await payer.giveTokens(asset, payer.signer.address, PLENTY)
      await payer.mine(ROOM_BELOW)
      return new DrivenSolana({ way, asset, open, payer, removeFolder: folder.remove }, sandbox)
    },
  }
}

type Sandbox = Awaited<ReturnType<typeof startSolanaChain>>
type Parts = {
  readonly way: WayOfWatching
  readonly asset: AssetId
  readonly open: () => Promise<Sandbox>
  readonly payer: SolanaPayer
  readonly removeFolder: () => Promise<void>
}

export class DrivenSolana implements DrivenChain {
  readonly url: string
  readonly recipe: DrivenChain['recipe']
  readonly lies: DrivenChain['lies']
  readonly payer: SolanaPayer
  readonly #parts: Parts
  readonly #options: {
    livemode: false
    rpcUrl: string
    rpcSetting: string
    tokenContracts: typeof SANDBOX_MINTS
    way: WayOfWatching
    probeIntervalMs: number
  }
  #sandbox: Sandbox
  #held: string[] = []

  constructor(parts: Parts, sandbox: Sandbox) {
    const { way, payer } = parts
    this.#sandbox = sandbox
    this.#parts = parts
    this.payer = payer
    this.url = sandbox.rpcUrl
    this.#options = {
      livemode: false,
      rpcUrl: this.url,
      rpcSetting: 'TEST_SOLANA_RPC_URL',
      tokenContracts: SANDBOX_MINTS,
      way,
      probeIntervalMs: 50,
    }
    this.recipe = { module: 'chain/solana/solana-adapter.js', name: 'SolanaAdapter', options: this.#options }
    this.lies = solanaLies(this.url, way)
  }

  adapter(
    rpcUrl = this.url,
    changes: { readonly isPatient?: boolean; readonly blocksMs?: number } = {},
  ): SolanaAdapter {
    return new SolanaAdapter({ ...this.#options, rpcUrl, clock: systemClock, ...changes })
  }

  /** The same chain, watched in another way. */
  watchedBy(way: WayOfWatching): DrivenSolana {
    return new DrivenSolana({ ...this.#parts, way }, this.#sandbox)
  }

  async tipHash(): Promise<string> {
    const { value } = await this.payer.client.getLatestBlockhash({ commitment: 'confirmed' }).send()
    return value.blockhash
  }

  async newAddress(): Promise<{ address: string; addressBytes: Buffer }> {
    const addressBytes = randomBytes(32)
    return { address: getAddressDecoder().decode(addressBytes), addressBytes }
  }

  async pay(to: string, amount: bigint): Promise<string> {
    const { asset, payer } = this.#parts
    if (!isToken(asset)) return payer.pay(address(to), amount)
    return payer.send(await payer.tokens(asset, address(to), amount))
  }

  async replace(): Promise<void> {
    throw new Error('nothing on Solana waits to be replaced')
  }

  async mine(blocks: number): Promise<void> {
    for (const txid of this.#held) await lever(this.url, 'sandbox_release', [txid])
    this.#held = []
    await lever(this.url, 'sandbox_mine', [blocks])
  }

  async reorganise(depth: number, waiting?: string): Promise<void> {
    if (waiting === undefined) await lever(this.url, 'sandbox_reorganise', [depth])
    else {
      await lever(this.url, 'sandbox_reorganiseaway', [waiting])
      this.#held.push(waiting)
    }
  }

  stop(): Promise<void> {
    return this.#sandbox.stop()
  }

  async startAgain(): Promise<void> {
    this.#sandbox = await this.#parts.open()
  }

  async remove(): Promise<void> {
    await this.#sandbox.stop()
    await this.#parts.removeFolder()
  }
}

type Block = { transactions?: unknown[]; parentSlot?: number; previousBlockhash?: string }

/** How a Solana node can be wrong; the real one's tip is three blocks ahead. */
function solanaLies(url: string, way: WayOfWatching): readonly ChainLie[] {
  const slot = async () => Number(await lever(url, 'getSlot', [{ commitment: 'confirmed' }]))
  const everywhere: ChainLie[] = [
    {
      name: 'tells of an old head',
      outcome: 'unseen',
      tell: async (proxy) => {
        const old = (await slot()) - 3
        proxy.lie('getSlot', () => old)
      },
    },
    {
      name: 'goes far back',
      outcome: { told: /not yet come back to slot/ },
      tell: (proxy) => proxy.lie('getSlot', () => 1),
    },
    {
      name: 'hangs up in the middle of its answers',
      outcome: { told: /ended the connection|no JSON/ },
      tell: (proxy) => proxy.hangUp(),
    },
    { name: 'is slow', outcome: 'harmless', tell: (proxy) => proxy.delay(60) },
  ]
  const ofBlocks: ChainLie[] = [
    {
      name: 'leaves a block out of its list',
      outcome: { told: /do not follow one another/ },
      tell: async (proxy) => {
        const left = (await slot()) - 2
        proxy.lie('getBlocks', (told) => (told as number[]).filter((each) => each !== left))
      },
    },
    {
      name: 'leaves balances out of its blocks',
      outcome: { told: /gives an answer that is none/ },
      tell: (proxy) =>
        proxy.lie('getBlock', (told) => {
          const block = told as Block
          return { ...block, transactions: (block.transactions ?? [{}]).map(() => ({})) }
        }),
    },
    {
      name: 'mixes the blocks of two forks',
      outcome: { told: /do not follow one another/ },
      tell: async (proxy) => {
        const second = (await slot()) - 1
        proxy.lie('getBlock', (told, { params }) =>
          params[0] === second ? { ...(told as Block), previousBlockhash: 'x'.repeat(44) } : told,
        )
      },
    },
  ]
  const ofAccounts: ChainLie[] = [
    {
      name: 'lists no signatures for an account that has changed',
      outcome: 'harmless',
      tell: (proxy) => proxy.lie('getSignaturesForAddress', () => []),
    },
    {
      name: 'gives no transaction for a signature it listed',
      outcome: 'harmless',
      tell: (proxy) => proxy.lie('getTransaction', () => null),
    },
    {
      name: 'reads accounts at an old slot',
      outcome: 'unseen',
      tell: async (proxy) => {
        const old = (await slot()) - 3
        proxy.lie('getMultipleAccounts', (told) => {
          const { value } = told as { value: unknown[] }
          return { context: { slot: old }, value: value.map(() => null) }
        })
      },
    },
  ]
  const own = way === 'blocks' ? ofBlocks : ofAccounts
  return [...everywhere, ...own.map((lie) => ({ ...lie, isOfAsset: true }))]
}
