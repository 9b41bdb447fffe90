import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { AssetId } from '../../core/assets.ts'
import { type EvmChain as EvmNetworkName, evmNetworkOf } from '../../core/chain/evm-networks.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { Changes } from '../changes.ts'
import type { SandboxControls, SignedPayment } from '../controls.ts'
import { type SandboxPlace, serveOnOwnPort, THIS_MACHINE } from '../own-port.ts'
import { createPasswordServer } from '../password-server.ts'
import { SandboxRpc } from '../sandbox-rpc.ts'
import { findAnvil } from './anvil-program.ts'
import { EvmChain } from './evm-chain.ts'
import { sandboxTokensOf } from './evm-genesis.ts'
import { EvmMiner } from './evm-miner.ts'
import { answerEvmRpc, type EvmSandboxNode } from './evm-rpc.ts'
import { EvmWallet } from './evm-wallet.ts'

export type SandboxEvm = {
  readonly chain: EvmNetworkName
  readonly chainId: number
  /** What counts as its tokens there. */
  readonly tokenContracts: TokenContracts
  /** Address of its RPC, credentials included; the same after every restart. */
  readonly rpcUrl: string
  readonly client: EvmSandboxClient
  stop(): Promise<void>
}

type Options = {
  readonly chain: EvmNetworkName
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  /** Time between blocks while something happens; 0: blocks come only when asked for. */
  readonly blockIntervalMs: number
  /** `TEST_…_USDC_ADDRESS` and its like: contracts that somebody puts there, in the place of ours. */
  readonly tokenContracts?: TokenContracts
  readonly place?: SandboxPlace
  /** Whether an anvil that is not here may be fetched. */
  readonly mayFetch?: boolean
}

/**
 * Serves the EVM sandbox chain that lives in `<dataDir>/sandbox/<chain>`, see `serveOnOwnPort`. Throws `AnvilMissing`
 * where this machine has no anvil, `JournalDamaged`, and the system's errors.
 */
export async function startEvmChain(options: Options): Promise<SandboxEvm> {
  const { chain, log, place = THIS_MACHINE } = options
  const program = await findAnvil(options)
  const folder = join(options.dataDir, 'sandbox', chain)
  const tokenContracts = { ...sandboxTokensOf(chain), ...options.tokenContracts }
  const onError = (error: unknown, method?: string) =>
    log.error({ err: error, chain, method }, 'the sandbox chain failed')
  const changes = new Changes()
  let node: EvmSandboxNode | null = null
  const port = await serveOnOwnPort({
    folder,
    place,
    chain,
    log,
    probe: { method: 'eth_chainId', warming: 'is being opened' },
    createServer: (password) =>
      createPasswordServer({
        password,
        changes,
        answer: async (text) => ({
          // Clients try again by themselves while the chain is being opened.
          status: node === null ? 503 : 200,
          text: JSON.stringify(await answerEvmRpc(text, node, onError)),
        }),
        onError,
      }),
    open: async () => {
      const opened = await openNode(folder, { ...options, program, tokenContracts, onError, changes })
      node = opened
      return async () => {
        node = null
        await opened.miner.stop()
        await opened.chain.stop()
      }
    },
  })
  const client = new EvmSandboxClient(port.rpcUrl)
  return {
    chain,
    chainId: evmNetworkOf(chain).sandboxChainId,
    tokenContracts,
    rpcUrl: port.rpcUrl,
    client,
    stop: async () => {
      await client.close()
      await port.stop()
    },
  }
}

async function openNode(
  folder: string,
  parts: Options & {
    readonly program: string
    readonly tokenContracts: TokenContracts
    readonly onError: (error: unknown) => void
    readonly changes: Changes
  },
): Promise<EvmSandboxNode> {
  const { chain: name, program, clock, log, blockIntervalMs, onError, changes } = parts
  const cache = join(folder, 'anvil')
  // States that anvil has put aside are of no use to the next anvil.
  await rm(cache, { recursive: true, force: true })
  await mkdir(cache, { recursive: true, mode: 0o700 })
  const chainId = evmNetworkOf(name).sandboxChainId
  const chain = await EvmChain.open({ folder, program, chainId, clock, log, onChange: changes.emit })
  try {
    const wallet = await EvmWallet.open(chain, parts.tokenContracts)
    await wallet.deployTokens(sandboxTokensOf(name))
    const miner = new EvmMiner({ chain, blockIntervalMs, onError })
    miner.start()
    return { chain, wallet, miner, clock }
  } catch (error) {
    await chain.stop()
    throw error
  }
}

const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const signedSchema = z.object({ txid: hash, hex: z.string() })
const paymentSchema = signedSchema.extend({ replacement: signedSchema })

/** The controls of an EVM sandbox chain, in this process or another. */
class EvmSandboxClient implements SandboxControls {
  readonly #rpc: SandboxRpc

  constructor(rpcUrl: string) {
    this.#rpc = new SandboxRpc(rpcUrl)
  }

  signPayment(asset: AssetId, address: string, amount: bigint): Promise<SignedPayment> {
    return this.#rpc.call('sandbox_signpayment', [asset, address, amount.toString()], paymentSchema)
  }

  async send({ hex }: SignedPayment): Promise<void> {
    await this.#rpc.call('eth_sendRawTransaction', [hex], hash)
  }

  async show({ hex }: SignedPayment, until: 'detected' | 'confirmed'): Promise<void> {
    await this.#rpc.call('sandbox_show', [hex, until], hash)
  }

  async replace({ txid, replacement }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_replace', [txid, replacement.hex], z.boolean())
  }

  async withdraw({ txid }: SignedPayment): Promise<void> {
    await this.#rpc.call('sandbox_replace', [txid, null], z.boolean())
  }

  /** Its account has sent nothing since, so that it is as good as it was. */
  release(payment: SignedPayment): Promise<void> {
    return this.send(payment)
  }

  /** Hashes of the blocks made. */
  mine(count: number): Promise<string[]> {
    return this.#rpc.call('sandbox_mine', [count], z.array(hash))
  }

  subscribe(wake: () => void): () => void {
    return this.#rpc.subscribe(wake)
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }
}
