import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const STOP_TIMEOUT_MS = 20_000
/** Longer than anything takes it on a busy machine: one that hangs is named, in place of what waited for it. */
const ANSWER_MS_MAX = 60_000
/** Anvil derives the keys of all at each start: those of 300 take it most of a second of processor time. */
const ACCOUNTS = 50
const PLATFORMS: { readonly [platform: string]: string } = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
}

export type EvmCall = {
  readonly to?: string
  readonly value?: bigint
  readonly data?: string
  readonly gas?: number
}

/** A real node of Ethereum's kind of its own, that mines when it is told to. */
export type Anvil = {
  readonly url: string
  rpc<Result>(method: string, params?: readonly unknown[]): Promise<Result>
  /** Sends from an account that has not sent yet as long as there are any; the transaction waits for a block. */
  send(call: EvmCall): Promise<string>
  /** Creates a contract and mines a block for it; its address, lower case. */
  deploy(bytecode: string): Promise<string>
  mine(blocks: number): Promise<void>
  height(): Promise<number>
  /**
   * Puts as many new blocks in the place of the newest ones, and one more. What was in the old ones is in the first of the
   * new ones, but for what `isLeftOut` names: that is gone.
   */
  reorganise(depth: number, isLeftOut?: (txid: string) => boolean): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

type RpcBlock = { readonly number: string; readonly hash: string; readonly transactions: readonly string[] }

function program(): string {
  const name = PLATFORMS[`${process.platform}-${process.arch}`]
  return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${name}/bin/anvil`)
}

export type AnvilOptions = {
  readonly chainId?: number
  /** Of how many blocks it keeps the state, so that they can be traced; else of some thousands. */
  readonly statesMax?: number
}

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-anvil-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | null = null
  let accounts: readonly string[] = []
  let sent = 0
  const rpc = async <Result>(method: string, params: readonly unknown[] = []): Promise<Result> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const response = await fetch(url, { method: 'POST', headers, body, signal }).catch((error: unknown) => {
      throw new Error(`anvil does not answer ${method}`, { cause: error })
    })
    const answer = (await response.json()) as { result: Result; error?: { message: string } }
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }
  const start = async () => {
    const chain = ['--chain-id', String(options.chainId ?? 31_337), '--slots-in-an-epoch', '1']
    const mining = ['--no-mining', '--order', 'fifo', '--accounts', String(ACCOUNTS), '--silent']
    const kept = [
      '--state',
      join(folder, 'state.json'),
      '--preserve-historical-states',
      '--cache-path',
      folder,
    ]
    if (options.statesMax !== undefined) kept.push('--max-persisted-states', String(options.statesMax))
    // The socket is there once anvil has the port: until then another anvil may answer.
    const ipc = join(folder, 'ipc')
    await rm(ipc, { force: true })
    kept.push('--ipc', ipc)
    child = spawn(program(), ['--port', String(port), ...chain, ...mining, ...kept], { stdio: 'ignore' })
    await until(
      () =>
        access(ipc)
          .then(() => rpc('eth_chainId'))
          .then(
            () => true,
            () => false,
          ),
      { what: 'anvil answers' },
    )
    accounts = await rpc<string[]>('eth_accounts')
  }
  const stop = async () => {
    const running = child
    if (running === null || running.exitCode !== null) return
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()))
    running.kill('SIGTERM')
    const timer = setTimeout(() => running.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
    child = null
  }
  const send = ({ to, value = 0n, data, gas }: EvmCall) => {
    const from = accounts[sent++ % accounts.length]
    const call = { from, to, value: hex(value), data, gas: gas === undefined ? undefined : hex(BigInt(gas)) }
    return rpc<string>('eth_sendTransaction', [call])
  }
  const mine = async (blocks: number) => {
    for (let block = 0; block < blocks; block++) await rpc('evm_mine')
  }
  const height = async () => Number(await rpc<string>('eth_blockNumber'))
  await start()
  return {
    url,
    rpc,
    send,
    mine,
    height,
    deploy: async (bytecode) => {
      const txid = await send({ data: bytecode })
      await mine(1)
      const receipt = await rpc<{ contractAddress: string; status: string } | null>(
        'eth_getTransactionReceipt',
        [txid],
      )
      if (receipt?.status !== '0x1') throw new Error('the contract was not created')
      return receipt.contractAddress.toLowerCase()
    },
    reorganise: async (depth, isLeftOut = () => false) => {
      const tip = await height()
      const again: [string, number][] = []
      for (let at = tip - depth + 1; at <= tip; at++) {
        const block = await rpc<RpcBlock>('eth_getBlockByNumber', [hex(BigInt(at)), false])
        for (const txid of block.transactions) {
          if (isLeftOut(txid)) continue
          again.push([await rpc<string>('eth_getRawTransactionByHash', [txid]), 0])
        }
      }
      // With another producer no block is the one that it replaces.
      await rpc('anvil_setCoinbase', [newEvmAddress().address])
      await rpc('anvil_reorg', [depth, again])
      await mine(1)
    },
    stop,
    start,
    remove: async () => {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export const hex = (value: bigint): string => `0x${value.toString(16)}`

/** An address that nobody has the key of. */
export function newEvmAddress(): { readonly address: string; readonly addressBytes: Buffer } {
  const addressBytes = randomBytes(20)
  return { address: `0x${addressBytes.toString('hex')}`, addressBytes }
}
