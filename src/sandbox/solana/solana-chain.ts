import type { Address } from '@solana/kit'
import type { z } from 'zod'
import {
  baseSchema,
  blockFromJson,
  blockToJson,
  type ChainBase,
  newBase,
  type PlacedTransaction,
  type SolanaBlock,
} from './chain-base.ts'
import type { SvmModule } from './load-svm.ts'
import { hashOfBlock, type ReadTransaction, readTransaction } from './read-transaction.ts'
import { sandboxMintAccounts } from './sandbox-mints.ts'
import { type JournalEntry, SlotJournal, SlotJournalDamaged } from './slot-journal.ts'
import { SvmMachine } from './svm-machine.ts'
import type { TransactionError } from './transaction-error.ts'
import { TransactionIndex } from './transaction-index.ts'

/** Blocks for which a blockhash may be used. */
export const BLOCKHASH_BLOCKS = 150
/** Blocks kept to be read; older ones are pruned, as by a real node. */
const RETAINED_BLOCKS = 20_000
/** Journal lines after which a new base is written. */
const REBASE_LINES = 8_000
/** A block may be taken back as far as the oldest of these saved states. */
const SAVED_STATES = 12
const BLOCKS_BETWEEN_STATES = 64
const PENDING_MAX = 5_000
/** 5 million SOL, below what a JSON number holds exactly. */
const BANK_LAMPORTS = 5_000_000n * 1_000_000_000n
const RECENT_SLOT_HASHES = 64

type Waiting = Pick<Pending, 'transaction' | 'isAgeless'>
type SavedState = { readonly slot: number; readonly state: Uint8Array }
/** Ageless: a control held it back, so it is taken however old its blockhash has become meanwhile. */
type Pending = { readonly transaction: ReadTransaction; held: boolean; readonly isAgeless: boolean }

/**
 * One chain of blocks that hold transactions executed by the real virtual machine. Synchronous: what it answers is
 * journalled. Slots, skipped ones included, and times are the caller's.
 */
export class SolanaChain {
  readonly #machine: SvmMachine
  readonly #journal: SlotJournal
  readonly #bank: Address
  #blocks: SolanaBlock[] = []
  #branch = 0
  readonly #pending = new Map<string, Pending>()
  readonly #index = new TransactionIndex()
  #states: readonly SavedState[] = []

  private constructor(machine: SvmMachine, journal: SlotJournal, bank: Address) {
    this.#machine = machine
    this.#journal = journal
    this.#bank = bank
  }

  /** Opens the chain in `path`, or begins one. Throws `SlotJournalDamaged`. */
  static open(options: {
    readonly module: SvmModule
    readonly path: string
    readonly bank: Address
    readonly nowMs: number
    readonly onChange?: () => void
  }): SolanaChain {
    const { module, path, bank, nowMs } = options
    const { journal, base, entries } = SlotJournal.open(path, () => newBase(bank), options.onChange)
    const read = baseSchema.parse(JSON.parse(base))
    const state = read.svm === null ? null : Buffer.from(read.svm, 'base64')
    const machine = new SvmMachine(module, state, sandboxMintAccounts(bank))
    const chain = new SolanaChain(machine, journal, bank)
    if (read.svm === null) machine.credit(bank, BANK_LAMPORTS)
    chain.#branch = read.branch
    chain.#openBlocks(read)
    for (const { bytes, held, ageless = held } of read.pending)
      chain.#keep(readTransaction(Buffer.from(bytes, 'base64')), held, ageless)
    for (const entry of entries) chain.#replay(entry, path)
    if (chain.#blocks.length === 0) chain.produce({ slot: 1, timeSeconds: Math.floor(nowMs / 1_000) })
    return chain
  }

  get head(): SolanaBlock {
    const head = this.#blocks.at(-1)
    if (head === undefined) throw new Error('the chain has no block')
    return head
  }

  get genesisHash(): string {
    // The bank's address is random, so that no two sandbox chains have the same genesis.
    return hashOfBlock({ parentHash: this.#bank, slot: 0, branch: 0, signatures: [] })
  }

  get machine(): Pick<SvmMachine, 'account' | 'balance' | 'rentExemptMinimum' | 'simulate'> {
    return this.#machine
  }

  get pendingCount(): number {
    return [...this.#pending.values()].filter(({ held }) => !held).length
  }

  get firstSlot(): number {
    return this.#blocks[0]?.slot ?? 0
  }

  /** Blocks from the oldest that is kept to the newest. */
  get blocks(): readonly SolanaBlock[] {
    return this.#blocks
  }

  blockAt(slot: number): SolanaBlock | null {
    const index = this.#indexOf(slot)
    const block = this.#blocks[index]
    return block?.slot === slot ? block : null
  }

  /** The newest block that has `depth` blocks on top of it; the oldest kept where there are fewer. */
  blockBelowHead(depth: number): SolanaBlock {
    return this.#blocks[Math.max(0, this.#blocks.length - 1 - depth)] ?? this.head
  }

  placed(signature: string): PlacedTransaction | null {
    return this.#index.get(signature)
  }

  isPending(signature: string): boolean {
    return this.#pending.has(signature)
  }

  /** Transactions that name an address, oldest first. */
  mentioning(owner: string): readonly PlacedTransaction[] {
    return this.#index.mentioning(owner)
  }

  /** Whether a transaction with this lifetime could still be in the next block. */
  isAlive(transaction: ReadTransaction): boolean {
    if (this.isRecent(transaction.lifetime)) return true
    const { nonceAccount } = transaction
    return nonceAccount !== null && this.#machine.nonceValue(nonceAccount) === transaction.lifetime
  }

  isRecent(hash: string): boolean {
    return this.#blocks.slice(-BLOCKHASH_BLOCKS).some((block) => block.hash === hash)
  }

  /** Takes a transaction for the next block; a held one waits until it is released. Null where it is taken. */
  accept(transaction: ReadTransaction, held: boolean): TransactionError | null {
    if (this.#index.get(transaction.signature) !== null) return 'AlreadyProcessed'
    const waiting = this.#pending.get(transaction.signature)
    if (waiting !== undefined) return null
    if (!this.isAlive(transaction)) return 'BlockhashNotFound'
    if (this.#pending.size >= PENDING_MAX) return 'WouldExceedMaxBlockCostLimit'
    this.#journal.append({ kind: 'accepted', bytes: Buffer.from(transaction.bytes).toString('base64'), held })
    this.#keep(transaction, held)
    return null
  }

  release(signature: string): boolean {
    const waiting = this.#pending.get(signature)
    if (waiting === undefined) return false
    this.#journal.append({ kind: 'released', signature })
    waiting.held = false
    return true
  }

  /** Drops a waiting transaction, as nodes do whose leader never took it. */
  forget(signature: string): boolean {
    if (!this.#pending.has(signature)) return false
    this.#journal.append({ kind: 'forgotten', signature })
    this.#pending.delete(signature)
    return true
  }

  /** Makes the next block of all that waits and is not held. */
  produce({ slot, timeSeconds }: { slot: number; timeSeconds: number }): SolanaBlock {
    const waiting = [...this.#pending.values()].filter(({ held }) => !held)
    const block = this.#execute(slot, Math.max(timeSeconds, this.#blocks.at(-1)?.timeSeconds ?? 0), waiting)
    this.#journal.append({
      kind: 'block',
      slot,
      time: block.timeSeconds,
      signatures: waiting.map(({ transaction }) => transaction.signature),
      hash: block.hash,
    })
    if (this.#journal.lines >= REBASE_LINES) this.#rebase()
    return block
  }

  /**
   * Takes back every block above `slot`. What was in them waits again: held, where `held` names it. Null where the
   * chain does not reach back so far.
   */
  rollBack(slot: number, held: readonly string[]): SolanaBlock | null {
    const oldest = this.#states[0]
    if (oldest === undefined || slot < oldest.slot || this.blockAt(slot) === null) return null
    this.#journal.append({ kind: 'back', slot, held: [...held] })
    return this.#takeBack(slot, held)
  }

  close(): void {
    this.#journal.close()
  }

  #keep(transaction: ReadTransaction, held: boolean, isAgeless = held): void {
    this.#pending.set(transaction.signature, { transaction, held, isAgeless })
  }

  #replay(entry: JournalEntry, path: string): void {
    switch (entry.kind) {
      case 'accepted':
        this.#keep(readTransaction(Buffer.from(entry.bytes, 'base64')), entry.held)
        return
      case 'released': {
        const waiting = this.#pending.get(entry.signature)
        if (waiting !== undefined) waiting.held = false
        return
      }
      case 'forgotten':
        this.#pending.delete(entry.signature)
        return
      case 'block': {
        const transactions = entry.signatures.flatMap((each) => this.#pending.get(each) ?? [])
        const block = this.#execute(entry.slot, entry.time, transactions)
        if (block.hash === entry.hash) return
        throw new SlotJournalDamaged(
          `slot ${entry.slot} of ${path} replays to another block: delete the file to begin a new sandbox chain`,
        )
      }
      case 'back':
        this.#takeBack(entry.slot, entry.held)
    }
  }

  #execute(slot: number, timeSeconds: number, waiting: readonly Waiting[]): SolanaBlock {
    const parent = this.#blocks.at(-1)
    const recent = this.#blocks.slice(-RECENT_SLOT_HASHES).reverse()
    const parentHash = parent?.hash ?? this.genesisHash
    this.#machine.beginBlock({ slot, timeSeconds, parentHash, recent })
    const transactions: PlacedTransaction[] = []
    for (const { transaction, isAgeless } of waiting) {
      this.#pending.delete(transaction.signature)
      if (!(isAgeless || this.isAlive(transaction)) || this.#index.get(transaction.signature) !== null)
        continue
      const execution = this.#machine.execute(transaction)
      // What cannot even pay its fee is in no block.
      if (!('fee' in execution)) continue
      const placed = { ...execution, transaction, slot }
      transactions.push(placed)
      this.#index.add(placed)
    }
    const signatures = transactions.map((placed) => placed.transaction.signature)
    const block: SolanaBlock = {
      slot,
      parentSlot: parent?.slot ?? 0,
      height: (parent?.height ?? 0) + 1,
      hash: hashOfBlock({ parentHash, slot, branch: this.#branch, signatures }),
      parentHash,
      timeSeconds,
      transactions,
    }
    this.#blocks.push(block)
    this.#prune()
    if (block.height % BLOCKS_BETWEEN_STATES === 0 || this.#states.length === 0) this.#saveState()
    return block
  }

  #openBlocks(base: ChainBase): void {
    const blocks = base.blocks.map((block) => blockFromJson(block))
    const executed = blocks.filter(({ slot }) => slot <= (base.svmSlot ?? slot))
    this.#blocks = executed
    for (const block of executed) for (const placed of block.transactions) this.#index.add(placed)
    if (executed.length > 0) this.#saveState()
    for (const block of blocks.slice(executed.length)) this.#reexecute(block)
  }

  #saveState(): SavedState {
    const saved = { slot: this.head.slot, state: this.#machine.save() }
    this.#states = [...this.#states, saved].slice(-SAVED_STATES)
    return saved
  }

  #takeBack(slot: number, held: readonly string[]): SolanaBlock {
    const from = this.#states.filter((saved) => saved.slot <= slot).at(-1)
    if (from === undefined) throw new Error(`no state was saved below slot ${slot}`)
    const keep = this.#indexOf(slot)
    const removed = this.#blocks.splice(keep + 1)
    const again = this.#blocks.splice(this.#indexOf(from.slot) + 1)
    for (const block of [...removed, ...again])
      for (const placed of block.transactions) this.#index.remove(placed)
    this.#states = this.#states.filter((saved) => saved.slot <= from.slot)
    this.#machine.restore(from.state)
    const waiting = [...this.#pending.entries()]
    this.#pending.clear()
    const branch = this.#branch
    for (const block of again) this.#reexecute(block)
    this.#branch = branch + 1
    for (const block of removed)
      for (const { transaction } of block.transactions)
        this.#keep(transaction, held.includes(transaction.signature))
    for (const [signature, each] of waiting) this.#pending.set(signature, each)
    return this.head
  }

  /** Gives the block its old hash too: it may have been made on an earlier branch. */
  #reexecute(block: SolanaBlock): void {
    this.#execute(
      block.slot,
      block.timeSeconds,
      block.transactions.map(({ transaction }) => ({ transaction, isAgeless: true })),
    )
    this.#blocks[this.#blocks.length - 1] = block
  }

  #prune(): void {
    if (this.#blocks.length <= RETAINED_BLOCKS * 1.1) return
    const old = this.#blocks.splice(0, this.#blocks.length - RETAINED_BLOCKS)
    for (const block of old) for (const placed of block.transactions) this.#index.remove(placed)
  }

  /** Begins the journal anew with a state some way below the newest block, so that a fork may still go back there. */
  #rebase(): void {
    const [from = this.#saveState()] = this.#states
    const base: z.input<typeof baseSchema> = {
      version: 1,
      bank: this.#bank,
      svm: Buffer.from(from.state).toString('base64'),
      svmSlot: from.slot,
      branch: this.#branch,
      blocks: this.#blocks.map(blockToJson),
      pending: [...this.#pending.values()].map(({ transaction, held, isAgeless }) => ({
        bytes: Buffer.from(transaction.bytes).toString('base64'),
        held,
        ageless: isAgeless,
      })),
    }
    this.#journal.rebase(JSON.stringify(base))
  }

  /** Of the newest block at or below a slot; -1 where there is none. */
  #indexOf(slot: number): number {
    let low = 0
    let high = this.#blocks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#blocks[middle]?.slot ?? 0) <= slot) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}
