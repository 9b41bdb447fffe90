import { type ChildProcess, spawn } from 'node:child_process'
import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './postgres-server.ts'

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 20_000
const WAIT_TIMEOUT_MS = 20_000
const LOOK_INTERVAL_MS = 20
const WALLET = 'test'
const REPLACEMENT_FEE_COINS = 0.01

const DAEMONS = {
  // Litecoin refuses replacements by default.
  litecoin: {
    binary: 'litecoind',
    install: 'apt-get install litecoind',
    arguments: ['-mempoolreplacement=1'],
  },
  bitcoin: {
    binary: 'bitcoind',
    install: 'install Bitcoin Core or Bitcoin Knots and put bitcoind on the PATH',
    arguments: [],
  },
} as const
export type NodeChainName = keyof typeof DAEMONS

/** A real node of its own on regtest, with a funded wallet. */
export type TestNode = {
  readonly chain: NodeChainName
  readonly rpcUrl: string
  readonly zmqUrl: string | null
  rpc<Result>(method: string, params?: readonly unknown[]): Promise<Result>
  /** Mines so many blocks, returns their hashes. */
  mine(blocks: number, address?: string): Promise<string[]>
  /** Mines one block that holds exactly these mempool transactions. */
  mineOnly(txids: readonly string[]): Promise<string>
  newAddress(): Promise<string>
  /** The witness program of a wallet's segwit address. */
  programOf(address: string): Promise<Buffer>
  /** Pays one address, in coins; signals BIP125 where asked. Returns the txid. */
  pay(address: string, coins: string, options?: { replaceable?: boolean }): Promise<string>
  /** One transaction with these outputs, spending the given inputs or any. Returns its id and hex. */
  payMany(
    outputs: readonly { readonly [address: string]: string }[],
    inputs?: readonly { txid: string; vout: number; sequence?: number }[],
  ): Promise<{ txid: string; hex: string }>
  /** One transaction with an output of each amount, all to one address. */
  payTwice(address: string, coins: readonly [string, string]): Promise<{ txid: string; hex: string }>
  /** Spends the inputs of a mempool transaction again, to another address and with a fee that wins. */
  spendAgain(txid: string, address: string): Promise<string>
  /** The hex of a transaction that spends the same inputs as `hex` to another address of the wallet. */
  conflictOf(hex: string): Promise<string>
  /** Stops the daemon, as an operator would, or as a power cut would. */
  stop(how?: 'gently' | 'kill'): Promise<void>
  /** Starts the daemon again on the same data and ports. */
  start(extraArguments?: readonly string[]): Promise<void>
  /** Stops it and deletes its data. */
  remove(): Promise<void>
}

/** The daemon's path, or an error that names the command which installs it. */
export async function findDaemon(chain: NodeChainName): Promise<string> {
  const { binary, install } = DAEMONS[chain]
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, binary)
    try {
      await access(path, constants.X_OK)
      return path
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error
    }
  }
  throw new Error(`this test needs a real node and ${binary} is not on the PATH: ${install}`)
}

/** Starts a node with 110 blocks, ten of which its wallet can spend. */
export async function startNode(
  chain: NodeChainName,
  options: { zmq?: boolean; arguments?: readonly string[]; blocks?: number } = {},
): Promise<TestNode> {
  const binary = await findDaemon(chain)
  const folder = await mkdtemp(join(tmpdir(), `paylink-${chain}-`))
  const port = await freePort()
  const zmqUrl = options.zmq === true ? `tcp://127.0.0.1:${await freePort()}` : null
  const node = new Daemon({ chain, binary, folder, port, zmqUrl, arguments: options.arguments ?? [] })
  try {
    await node.start()
    await node.createWallet()
    await node.mine(options.blocks ?? 110)
  } catch (error) {
    await node.remove()
    throw error
  }
  return node
}

class Daemon implements TestNode {
  readonly chain: NodeChainName
  readonly rpcUrl: string
  readonly zmqUrl: string | null
  readonly #binary: string
  readonly #folder: string
  readonly #port: number
  readonly #arguments: readonly string[]
  #process: ChildProcess | null = null
  #output = ''
  #hasWallet = false

  constructor(parts: {
    chain: NodeChainName
    binary: string
    folder: string
    port: number
    zmqUrl: string | null
    arguments: readonly string[]
  }) {
    this.chain = parts.chain
    this.zmqUrl = parts.zmqUrl
    this.rpcUrl = `http://tester:secret@127.0.0.1:${parts.port}`
    this.#binary = parts.binary
    this.#folder = parts.folder
    this.#port = parts.port
    this.#arguments = parts.arguments
  }

  async start(extraArguments: readonly string[] = []): Promise<void> {
    const zmq = ['hashblock', 'rawtx', 'sequence'].flatMap((topic) =>
      this.zmqUrl === null ? [] : [`-zmqpub${topic}=${this.zmqUrl}`],
    )
    this.#output = ''
    const child = spawn(
      this.#binary,
      [
        '-regtest',
        `-datadir=${this.#folder}`,
        `-rpcport=${this.#port}`,
        '-rpcuser=tester',
        '-rpcpassword=secret',
        '-rpcworkqueue=64',
        '-server',
        '-listen=0',
        '-dnsseed=0',
        '-fallbackfee=0.0001',
        '-dbcache=4',
        '-maxmempool=50',
        '-par=1',
        '-printtoconsole=0',
        ...DAEMONS[this.chain].arguments,
        ...zmq,
        ...this.#arguments,
        ...extraArguments,
      ],
      // Debian's wrapper of the daemon writes a configuration into HOME.
      { env: { ...process.env, HOME: this.#folder }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const collect = (chunk: Buffer) => {
      this.#output = `${this.#output}${chunk.toString('utf8')}`.slice(-4_000)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    this.#process = child
    await this.#untilReady(child)
    if (this.#hasWallet) await this.rpc('loadwallet', [WALLET])
  }

  async createWallet(): Promise<void> {
    await this.rpc('createwallet', [WALLET])
    this.#hasWallet = true
  }

  async rpc<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const url = new URL(this.rpcUrl)
    const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
    const response = await fetch(url.origin, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ id: 1, method, params }),
    })
    const answer = (await response.json()) as { result: Result; error: { message: string } | null }
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }

  async mine(blocks: number, address?: string): Promise<string[]> {
    return this.rpc('generatetoaddress', [blocks, address ?? (await this.newAddress())])
  }

  async mineOnly(txids: readonly string[]): Promise<string> {
    const { hash } = await this.rpc<{ hash: string }>('generateblock', [await this.newAddress(), txids])
    return hash
  }

  newAddress(): Promise<string> {
    return this.rpc('getnewaddress', ['', 'bech32'])
  }

  async programOf(address: string): Promise<Buffer> {
    const { witness_program } = await this.rpc<{ witness_program: string }>('getaddressinfo', [address])
    return Buffer.from(witness_program, 'hex')
  }

  pay(address: string, coins: string, options: { replaceable?: boolean } = {}): Promise<string> {
    return this.rpc('sendtoaddress', [address, coins, '', '', false, options.replaceable ?? false])
  }

  async payMany(
    outputs: readonly { readonly [address: string]: string }[],
    inputs: readonly { txid: string; vout: number; sequence?: number }[] = [],
  ): Promise<{ txid: string; hex: string }> {
    return this.#send(await this.rpc<string>('createrawtransaction', [inputs, outputs]))
  }

  async payTwice(address: string, coins: readonly [string, string]): Promise<{ txid: string; hex: string }> {
    const stranger = await this.newAddress()
    const outputs = [{ [address]: coins[0] }, { [stranger]: coins[1] }]
    const created = await this.rpc<string>('createrawtransaction', [[], outputs])
    // The call itself refuses the same address twice.
    const [from, to] = await Promise.all([this.programOf(stranger), this.programOf(address)])
    return this.#send(created.replace(from.toString('hex'), to.toString('hex')))
  }

  async #send(created: string): Promise<{ txid: string; hex: string }> {
    const funded = await this.rpc<{ hex: string }>('fundrawtransaction', [created, { add_inputs: true }])
    const { hex } = await this.rpc<{ hex: string }>('signrawtransactionwithwallet', [funded.hex])
    return { txid: await this.rpc<string>('sendrawtransaction', [hex]), hex }
  }

  async spendAgain(txid: string, address: string): Promise<string> {
    const hex = await this.#conflict(await this.rpc<string>('getrawtransaction', [txid]), address)
    return this.rpc('sendrawtransaction', [hex, 0])
  }

  async conflictOf(hex: string): Promise<string> {
    return this.#conflict(hex, await this.newAddress())
  }

  async #conflict(original: string, address: string): Promise<string> {
    type Decoded = { vin: { txid: string; vout: number }[]; vout: { value: number }[] }
    const { vin, vout } = await this.rpc<Decoded>('decoderawtransaction', [original])
    const inputs = vin.map((input) => ({ txid: input.txid, vout: input.vout }))
    const coins = vout.reduce((sum, output) => sum + output.value, 0) - REPLACEMENT_FEE_COINS
    const raw = await this.rpc<string>('createrawtransaction', [inputs, [{ [address]: coins.toFixed(8) }]])
    // The inputs may be spent already: the wallet is told what they are.
    const spent = await Promise.all(inputs.map((input) => this.#spentOutput(input)))
    const { hex } = await this.rpc<{ hex: string }>('signrawtransactionwithwallet', [raw, spent])
    return hex
  }

  async #spentOutput(input: { txid: string; vout: number }): Promise<object> {
    type Decoded = { vout: { n: number; value: number; scriptPubKey: { hex: string } }[] }
    const { hex } = await this.rpc<{ hex: string }>('gettransaction', [input.txid])
    const { vout } = await this.rpc<Decoded>('decoderawtransaction', [hex])
    const output = vout.find(({ n }) => n === input.vout)
    return { ...input, scriptPubKey: output?.scriptPubKey.hex, amount: output?.value }
  }

  async stop(how: 'gently' | 'kill' = 'gently'): Promise<void> {
    const child = this.#process
    this.#process = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const impatience = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    child.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM')
    await ended
    clearTimeout(impatience)
  }

  async remove(): Promise<void> {
    await this.stop('kill')
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`the node did not start:\n${this.#output}`)
        return (await this.#state()).loaded === true
      },
      { what: 'the node is ready', timeoutMs: START_TIMEOUT_MS },
    )
  }

  async #state(): Promise<{ loaded?: boolean }> {
    try {
      return await this.rpc<{ loaded?: boolean }>('getmempoolinfo')
    } catch (error) {
      if (error instanceof Error) return {}
      throw error
    }
  }
}

/** Waits until a condition holds, and says what did not. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  { what, timeoutMs = WAIT_TIMEOUT_MS }: { what: string; timeoutMs?: number },
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
    await pause(LOOK_INTERVAL_MS)
  }
}
