import { createHash } from 'node:crypto'
import { type Address, getAddressDecoder, getAddressEncoder, getBase58Encoder } from '@solana/kit'
import { isFailure, type NativeSvm, type SvmModule } from './load-svm.ts'
import type { ReadTransaction } from './read-transaction.ts'
import type { GivenAccount } from './sandbox-mints.ts'
import { readMint, readTokenAccount } from './token-bytes.ts'
import { isRefusedOutright, type TransactionError, transactionErrorOf } from './transaction-error.ts'

const SYSTEM_PROGRAM_BYTES = new Uint8Array(32)
const RENT_EPOCH_NEVER = 0xffff_ffff_ffff_ffffn
/** Addresses in a lookup table begin after its header. */
const TABLE_HEADER_BYTES = 56
/** Version, state and authority come before a nonce's value. */
const NONCE_VALUE_AT = 40
/** The value that a nonce moves on to is the hash of this and of the last block's name (DurableNonce of the Solana SDK). */
const NONCE_DOMAIN = 'DURABLE_NONCE'
/** Solana's fee for each signature. */
const LAMPORTS_PER_SIGNATURE = 5_000n

type TransactionAccount = {
  readonly pubkey: Address
  readonly signer: boolean
  readonly writable: boolean
  readonly source: 'transaction' | 'lookupTable'
}
export type TokenBalance = {
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly program: string
  readonly amount: bigint
  /** Absent in blocks that an earlier version wrote down: of wrapped SOL. */
  readonly decimals?: number
}

export type Execution = {
  readonly error: TransactionError | null
  readonly fee: bigint
  readonly accounts: readonly TransactionAccount[]
  readonly pre: readonly bigint[]
  readonly post: readonly bigint[]
  /** What each account was before, null where there was none; of those that the transaction may not write nothing is kept. */
  readonly before: readonly (SvmAccount | null)[]
  readonly preTokens: readonly TokenBalance[]
  readonly postTokens: readonly TokenBalance[]
  readonly logs: readonly string[]
  readonly computeUnits: bigint
}

export type SvmAccount = {
  readonly lamports: bigint
  readonly data: Uint8Array
  readonly programAddress: Address
  readonly executable: boolean
}

/** A block's place in time, as programs see it. */
type SlotClock = {
  readonly slot: number
  readonly timeSeconds: number
  readonly parentHash: string
  /** The newest blocks, newest first: the address lookup table program asks for them. */
  readonly recent: readonly { readonly slot: number; readonly hash: string }[]
}

type RefusedTransaction = { readonly error: TransactionError; readonly logs: readonly string[] }

/** The real Solana virtual machine, one transaction at a time; slots and blockhashes are its caller's. */
export class SvmMachine {
  readonly #module: SvmModule
  readonly #given: readonly GivenAccount[]
  #svm: NativeSvm
  #nextNonce = new Uint8Array()

  /** `given` are there from the beginning, also on a chain that began before they were thought of. */
  constructor(module: SvmModule, state: Uint8Array | null, given: readonly GivenAccount[]) {
    this.#module = module
    this.#given = given
    this.#svm = state === null ? new module.LiteSvm() : module.LiteSvm.fromBytes(state)
    this.#configure()
    if (state === null) this.#svm.withNativeMints()
  }

  /** The caller checks blockhashes, since the machine knows only its newest; and keeps the history. */
  #configure(): void {
    this.#svm.setBlockhashCheck(false)
    this.#svm.setTransactionHistory(0n)
    for (const { address, programAddress, data } of this.#given) {
      if (this.#svm.getAccount(bytesOf(address)) !== null) continue
      const lamports = this.#svm.minimumBalanceForRentExemption(BigInt(data.length))
      const { Account } = this.#module
      const account = new Account(lamports, data, bytesOf(programAddress), false, RENT_EPOCH_NEVER)
      this.#svm.setAccount(bytesOf(address), account)
    }
  }

  save(): Uint8Array {
    return this.#svm.toBytes()
  }

  restore(state: Uint8Array): void {
    this.#svm = this.#module.LiteSvm.fromBytes(state)
    this.#configure()
  }

  credit(owner: Address, amount: bigint): void {
    const { Account } = this.#module
    const account = new Account(amount, new Uint8Array(), SYSTEM_PROGRAM_BYTES, false, RENT_EPOCH_NEVER)
    this.#svm.setAccount(bytesOf(owner), account)
  }

  /** Begins a block: a new blockhash for durable nonces, and the clock. */
  beginBlock({ slot, timeSeconds, parentHash, recent }: SlotClock): void {
    this.#svm.expireBlockhash()
    const name = Uint8Array.from(getBase58Encoder().encode(parentHash))
    this.#nextNonce = createHash('sha256').update(NONCE_DOMAIN).update(name).digest()
    const clock = this.#svm.getClock()
    clock.slot = BigInt(slot)
    clock.unixTimestamp = BigInt(timeSeconds)
    this.#svm.setClock(clock)
    this.#svm.setSlotHashes(recent.map(({ slot: at, hash }) => ({ slot: BigInt(at), hash })))
  }

  execute(transaction: ReadTransaction): Execution | RefusedTransaction {
    const accounts = this.accountsOf(transaction)
    if (accounts === null) return { error: 'AddressLookupTableNotFound', logs: [] }
    const pre = this.#balances(accounts)
    const before = accounts.map(({ pubkey, writable }) => (writable ? this.account(pubkey) : null))
    const preTokens = this.#tokens(accounts)
    const wire = Uint8Array.from(transaction.bytes)
    const result =
      transaction.version === 'legacy'
        ? this.#svm.sendLegacyTransaction(wire)
        : this.#svm.sendVersionedTransaction(wire)
    const error = isFailure(result) ? transactionErrorOf(result.err()) : null
    const meta = isFailure(result) ? result.meta() : result
    if (error !== null && isRefusedOutright(error)) return { error, logs: meta.logs() }
    if (transaction.nonceAccount !== null) this.#moveOn(transaction.nonceAccount)
    return {
      error,
      fee: LAMPORTS_PER_SIGNATURE * BigInt(transaction.signatures.length),
      accounts,
      pre,
      post: this.#balances(accounts),
      before,
      preTokens,
      postTokens: this.#tokens(accounts),
      logs: meta.logs(),
      computeUnits: meta.computeUnitsConsumed(),
    }
  }

  /** Runs a transaction without effect; `error` is null if it would succeed. */
  simulate(transaction: ReadTransaction): { error: TransactionError | null; logs: string[]; units: bigint } {
    const wire = Uint8Array.from(transaction.bytes)
    const result =
      transaction.version === 'legacy'
        ? this.#svm.simulateLegacyTransaction(wire)
        : this.#svm.simulateVersionedTransaction(wire)
    const meta = result.meta()
    return {
      error: isFailure(result) ? transactionErrorOf(result.err()) : null,
      logs: meta.logs(),
      units: meta.computeUnitsConsumed(),
    }
  }

  account(owner: Address): SvmAccount | null {
    const found = this.#svm.getAccount(bytesOf(owner))
    if (found === null || found.lamports() === 0n) return null
    return {
      lamports: found.lamports(),
      data: Uint8Array.from(found.data()),
      programAddress: getAddressDecoder().decode(found.owner()),
      executable: found.executable(),
    }
  }

  balance(owner: Address): bigint {
    return this.#svm.getBalance(bytesOf(owner)) ?? 0n
  }

  rentExemptMinimum(dataBytes: bigint): bigint {
    return this.#svm.minimumBalanceForRentExemption(dataBytes)
  }

  /** The value that a durable nonce's account holds now, base58; null if the account is not a nonce. */
  nonceValue(owner: Address): string | null {
    const found = this.account(owner)
    if (found === null || found.data.length < NONCE_VALUE_AT + 32) return null
    return getAddressDecoder().decode(found.data.slice(NONCE_VALUE_AT, NONCE_VALUE_AT + 32))
  }

  /** Static keys, then what lookup tables load: all writable ones before the readonly ones. Null without a table. */
  accountsOf({ staticKeys, lookups }: ReadTransaction): readonly TransactionAccount[] | null {
    const accounts: TransactionAccount[] = staticKeys.map((key) => ({ ...key, source: 'transaction' }))
    for (const kind of ['writable', 'readonly'] as const) {
      for (const lookup of lookups) {
        const table = this.account(lookup.table)
        if (table === null) return null
        for (const index of lookup[kind]) {
          const at = TABLE_HEADER_BYTES + index * 32
          if (at + 32 > table.data.length) return null
          const pubkey = getAddressDecoder().decode(table.data.slice(at, at + 32))
          accounts.push({ pubkey, signer: false, writable: kind === 'writable', source: 'lookupTable' })
        }
      }
    }
    return accounts
  }

  /**
   * The machine takes a nonce's next value from the transaction itself, so that forks would agree on it, and moves none on
   * where the transaction failed. On a chain it follows from the block before, and a failure uses it up as well.
   */
  #moveOn(nonceAccount: Address): void {
    const found = this.account(nonceAccount)
    if (found === null) return
    const { Account } = this.#module
    const data = Uint8Array.from(found.data)
    data.set(this.#nextNonce, NONCE_VALUE_AT)
    const owner = bytesOf(found.programAddress)
    const moved = new Account(found.lamports, data, owner, false, RENT_EPOCH_NEVER)
    this.#svm.setAccount(bytesOf(nonceAccount), moved)
  }

  #balances(accounts: readonly TransactionAccount[]): bigint[] {
    return accounts.map(({ pubkey }) => this.balance(pubkey))
  }

  #tokens(accounts: readonly TransactionAccount[]): TokenBalance[] {
    return accounts.flatMap(({ pubkey }, accountIndex): TokenBalance[] => {
      const found = this.account(pubkey)
      const token = readTokenAccount(found)
      if (found === null || token === null) return []
      const { mint, owner, amount } = token
      const { decimals = 0 } = readMint(this.account(mint)) ?? {}
      return [{ accountIndex, mint, owner, program: found.programAddress, amount, decimals }]
    })
  }
}

const bytesOf = (owner: Address): Uint8Array => Uint8Array.from(getAddressEncoder().encode(owner))
