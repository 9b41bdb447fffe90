import { randomBytes } from 'node:crypto'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { CHAIN_PARAMETERS } from '../../src/sandbox/utxo/chain-parameters.ts'
import { type SandboxChain, startUtxoChain } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import { temporaryFolder } from './sandbox-state.ts'
import { utxoAdapterOptions } from './utxo-driver.ts'
import { utxoLies } from './utxo-lies.ts'

/** Blocks above the ones that a sandbox never reorganises. */
const ROOM_BELOW = 20

/** Drives a sandbox chain of Litecoin, whose blocks come only when asked for. */
export const sandboxDriver: ChainDriver<DrivenSandbox> = {
  title: 'the sandbox chain',
  network: 'litecoin-test',
  asset: 'LTC',
  amount: 10_000_000n,
  seesWaiting: true,
  settlesLater: false,
  start: async () => {
    const folder = await temporaryFolder()
    const open = () =>
      startUtxoChain({
        chain: 'litecoin',
        dataDir: folder.path,
        clock: systemClock,
        log: createLogger('silent'),
        blockIntervalMs: 0,
      })
    const sandbox = new DrivenSandbox(await open(), open, folder.remove)
    await sandbox.mine(ROOM_BELOW)
    return sandbox
  },
}

export class DrivenSandbox implements DrivenChain {
  readonly url: string
  readonly recipe: DrivenChain['recipe']
  readonly lies: DrivenChain['lies']
  readonly #open: () => Promise<SandboxChain>
  readonly #removeFolder: () => Promise<void>
  readonly #replacements = new Map<string, string>()
  readonly #rpc: RpcClient
  #chain: SandboxChain
  #held: string[] = []

  constructor(chain: SandboxChain, open: () => Promise<SandboxChain>, removeFolder: () => Promise<void>) {
    this.#chain = chain
    this.#open = open
    this.#removeFolder = removeFolder
    this.url = chain.rpcUrl
    this.#rpc = new RpcClient(chain.rpcUrl, 'the sandbox chain')
    const options = utxoAdapterOptions('litecoin', chain.rpcUrl)
    this.recipe = { module: 'chain/utxo/utxo-adapter.js', name: 'UtxoAdapter', options }
    this.lies = utxoLies(
      <Result>(method: string, params: readonly unknown[] = []) =>
        this.#rpc.callRaw(method, params) as Promise<Result>,
    )
  }

  adapter(rpcUrl = this.url): UtxoAdapter {
    return new UtxoAdapter({ ...utxoAdapterOptions('litecoin', rpcUrl), clock: systemClock })
  }

  async tipHash(): Promise<string> {
    return String(await this.#rpc.callRaw('getbestblockhash', []))
  }

  async newAddress(): Promise<{ address: string; addressBytes: Buffer }> {
    const addressBytes = randomBytes(20)
    return { address: encodeAddress(CHAIN_PARAMETERS.litecoin.hrp, addressBytes), addressBytes }
  }

  async pay(address: string, amount: bigint): Promise<string> {
    const { hex, replacement } = await this.#chain.client.signPayment(address, amount)
    const txid = await this.#chain.client.send(hex)
    this.#replacements.set(txid, replacement.hex)
    return txid
  }

  /** Sends a transaction that somebody else signed. */
  send(hex: string): Promise<string> {
    return this.#chain.client.send(hex)
  }

  async replace(txid: string): Promise<void> {
    const hex = this.#replacements.get(txid)
    if (hex === undefined) throw new Error(`${txid} is no payment of this test`)
    await this.#chain.client.send(hex)
  }

  async mine(blocks: number): Promise<void> {
    for (const txid of this.#held) await this.#chain.client.release(txid)
    this.#held = []
    await this.#chain.client.mine(blocks)
  }

  async reorganise(depth: number, waiting?: string): Promise<void> {
    if (waiting === undefined) {
      await this.#chain.client.reorganise(depth)
    } else {
      await this.#chain.client.reorganiseAway(waiting)
      this.#held.push(waiting)
    }
  }

  stop(): Promise<void> {
    return this.#chain.stop()
  }

  async startAgain(): Promise<void> {
    this.#chain = await this.#open()
  }

  async remove(): Promise<void> {
    await this.#rpc.close()
    await this.#chain.stop()
    await this.#removeFolder()
  }
}
