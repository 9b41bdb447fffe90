import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../runtime/clock.ts'
import { readFileIfPresent, writeSecretFile } from '../../runtime/data-dir.ts'
import type { Log } from '../../runtime/log.ts'
import type { Journal, JournalRecord } from '../journal.ts'
import type { AnvilProcess, RpcAnswer } from './anvil-process.ts'
import {
  type EvmBlockSummary,
  journalPath,
  type OpenGeneration,
  openGeneration,
  readTip,
  statePath,
  unpackState,
} from './evm-generation.ts'
import { type EvmGenesis, genesisSchema } from './evm-genesis.ts'
import { Exclusive } from './exclusive.ts'
import { RememberedAnswers } from './remembered-answers.ts'

/** At most this many blocks and transactions are replayed at a start; beyond it the state is written as a whole. */
const RECORDS_MAX = 500
const STATE_BYTES_MAX = 256 * 1024 * 1024
/** Anvil runs for so long after the last question that was new, or the last change. */
const REST_AFTER_MS = 60_000

const headSchema = z.object({ generation: z.int().nonnegative(), genesis: genesisSchema })
const poolSchema = z.object({ pending: z.string(), queued: z.string() })

type Options = {
  readonly folder: string
  readonly program: string
  /** Of a chain that does not exist yet. */
  readonly chainId: number
  readonly clock: Clock
  readonly log: Log
  /** Called after each change. */
  readonly onChange?: () => void
  readonly restAfterMs?: number
}

/**
 * A chain in a folder, run by anvil. Anvil keeps everything in memory; here, what was acknowledged survives it: each
 * transaction and block is in a journal before its caller hears of it, and anvil, being deterministic, makes the same
 * blocks of the same journal again. `head.json` says which state and which journal belong together. While the chain is at
 * rest no anvil runs: what was asked before is answered as before, and any other question starts one.
 */
export class EvmChain {
  readonly #options: Options
  readonly #gate = new Exclusive()
  /** Null while the chain is at rest. */
  #anvil: AnvilProcess | null
  readonly #answers = new RememberedAnswers()
  #restTimer: NodeJS.Timeout | null = null
  #journal: Journal
  #generation: number
  readonly #genesis: EvmGenesis
  #records: number
  /** Blocks above the state that was loaded: those that may be disconnected. */
  #blocks: EvmBlockSummary[]
  #tip: EvmBlockSummary
  /** Transactions since that state. */
  readonly #raws: Map<string, string>
  /** What the change under way has done so far. */
  #unwritten: JournalRecord[] = []
  #stopped = false

  private constructor(options: Options, genesis: EvmGenesis, generation: number, opened: OpenGeneration) {
    this.#options = options
    this.#genesis = genesis
    this.#generation = generation
    this.#anvil = opened.anvil
    this.#journal = opened.journal
    this.#records = opened.records
    this.#blocks = opened.blocks
    this.#tip = opened.tip
    this.#raws = opened.raws
    this.#reviveWhenEnded(opened.anvil)
    this.#restLater()
  }

  /** Opens the chain, or makes it. Throws `JournalDamaged`, and other errors where anvil does not start. */
  static async open(options: Options): Promise<EvmChain> {
    const path = join(options.folder, 'head.json')
    const text = await readFileIfPresent(path)
    const timestamp = Math.floor(options.clock().getTime() / 1_000)
    const head =
      text === null
        ? { generation: 0, genesis: { chainId: options.chainId, timestamp } }
        : headSchema.parse(JSON.parse(text))
    if (text === null) await writeSecretFile(path, JSON.stringify(head))
    const opened = await openGeneration(options, head.genesis, head.generation)
    return new EvmChain(options, head.genesis, head.generation, opened)
  }

  get tip(): EvmBlockSummary {
    return this.#tip
  }

  get records(): number {
    return this.#records
  }

  /** A call that changes nothing; the answer is anvil's. */
  async ask(method: string, params: unknown): Promise<RpcAnswer> {
    const question = RememberedAnswers.questionOf(method, params)
    const askOf = async (anvil: AnvilProcess) => {
      const answer = await anvil.forward(method, params)
      this.#answers.keep(question, answer)
      return answer
    }
    const answer = await this.#gate.read(async () => {
      const known = this.#answers.find(question)
      if (this.#anvil === null) return known
      if (known === undefined) this.#restLater()
      return askOf(this.#anvil)
    })
    return answer ?? this.#gate.change(async () => askOf(await this.#awake()))
  }

  /** Whether no anvil runs. */
  get isAtRest(): boolean {
    return this.#anvil === null
  }

  /** Takes a signed transaction; its hash. Throws `AnvilRefused` where the chain would not take it. */
  send(raw: string): Promise<string> {
    return this.#change(() => this.#send(raw))
  }

  /** Makes one block of what waits. */
  mine(): Promise<EvmBlockSummary> {
    return this.#change(() => this.#mine())
  }

  /** Transactions that wait for a block. */
  async pending(): Promise<number> {
    const { pending } = poolSchema.parse((await this.ask('txpool_status', [])).result)
    return Number(pending)
  }

  /**
   * Replaces the blocks from the one with transaction `txid` on by others, one more of them, that hold what the old
   * ones held but for it, and `instead`. False where no block since the loaded state has it.
   */
  replaceBlocksFrom(txid: string, instead: string | null): Promise<boolean> {
    return this.#change(async () => {
      const first = this.#blocks.findIndex(({ txids }) => txids.includes(txid))
      if (first < 0) return false
      const gone = this.#blocks.splice(first)
      const anvil = await this.#awake()
      await anvil.call('anvil_rollback', [gone.length])
      this.#append('disconnect', JSON.stringify({ depth: gone.length }))
      this.#tip = await readTip(anvil)
      if (instead !== null) await this.#send(instead)
      for (const other of gone.flatMap(({ txids }) => txids).filter((other) => other !== txid)) {
        const raw = this.#raws.get(other)
        if (raw !== undefined) await this.#sendAgain(raw)
      }
      for (let made = 0; made <= gone.length; made++) await this.#mine()
      return true
    })
  }

  /** The bytes of a transaction that this chain has seen since the loaded state. */
  rawOf(txid: string): string | undefined {
    return this.#raws.get(txid)
  }

  /**
   * Where the journal has grown long: writes the state, and goes on with a fresh anvil that loads it, which frees the
   * memory of the old one. Nothing where a transaction waits, for the state does not hold it.
   */
  compact(recordsMax = RECORDS_MAX): Promise<boolean> {
    return this.#gate.change(async () => {
      if (this.#records <= recordsMax || this.#stopped) return false
      const anvil = await this.#awake()
      if (await hasWaiting(anvil)) return false
      await this.#startGeneration(anvil, this.#generation + 1)
      return true
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#restTimer !== null) clearTimeout(this.#restTimer)
    await this.#gate.change(async () => {
      this.#journal.close()
      await this.#anvil?.stop()
    })
  }

  /** Writes the state of the present generation as the beginning of the next. */
  async #startGeneration(anvil: AnvilProcess, next: number): Promise<void> {
    const { folder } = this.#options
    const state = z
      .string()
      .max(STATE_BYTES_MAX)
      .parse(await anvil.call('anvil_dumpState', []))
    await writeSecretFile(statePath(folder, next), unpackState(state))
    // What an earlier attempt left belongs to no generation.
    await rm(journalPath(folder, next), { force: true })
    const opened = await openGeneration(this.#options, this.#genesis, next)
    if (opened.tip.hash !== this.#tip.hash) {
      opened.journal.close()
      await opened.anvil.stop()
      throw new Error('anvil did not load the state that it wrote')
    }
    await writeSecretFile(
      join(folder, 'head.json'),
      JSON.stringify({ generation: next, genesis: this.#genesis }),
    )
    const before = { anvil, journal: this.#journal, generation: this.#generation }
    this.#generation = next
    this.#take(opened)
    before.journal.close()
    await before.anvil.stop()
    await rm(journalPath(folder, before.generation), { force: true })
    await rm(statePath(folder, before.generation), { force: true })
  }

  #take(opened: OpenGeneration): void {
    this.#anvil = opened.anvil
    this.#journal = opened.journal
    this.#records = opened.records
    this.#blocks = opened.blocks
    this.#tip = opened.tip
    this.#raws.clear()
    for (const [txid, raw] of opened.raws) this.#raws.set(txid, raw)
    this.#reviveWhenEnded(opened.anvil)
  }

  /** The anvil of a change, or of a question that was not asked before: the journal makes the same chain again. */
  async #awake(): Promise<AnvilProcess> {
    if (this.#stopped) throw new Error('the sandbox chain was stopped')
    this.#restLater()
    if (this.#anvil !== null) return this.#anvil
    this.#journal.close()
    const opened = await openGeneration(this.#options, this.#genesis, this.#generation)
    this.#take(opened)
    this.#restLater()
    return opened.anvil
  }

  #restLater(): void {
    if (this.#restTimer !== null) clearTimeout(this.#restTimer)
    if (this.#stopped) return
    const { restAfterMs = REST_AFTER_MS, log, folder } = this.#options
    this.#restTimer = setTimeout(() => {
      this.#gate
        .change(() => this.#rest())
        .catch((error: unknown) =>
          log.error({ err: error, folder }, 'the sandbox chain did not come to rest'),
        )
    }, restAfterMs)
    this.#restTimer.unref()
  }

  /** What waits for a block has a miner at work. */
  async #rest(): Promise<void> {
    const anvil = this.#anvil
    if (anvil === null || this.#stopped) return
    if (await hasWaiting(anvil)) {
      this.#restLater()
      return
    }
    this.#anvil = null
    await anvil.stop()
  }

  /** Anvil may be killed as any program may: the journal makes the same chain again. */
  #reviveWhenEnded(anvil: AnvilProcess): void {
    anvil.ended.then(() => {
      if (this.#stopped || this.#anvil !== anvil) return
      const { log, folder } = this.#options
      log.warn({ folder }, 'anvil ended by itself and is started again')
      this.#gate
        .change(async () => {
          if (this.#stopped || this.#anvil !== anvil) return
          this.#journal.close()
          this.#take(await openGeneration(this.#options, this.#genesis, this.#generation))
        })
        .catch((error: unknown) => log.error({ err: error, folder }, 'the sandbox chain could not go on'))
    })
  }

  /**
   * Writes what a change has done in one piece, before anybody is notified: a kill leaves all of it or nothing. Where it
   * failed half-way anvil has done what the journal does not know, and is started again from the journal.
   */
  #change<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#gate.change(async () => {
      this.#unwritten = []
      await this.#awake()
      try {
        const result = await work()
        this.#answers.forget()
        if (this.#unwritten.length > 0) this.#journal.append(this.#unwritten)
        this.#records += this.#unwritten.length
        this.#options.onChange?.()
        return result
      } catch (error) {
        this.#answers.forget()
        if (this.#unwritten.length > 0) await this.#anvil?.stop()
        throw error
      }
    })
  }

  async #send(raw: string): Promise<string> {
    const anvil = await this.#awake()
    const txid = z.string().parse(await anvil.call('eth_sendRawTransaction', [raw]))
    this.#append('transaction', raw)
    this.#raws.set(txid, raw)
    return txid
  }

  /** A transaction of a block that is gone may have become invalid; then it is gone too. */
  async #sendAgain(raw: string): Promise<void> {
    try {
      await this.#send(raw)
    } catch (error) {
      this.#options.log.debug({ err: error }, 'a transaction did not survive a reorganisation of the sandbox')
    }
  }

  async #mine(): Promise<EvmBlockSummary> {
    const now = Math.floor(this.#options.clock().getTime() / 1_000)
    const timestamp = Math.max(now, this.#tip.timestamp + 1)
    const anvil = await this.#awake()
    await anvil.call('evm_mine', [timestamp])
    const block = await readTip(anvil)
    this.#append('block', JSON.stringify({ timestamp, hash: block.hash }))
    this.#blocks.push(block)
    this.#tip = block
    return block
  }

  #append(kind: 'transaction' | 'block' | 'disconnect', text: string): void {
    this.#unwritten.push({ kind, payload: Buffer.from(text) })
  }
}

/** Whether a transaction waits for a block. */
async function hasWaiting(anvil: AnvilProcess): Promise<boolean> {
  const { pending, queued } = poolSchema.parse(await anvil.call('txpool_status', []))
  return Number(pending) + Number(queued) > 0
}
