import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NODE_ARGUMENTS, NODE_PROGRAMS, type NodeChainName } from './daemons.ts'
import { freePort } from './free-port.ts'
import { programPath } from './programs.ts'
import { until } from './until.ts'

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 20_000
const REPLACEMENT_FEE_COINS = 0.01

/** Outputs of a transaction: addresses and coins. */
export type Outputs = readonly { readonly [address: string]: string }[]

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
  addressBytesOf(address: string): Promise<Buffer>
  /** Pays one address, in coins; signals BIP125 where asked. Returns the txid. */
  pay(address: string, coins: string, options?: { replaceable?: boolean }): Promise<string>
  /** One transaction with these outputs, spending the given inputs or any. Returns its id and hex. */
  payMany(
    outputs: Outputs,
    inputs?: readonly { txid: string; vout: number; sequence?: number }[],
  ): Promise<{ txid: string; hex: string }>
  /** One transaction with an output of each amount, all to one address. */
  payTwice(address: string, coins: readonly [string, string]): Promise<{ txid: string; hex: string }>
  /** Sends a transaction of outputs alone, in hex, with inputs of the wallet's. */
  sendFunded(outputsOnly: string): Promise<{ txid: string; hex: string }>
  /** Spends the inputs of a mempool transaction again, to these outputs and with a fee that wins. */
  spendAgain(txid: string, outputs?: Outputs): Promise<string>
  /** The hex of a transaction that spends the same inputs as `hex` to these outputs, the rest to the wallet. */
  conflictOf(hex: string, outputs?: Outputs): Promise<string>
  /** The hex of a signed transaction of the wallet with these outputs, that no node has heard of. */
  signUnsent(outputs: Outputs): Promise<string>
  /** Takes the newest blocks off the chain and puts a branch in their place that is one block longer. What the
   * old blocks held is in the new branch, or waits in the mempool as far as the node keeps it. */
  reorganise(depth: number, held: 'mined-again' | 'waiting'): Promise<void>
  /** Stops the daemon, as an operator would, or as a power cut would. */
  stop(how?: 'gently' | 'kill'): Promise<void>
  /** Starts the daemon again on the same data and ports. */
  start(extraArguments?: readonly string[]): Promise<void>
  /** Another node of its own that begins with a copy of this one's chain, and an empty wallet. */
  copy(): Promise<TestNode>
  /** Stops it and deletes its data. */
  remove(): Promise<void>
}

/** The genesis block of one of a daemon's chains, as the daemon has it. It speaks with nobody. */
export async function genesisHashOf(chain: NodeChainName, name: string): Promise<string> {
  const node = await Daemon.place(chain, { zmq: false, arguments: ['-connect=0', '-disablewallet'], name })
  try {
    await node.start()
    return await node.rpc<string>('getblockhash', [0])
  } finally {
    await node.remove()
  }
}

/** Starts a node with 110 blocks, ten of which its wallet can spend. */
export async function startNode(
  chain: NodeChainName,
  options: { zmq?: boolean; arguments?: readonly string[]; blocks?: number } = {},
): Promise<TestNode> {
  const node = await Daemon.place(chain, { zmq: options.zmq === true, arguments: options.arguments ?? [] })
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
  #wallet: string | null = null

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

  /** A daemon with a folder and ports of its own, not started. */
  static async place(
    chain: NodeChainName,
    options: { zmq: boolean; arguments: readonly string[]; name?: string },
  ): Promise<Daemon> {
    const binary = programPath(NODE_PROGRAMS[chain])
    const folder = await mkdtemp(join(tmpdir(), `paylink-${chain}-`))
    // Bitcoin Knots refuses transactions with the lock time 21, which its own wallet makes by chance at low heights. Other
    // nodes do not know the setting, and pass over it in a file.
    if (chain === 'bitcoin') await writeFile(join(folder, 'bitcoin.conf'), 'rejectparasites=0\n')
    const port = await freePort()
    const zmqUrl = options.zmq ? `tcp://127.0.0.1:${await freePort()}` : null
    const all = [`-chain=${options.name ?? 'regtest'}`, ...options.arguments]
    return new Daemon({ chain, binary, folder, port, zmqUrl, arguments: all })
  }

  async copy(): Promise<TestNode> {
    const twin = await Daemon.place(this.chain, { zmq: this.zmqUrl !== null, arguments: [] })
    await this.stop()
    await cp(this.#folder, twin.#folder, { recursive: true })
    await Promise.all([this.start(), twin.start()])
    // With the same wallet it would give out, and mine to, the same addresses.
    await twin.createWallet('twin')
    return twin
  }

  async start(extraArguments: readonly string[] = []): Promise<void> {
    const zmq = ['hashblock', 'rawtx', 'sequence'].flatMap((topic) =>
      this.zmqUrl === null ? [] : [`-zmqpub${topic}=${this.zmqUrl}`],
    )
    this.#output = ''
    const child = spawn(
      this.#binary,
      [
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
        ...NODE_ARGUMENTS[this.chain],
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
    if (this.#wallet !== null) await this.rpc('loadwallet', [this.#wallet])
  }

  async createWallet(name = 'test'): Promise<void> {
    await this.rpc('createwallet', [name])
    this.#wallet = name
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

  async addressBytesOf(address: string): Promise<Buffer> {
    const { witness_program } = await this.rpc<{ witness_program: string }>('getaddressinfo', [address])
    return Buffer.from(witness_program, 'hex')
  }

  async pay(address: string, coins: string, options: { replaceable?: boolean } = {}): Promise<string> {
    const replaceable = options.replaceable ?? false
    const txid = await this.rpc<string>('sendtoaddress', [address, coins, '', '', false, replaceable])
    // A wallet also gives the id of a transaction that its own node refused.
    await this.rpc('getmempoolentry', [txid])
    return txid
  }

  async payMany(
    outputs: Outputs,
    inputs: readonly { txid: string; vout: number; sequence?: number }[] = [],
  ): Promise<{ txid: string; hex: string }> {
    return this.sendFunded(await this.rpc<string>('createrawtransaction', [inputs, outputs]))
  }

  async payTwice(address: string, coins: readonly [string, string]): Promise<{ txid: string; hex: string }> {
    const stranger = await this.newAddress()
    const outputs = [{ [address]: coins[0] }, { [stranger]: coins[1] }]
    const created = await this.rpc<string>('createrawtransaction', [[], outputs])
    // The call itself refuses the same address twice.
    const [from, to] = await Promise.all([this.addressBytesOf(stranger), this.addressBytesOf(address)])
    return this.sendFunded(created.replace(from.toString('hex'), to.toString('hex')))
  }

  async sendFunded(created: string): Promise<{ txid: string; hex: string }> {
    const hex = await this.#fundAndSign(created)
    return { txid: await this.rpc<string>('sendrawtransaction', [hex]), hex }
  }

  async signUnsent(outputs: Outputs): Promise<string> {
    return this.#fundAndSign(await this.rpc<string>('createrawtransaction', [[], outputs]))
  }

  async #fundAndSign(created: string): Promise<string> {
    const funded = await this.rpc<{ hex: string }>('fundrawtransaction', [
      created,
      { add_inputs: true },
      // Without inputs, what stands for their number could be read as the mark of a witness.
      false,
    ])
    const { hex } = await this.rpc<{ hex: string }>('signrawtransactionwithwallet', [funded.hex])
    return hex
  }

  async spendAgain(txid: string, outputs: Outputs = []): Promise<string> {
    const hex = await this.conflictOf(await this.rpc<string>('getrawtransaction', [txid]), outputs)
    return this.rpc('sendrawtransaction', [hex, 0])
  }

  async conflictOf(original: string, outputs: Outputs = []): Promise<string> {
    type Decoded = { vin: { txid: string; vout: number }[]; vout: { value: number }[] }
    const { vin, vout } = await this.rpc<Decoded>('decoderawtransaction', [original])
    const inputs = vin.map((input) => ({ txid: input.txid, vout: input.vout }))
    const paid = outputs.flatMap((output) => Object.values(output)).reduce((sum, one) => sum + Number(one), 0)
    let rest = vout.reduce((sum, output) => sum + output.value, 0) - paid - REPLACEMENT_FEE_COINS
    if (rest <= 0) {
      // A wallet that finds coins of just the right amount makes no change: another coin pays the fee.
      const coin = await this.#largestCoin()
      inputs.push({ txid: coin.txid, vout: coin.vout })
      rest += coin.amount
    }
    const all = [...outputs, { [await this.newAddress()]: rest.toFixed(8) }]
    const raw = await this.rpc<string>('createrawtransaction', [inputs, all])
    // The inputs may be spent already: the wallet is told what they are.
    const spent = await Promise.all(inputs.map((input) => this.#spentOutput(input)))
    const { hex } = await this.rpc<{ hex: string }>('signrawtransactionwithwallet', [raw, spent])
    return hex
  }

  async reorganise(depth: number, held: 'mined-again' | 'waiting'): Promise<void> {
    const height = await this.rpc<number>('getblockcount')
    const first = await this.rpc<string>('getblockhash', [height - depth + 1])
    const transactions: string[] = []
    for (let at = height - depth + 1; at <= height; at++) {
      const hash = await this.rpc<string>('getblockhash', [at])
      const { tx } = await this.rpc<{ tx: { hex: string }[] }>('getblock', [hash, 2])
      transactions.push(...tx.slice(1).map(({ hex }) => hex))
    }
    await this.rpc('invalidateblock', [first])
    if (held === 'mined-again') {
      // A node gives back to its mempool only what its newest ten blocks held.
      await this.rpc('generateblock', [await this.newAddress(), transactions])
      await this.mine(depth)
    } else {
      for (let count = 0; count <= depth; count++) await this.mineOnly([])
    }
  }

  async #largestCoin(): Promise<{ txid: string; vout: number; amount: number }> {
    const coins = await this.rpc<{ txid: string; vout: number; amount: number }[]>('listunspent', [1])
    const [largest] = coins.sort((a, b) => b.amount - a.amount)
    if (largest === undefined) throw new Error('the wallet has no confirmed coin')
    return largest
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
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    child.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM')
    await ended
    clearTimeout(timer)
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
