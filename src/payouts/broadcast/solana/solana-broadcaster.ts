import { NONCE_BYTES, nonceOfTransaction, nonceValueOf } from '../../../chain/solana/durable-nonce.ts'
import type { SolanaRpc, TransactionStatus } from '../../../chain/solana/solana-rpc.ts'
import { keyspaceOfNetwork, type Network } from '../../../core/assets.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { isWaitOver } from '../../../core/payout/payout-limits.ts'
import { usualUnitPrice } from '../../../core/payout/solana-fee.ts'
import { tenantOf } from '../../../core/tenant.ts'
import type { Pool } from '../../../postgres/pool.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { type Clock, isDue } from '../../../runtime/clock.ts'
import type { Log } from '../../../runtime/log.ts'
import { insertPayoutRefusal } from '../../store/payout-transactions.ts'
import { readFeePayerBalance } from '../../store/read-fee-payer-balance.ts'
import {
  hasPayoutsUnderWay,
  loadSolanaSignerAccounts,
  type SolanaReading,
  type SolanaSignerAccounts,
  saveSolanaReading,
} from '../../store/solana-accounts.ts'
import { listOpenMaintenance } from '../../store/solana-maintenance.ts'
import { saveVaultTokens } from '../../store/solana-token-sweeps.ts'
import { loadVaultCredit } from '../../store/vault-sweeps.ts'
import type {
  Broadcaster,
  BroadcastVerdict,
  ChainStatus,
  SignedBytes,
  TrackedPayout,
} from '../broadcaster.ts'
import type { OutcomeSealer } from '../outcome-sealer.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import { sendTo } from './send-to.ts'
import { isFinalWith } from './signed-transactions.ts'
import { SolanaDestinations } from './solana-destinations.ts'
import { SolanaFunding } from './solana-funding.ts'
import { SolanaMaintenance } from './solana-maintenance.ts'
import { SolanaX402 } from './solana-x402.ts'
import { type PayoutToken, type ReadVaultToken, readVaultTokens } from './vault-tokens.ts'

/** Transactions between the signer's own accounts that have not ended, at most. */
const OPEN_MAX = 50
/** While nothing is to be paid the accounts are read this often. */
const IDLE_INTERVAL_MS = 60_000
/** What a test cluster is asked for, 5 SOL, and how often at most. */
const AIRDROP = 5_000_000_000n
const AIRDROP_INTERVAL_MS = 30_000
/** Transactions of a nonce that are looked through for the one that used a value up, newest first. */
const NONCE_USES_MAX = 20

type SolanaBroadcasterParts = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly providers: PayoutProviders<SolanaRpc>
  readonly sealer: OutcomeSealer
  readonly tokens: readonly PayoutToken[]
  /** A test cluster that gives coins to anybody. */
  readonly givesCoins: boolean
  /** While something is to be paid the accounts are read this often. */
  readonly busyIntervalMs: number
}

/**
 * For this long a payout is sent with preflight checks. No longer: a payee may close the account where tokens go, as often as
 * they like, and meanwhile the payout keeps a nonce from everybody else's.
 */
const UNTRIED_AFTER_MS = 60_000

/**
 * Payouts on Solana. It reads the signer's accounts for requests and the signer, asks the signer for nonces and sweeps,
 * and sends what is signed. Payouts are signed over durable nonces: the same bytes are good for as long as it takes.
 */
export class SolanaBroadcaster implements Broadcaster {
  readonly #parts: SolanaBroadcasterParts
  readonly providers: PayoutProviders<SolanaRpc>
  readonly #maintenanceTransactions: SolanaMaintenance
  readonly #funding: SolanaFunding
  readonly #destinations: SolanaDestinations
  readonly #x402: SolanaX402
  #readAtMs = Number.NEGATIVE_INFINITY
  #airdropAtMs = Number.NEGATIVE_INFINITY
  #vault: { readonly vault: string; readonly vaultTokens: readonly ReadVaultToken[] } | null = null
  #isReported = false
  #isBusy = false

  constructor(parts: SolanaBroadcasterParts) {
    this.#parts = parts
    this.providers = parts.providers
    this.#maintenanceTransactions = new SolanaMaintenance(parts)
    this.#funding = new SolanaFunding(parts)
    this.#destinations = new SolanaDestinations(parts)
    this.#x402 = new SolanaX402(parts)
  }

  get isBusy(): boolean {
    return this.#isBusy || this.#x402.isBusy
  }

  async refreshNetwork(): Promise<void> {
    const { pool, network, clock, busyIntervalMs, tokens } = this.#parts
    const signerAccounts = await loadSolanaSignerAccounts(pool, network)
    if (signerAccounts === null) return
    const now = clock()
    if (!isDue(this.#readAtMs, busyIntervalMs, now.getTime())) return
    const isOwed = await hasPayoutsUnderWay(pool, network)
    const open = await listOpenMaintenance(pool, network, OPEN_MAX)
    const toFund = await this.#funding.wanted()
    const areTokensComing = await this.#maintenanceTransactions.sweeps.areTokensComing()
    this.#isBusy = isOwed || open.length > 0 || areTokensComing || toFund.length > 0
    if (!this.#isBusy && !isDue(this.#readAtMs, IDLE_INTERVAL_MS, now.getTime())) return
    const { reading, nonces } = await this.#read(signerAccounts, now)
    await saveSolanaReading(pool, network, reading, nonces)
    const vaultTokens = await readVaultTokens(this.providers.current, tokens, signerAccounts.vault)
    await saveVaultTokens(pool, network, vaultTokens, now)
    this.#vault = { vault: signerAccounts.vault, vaultTokens }
    this.#readAtMs = now.getTime()
    await this.#watchFeePayer(isOwed || toFund.length > 0)
    await this.#maintenanceTransactions.send(open)
    await this.#maintenanceTransactions.sealUnsealed()
    const left = await listOpenMaintenance(pool, network, OPEN_MAX)
    const isPaying = left.some(
      ({ maintenance }) => maintenance.kind === 'nonce' || maintenance.kind === 'sweep',
    )
    // Until a payout is requested, nothing is created and nothing is spent.
    if (isOwed || areTokensComing || isPaying)
      await this.#maintenanceTransactions.ask(signerAccounts, reading, {
        nonces,
        open: left,
        vaultTokens,
      })
    await this.#funding.ask(reading, toFund, left)
  }

  async prepare(unsigned: readonly Payout[]): Promise<void> {
    await this.#x402.follow()
    await this.#maintenanceTransactions.sweeps.recheckFrozen()
    await this.#endUncovered(unsigned)
    await this.#destinations.keep(unsigned, this.#vault)
  }

  /** What needs more than its merchant has in the vault, and than the chain has for it, waits for a day; not for what is frozen. */
  async #endUncovered(unsigned: readonly Payout[]): Promise<void> {
    const { pool, network, clock } = this.#parts
    const now = clock()
    const place = { network, keyspace: keyspaceOfNetwork(network) }
    for (const payout of unsigned) {
      const { asset } = payout
      const tenant = tenantOf(payout)
      const code = this.#maintenanceTransactions.sweeps.lackOf(tenant, asset)
      if (payout.status !== 'approved' || code === null) continue
      if (code !== 'deposit_frozen' && !isWaitOver(payout, now.getTime())) continue
      if ((await loadVaultCredit(pool, tenant, { ...place, asset })) >= payout.amount) continue
      const refusal = { payoutId: payout.id, code, now }
      await withTransaction(pool, tenant, (tx) => insertPayoutRefusal(tx, tenant, refusal))
    }
  }

  async look(tracked: readonly TrackedPayout[]): Promise<ReadonlyMap<string, ChainStatus>> {
    const txids = tracked.flatMap(({ transactions }) => transactions.map(({ txid }) => txid))
    const found = await this.providers.current.statuses(txids)
    const statuses = new Map<string, ChainStatus>()
    for (const one of tracked) statuses.set(one.payout.id, await this.#statusOf(one, found))
    return statuses
  }

  async #statusOf(
    { payout, transactions }: TrackedPayout,
    statuses: ReadonlyMap<string, TransactionStatus>,
  ): Promise<ChainStatus> {
    const transaction = transactions.find(({ txid }) => statuses.has(txid))
    const status = transaction === undefined ? undefined : statuses.get(transaction.txid)
    if (transaction === undefined || status === undefined) return { kind: 'absent' }
    const saysSo = (rpc: SolanaRpc) => isFinalWith(rpc, transaction.txid, status)
    if (!status.failed) {
      // A confirmed payout is watched for a while, and needs no second provider any more.
      const isFinal =
        status.isFinal &&
        (payout.status === 'confirmed' || (await this.providers.anotherSays(payout.id, saysSo)))
      return { kind: 'in_block', transaction, isFinal }
    }
    // It moved its nonce on and paid nobody: the same bytes are worth nothing, once that is final.
    const isDead = status.isFinal && (await this.providers.allSay(payout.id, saysSo))
    return isDead ? { kind: 'dead', code: 'failed_on_chain' } : { kind: 'unread' }
  }

  broadcast({ txid, raw }: SignedBytes): Promise<BroadcastVerdict> {
    return this.providers.broadcast(txid, (rpc) => sendTo(rpc, raw))
  }

  /**
   * Dead is a payout only when every node has a final transaction, none of the payout's own, that used up the value of
   * its nonce: one value carries one transaction. That a node knows none of a payout's transactions proves nothing,
   * for nodes forget what is old.
   */
  async judgeRefused({
    payout,
    transactions,
  }: TrackedPayout): Promise<{ readonly code: string; readonly unspent: readonly [] } | null> {
    const own = new Set(transactions.map(({ txid }) => txid))
    const isDead = await this.providers.allSay(payout.id, async (rpc) => {
      for (const { raw } of transactions) if (!(await isUsedElsewhere(rpc, raw, own))) return false
      return true
    })
    if (isDead) return { code: 'nonce_used_elsewhere', unspent: [] }
    await this.#sendUntried(transactions)
    return null
  }

  /**
   * What nodes refuse because it would fail no block ever has, and its nonce would carry nobody's payout any more. After a
   * while it is sent without being tried before: executed, it fails for good and lets go of its nonce.
   */
  async #sendUntried(transactions: TrackedPayout['transactions']): Promise<void> {
    const nowMs = this.#parts.clock().getTime()
    for (const { txid, raw, createdAt } of transactions)
      if (nowMs - createdAt.getTime() >= UNTRIED_AFTER_MS)
        await this.providers.broadcast(`${txid} untried`, (rpc) => sendTo(rpc, raw, { isUntried: true }))
  }

  async #read(
    signerAccounts: SolanaSignerAccounts,
    readAt: Date,
  ): Promise<{ reading: SolanaReading; nonces: ReadonlyMap<string, string> }> {
    const { feePayer, vault, nonceAccounts } = signerAccounts
    const [payer, safe, ...accounts] = await this.providers.current.accountsAt([
      feePayer,
      vault,
      ...nonceAccounts,
    ])
    const nonces = new Map<string, string>()
    for (const [index, account] of nonceAccounts.entries()) {
      const data = accounts[index]?.data
      const value = data === undefined ? null : nonceValueOf(data)
      if (value !== null) nonces.set(account, value)
    }
    const [rentExempt, nonceRentExempt, prices, latest] = await Promise.all([
      this.providers.current.rentExemptMinimum(),
      this.providers.current.rentExemptMinimum(NONCE_BYTES),
      this.providers.current.prioritizationFees(),
      this.providers.current.latestBlockhash(),
    ])
    const reading = {
      feePayerLamports: payer?.lamports ?? 0n,
      vaultLamports: safe?.lamports ?? 0n,
      rentExempt,
      nonceRentExempt,
      unitPrice: usualUnitPrice(prices),
      ...latest,
      readAt,
    }
    return { reading, nonces }
  }

  /** A test cluster funds the fee payer; on any other the operator must, if there is SOL to be paid out. */
  async #watchFeePayer(isDue: boolean): Promise<void> {
    const { pool, log, network, clock, givesCoins } = this.#parts
    const balance = await readFeePayerBalance(pool, network)
    if (balance === null || !balance.isLow) {
      if (this.#isReported) log.info({ network }, 'the fee payer of payouts on Solana has enough again')
      this.#isReported = false
      return
    }
    if (givesCoins) {
      if (isDue) await this.#requestCoins(balance.feePayer, clock().getTime())
      return
    }
    if (this.#isReported || !balance.isNeeded) return
    this.#isReported = true
    log.error(
      { network, feePayer: balance.feePayer, lamports: balance.held.toString() },
      'the fee payer of payouts on Solana runs low: they wait until somebody sends SOL to it',
    )
  }

  async #requestCoins(feePayer: string, nowMs: number): Promise<void> {
    if (!isDue(this.#airdropAtMs, AIRDROP_INTERVAL_MS, nowMs)) return
    this.#airdropAtMs = nowMs
    await this.providers.current.requestAirdrop(feePayer, AIRDROP)
  }
}

/**
 * Whether the node shows a final transaction, none of these, that used up the nonce of this one. Nonces that moved on in
 * one block hold the same value, and anybody may name ours beside one of their own: only what the nonce's authority paid
 * for, which is the signer, can have used it.
 */
async function isUsedElsewhere(rpc: SolanaRpc, raw: Uint8Array, own: ReadonlySet<string>): Promise<boolean> {
  const { account, value, authority } = nonceOfTransaction(raw)
  const [found] = await rpc.accountsAt([account])
  // A missing account was never created on this node's chain, or not yet.
  if (found == null || nonceValueOf(found.data) === value) return false
  const uses = await rpc.signaturesFor(account, null, 0)
  if (uses.some(({ signature }) => own.has(signature))) return false
  for (const { signature } of uses.slice(0, NONCE_USES_MAX)) {
    const transaction = await rpc.transaction(signature, 'finalized')
    if (transaction?.lifetime === value && transaction.accounts[0] === authority) return true
  }
  return false
}
