import { secp256k1 } from '@noble/curves/secp256k1.js'
import { p2wpkh } from '@scure/btc-signer'
import { Journal, type JournalRecord, type PlacedRecord } from '../journal.ts'
import { type PendingStep, pendingStepSchema } from '../pending-step.ts'
import { type Acceptance, acceptTransaction } from './accept-transaction.ts'
import { blockHashBytes, buildBlock, NOTHING_CLAIMED, parseBlock } from './block.ts'
import { BlockIndex, type IndexedBlock } from './block-index.ts'
import { type ChainParameters, COINBASE_MATURITY } from './chain-parameters.ts'
import { ChainTransaction, outpointOf, type TransactionOutput } from './chain-transaction.ts'
import { type BlockUndo, Coins } from './coins.ts'
import { toDisplayHex } from './encoding.ts'
import { Mempool, type MempoolEntry } from './mempool.ts'

/** How deep a reorganisation may go: as long is what a block did remembered. */
export const MAX_REORGANISATION_DEPTH = 100
/** The first block pays the wallet, and this many after it make that spendable. Never reorganised away. */
export const BASE_HEIGHT = 1 + COINBASE_MATURITY
/** Room for the coinbase and the header is left. */
const MAX_BLOCK_CONTENT = { transactions: 4_000, weight: 3_900_000 }
/** Blocks whose median time bounds the next one's from below. */
const MEDIAN_TIME_BLOCKS = 11
const TIME_BYTES = 8
const PRIVATE_KEY_BYTES = 32

/** What is remembered of the newest blocks. */
type RecentBlock = {
  readonly block: IndexedBlock
  readonly undo: BlockUndo
  /** Its transactions, the coinbase left out. */
  readonly payments: readonly ChainTransaction[]
}

/**
 * A regtest chain in memory, and the journal from which it is made again. Every change is a record that is
 * appended first and applied second, and a restart applies the same records: there is no other way to change.
 */
export class ChainState {
  readonly parameters: ChainParameters
  readonly index = new BlockIndex()
  readonly mempool = new Mempool()
  private openCoins: Coins | null = null
  private openJournal: Journal | null = null
  private key: Uint8Array | null = null
  private script: Uint8Array = new Uint8Array()
  private recent: RecentBlock[] = []

  private readonly openSteps = new Map<string, PendingStep>()

  private readonly onChange: (() => void) | undefined

  private constructor(parameters: ChainParameters, onChange?: () => void) {
    this.parameters = parameters
    this.onChange = onChange
  }

  /**
   * Opens the chain in the file, or begins one there with `newKey` as its wallet's key. Throws
   * `JournalDamaged`, and the file system's errors.
   */
  static open(options: {
    parameters: ChainParameters
    path: string
    newKey: () => Uint8Array
    nowMs: number
    onSyncError: (error: Error) => void
    /** Called after each change. */
    onChange?: () => void
  }): ChainState {
    const state = new ChainState(options.parameters, options.onChange)
    state.openJournal = Journal.open(options.path, {
      replay: (record) => state.apply(record),
      onSyncError: options.onSyncError,
    })
    try {
      state.begin(options.newKey, options.nowMs)
    } catch (error) {
      state.close()
      throw error
    }
    return state
  }

  get coins(): Coins {
    if (this.openCoins === null) throw new Error('the sandbox chain has no wallet yet')
    return this.openCoins
  }

  get walletKey(): Uint8Array {
    if (this.key === null) throw new Error('the sandbox chain has no wallet yet')
    return this.key
  }

  get walletScript(): Uint8Array {
    return this.script
  }

  get tip(): IndexedBlock {
    return this.index.tip()
  }

  blockBytes(block: IndexedBlock): Buffer {
    return this.journal.read(block.offset, block.size)
  }

  hashOf(block: IndexedBlock): string {
    return toDisplayHex(this.index.hashOf(block))
  }

  /** Median time of a block and the ten before it, in seconds (BIP113). */
  medianTimeS(block: IndexedBlock): number {
    const times: number[] = []
    let at: IndexedBlock | null = block
    while (at !== null && times.length < MEDIAN_TIME_BLOCKS) {
      times.push(at.timeS)
      at = this.index.parentOf(at)
    }
    return times.sort((a, b) => a - b)[times.length >> 1] ?? 0
  }

  /** The height of a transaction in one of the newest blocks, or null. */
  heightOfRecent(txid: string): number | null {
    const holder = this.recent.find((one) => one.payments.some((payment) => payment.txid === txid))
    return holder?.block.height ?? null
  }

  /** What would be answered to this transaction; changes nothing. */
  judge(transaction: ChainTransaction): Acceptance {
    return acceptTransaction(transaction, {
      coins: this.coins,
      mempool: this.mempool,
      maxMoney: this.parameters.maxMoney,
      tipHeight: this.index.tipHeight,
      medianTimeS: this.medianTimeS(this.tip),
    })
  }

  /** Takes a transaction into the mempool where it is acceptable. */
  submit(transaction: ChainTransaction, nowMs: number): Acceptance {
    const answer = this.judge(transaction)
    if (answer.kind === 'accepted') {
      this.commit({ kind: 'transaction', payload: Buffer.concat([encodeTime(nowMs), transaction.bytes]) })
    }
    return answer
  }

  /** Makes the next block out of what waits and is not held. */
  mine(nowMs: number): IndexedBlock {
    const height = this.index.tipHeight + 1
    const block = buildBlock({
      height,
      previousHash: this.hashOf(this.tip),
      timeS: Math.max(Math.floor(nowMs / 1000), this.medianTimeS(this.tip) + 1),
      extraNonce: this.index.size,
      coinbaseOutputs: height === 1 ? this.premineOutputs() : [NOTHING_CLAIMED],
      transactions: this.mempool.minable(MAX_BLOCK_CONTENT),
      proofOfWork: this.parameters.proofOfWork,
    })
    this.commit({ kind: 'block', payload: block })
    return this.tip
  }

  /**
   * Takes the newest `depth` blocks off the chain and puts a branch in their place that is one block longer.
   * What the old blocks held waits again and is in the new branch, unless it is held.
   */
  reorganise(depth: number, nowMs: number): { readonly forkHeight: number } {
    if (depth < 1 || depth > MAX_REORGANISATION_DEPTH || this.index.tipHeight - depth < BASE_HEIGHT) {
      throw new RangeError(`cannot reorganise ${depth} blocks at height ${this.index.tipHeight}`)
    }
    for (let count = 0; count < depth; count++)
      this.commit({ kind: 'disconnect', payload: encodeTime(nowMs) })
    const forkHeight = this.index.tipHeight
    for (let count = 0; count <= depth; count++) this.mine(nowMs)
    return { forkHeight }
  }

  /** Steps that were kept and not done, here or in a process before. */
  get pendingSteps(): readonly PendingStep[] {
    return [...this.openSteps.values()]
  }

  keepStep(step: PendingStep): void {
    this.commit({ kind: 'plan', payload: Buffer.from(JSON.stringify(step)) })
  }

  done(txid: string): void {
    if (this.openSteps.has(txid)) this.commit({ kind: 'done', payload: Buffer.from(txid) })
  }

  close(): void {
    this.openJournal?.close()
  }

  private get journal(): Journal {
    if (this.openJournal === null) throw new Error('the sandbox chain is not open')
    return this.openJournal
  }

  private begin(newKey: () => Uint8Array, nowMs: number): void {
    if (this.key === null) {
      this.commit({ kind: 'wallet', payload: Buffer.concat([newKey(), Buffer.from(this.parameters.chain)]) })
    }
    if (this.index.size === 0) this.commit({ kind: 'block', payload: this.parameters.genesisBlock })
    // A start that was cut short goes on where it stood. The blocks lie in the past, a second apart.
    while (this.index.tipHeight < BASE_HEIGHT) this.mine(nowMs - (BASE_HEIGHT - this.index.tipHeight) * 1000)
  }

  private premineOutputs(): TransactionOutput[] {
    const { outputs, amountEach } = this.parameters.premine
    return Array.from({ length: outputs }, () => ({ amount: amountEach, script: this.walletScript }))
  }

  private commit(record: JournalRecord): void {
    for (const placed of this.journal.append([record])) this.apply(placed)
    this.onChange?.()
  }

  private apply(record: PlacedRecord): void {
    switch (record.kind) {
      case 'wallet':
        this.applyWallet(record.payload)
        break
      case 'block':
        this.applyBlock(record)
        break
      case 'disconnect':
        this.applyDisconnect(decodeTime(record.payload))
        break
      case 'transaction':
        this.applyTransaction(record.payload)
        break
      case 'plan':
        this.applyStep(pendingStepSchema.parse(JSON.parse(record.payload.toString())))
        break
      case 'done':
        this.openSteps.delete(record.payload.toString())
        break
    }
  }

  private applyStep(step: PendingStep): void {
    this.openSteps.set(step.txid, step)
    if (step.held) this.mempool.hold(step.txid)
  }

  private applyWallet(payload: Buffer): void {
    const chain = payload.subarray(PRIVATE_KEY_BYTES).toString()
    if (chain !== this.parameters.chain) throw new Error(`the journal is of the chain ${chain}`)
    this.key = payload.subarray(0, PRIVATE_KEY_BYTES)
    this.script = p2wpkh(secp256k1.getPublicKey(this.key, true)).script
    this.openCoins = new Coins(this.script)
  }

  private applyBlock(record: PlacedRecord): void {
    const { header, transactions } = parseBlock(record.payload)
    const place = { timeS: header.timeS, offset: record.offset, size: record.payload.length }
    const block = this.index.connect(blockHashBytes(record.payload), place)
    // Nobody can spend the genesis block's coin, on any chain.
    if (block.height === 0) return
    const undo = this.coins.connect(transactions, block.height)
    const payments = transactions.slice(1)
    for (const payment of payments) this.removeMined(payment)
    this.recent.push({ block, undo, payments })
    if (this.recent.length > MAX_REORGANISATION_DEPTH) this.recent.shift()
  }

  private removeMined(transaction: ChainTransaction): void {
    this.mempool.remove(transaction.txid)
    for (const input of transaction.inputs) {
      const rival = this.mempool.spenderOf(outpointOf(input.txid, input.index))
      if (rival !== undefined) this.mempool.removeWithDescendants(rival)
    }
  }

  private applyDisconnect(nowMs: number): void {
    const last = this.recent.pop()
    if (last === undefined) throw new Error('there is no block left that can be disconnected')
    this.index.disconnectTip()
    this.coins.disconnect(last.undo)
    const back: MempoolEntry[] = []
    const amounts = new Map(last.undo.spent.map(([outpoint, coin]) => [outpoint, coin.amount]))
    for (const transaction of last.payments) {
      const fee = feeOf(transaction, (outpoint) => amounts.get(outpoint))
      back.push({ transaction, fee, timeMs: nowMs, height: this.index.tipHeight })
    }
    this.mempool.addFirst(back)
  }

  private applyTransaction(payload: Buffer): void {
    const transaction = ChainTransaction.parse(payload.subarray(TIME_BYTES))
    const fee = feeOf(transaction, (outpoint, txid, index) => {
      return (this.coins.get(outpoint) ?? this.mempool.get(txid)?.transaction.outputs[index])?.amount
    })
    for (const input of transaction.inputs) {
      const rival = this.mempool.spenderOf(outpointOf(input.txid, input.index))
      if (rival !== undefined) this.mempool.removeWithDescendants(rival)
    }
    this.mempool.add({ transaction, fee, timeMs: decodeTime(payload), height: this.index.tipHeight })
  }
}

function feeOf(
  transaction: ChainTransaction,
  amountOf: (outpoint: string, txid: string, index: number) => bigint | undefined,
): bigint {
  let fee = 0n
  for (const { txid, index } of transaction.inputs) {
    const amount = amountOf(outpointOf(txid, index), txid, index)
    if (amount === undefined) throw new Error(`the input ${outpointOf(txid, index)} is unknown`)
    fee += amount
  }
  for (const output of transaction.outputs) fee -= output.amount
  return fee
}

function encodeTime(timeMs: number): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES)
  bytes.writeDoubleLE(timeMs)
  return bytes
}

const decodeTime = (payload: Buffer): number => payload.readDoubleLE(0)
