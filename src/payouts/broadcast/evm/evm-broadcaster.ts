import { bytesToHex } from '@noble/hashes/utils.js'
import { encodeEvmAddress, parseEvmAddress } from '../../../chain/evm/address.ts'
import { tokenTransfer } from '../../../chain/evm/contract-call.ts'
import { EvmRpcError } from '../../../chain/evm/evm-rpc.ts'
import { hotWalletOf } from '../../../chain/evm/hot-wallet.ts'
import { ASSETS, isToken, keyspaceOfNetwork } from '../../../core/assets.ts'
import { TOKEN_TRANSFER_GAS } from '../../../core/payout/gas.ts'
import { isWithinFee } from '../../../core/payout/lost-payment.ts'
import { netAmountOf, type Payout } from '../../../core/payout/payout.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { loadAccountKey } from '../../../db/addresses/account-keys.ts'
import { type HotWallet, saveHotWallet, textOfHotWallet } from '../../../db/addresses/hot-wallets.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import { loadIntentNonce, loadNextNonce } from '../../store/account-nonces.ts'
import { isKnownTransaction, saveFoundPayout } from '../../store/found-payouts.ts'
import { insertPayoutGas, insertPayoutRefusal, loadPayoutGas } from '../../store/payout-transactions.ts'
import { type GasBalance, readGasBalance } from '../../store/read-gas-balance.ts'
import { listSweepsOf } from '../../store/sweeps.ts'
import type { BroadcastVerdict, SignedBytes } from '../broadcaster.ts'
import { type Broadcaster, type ChainStatus, PAID_BY_UNKNOWN, type TrackedPayout } from '../broadcaster.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import { isRefused, unlessRefused } from '../unless-refused.ts'
import type { EvmBroadcasterParts, EvmPayoutChain } from './evm-broadcaster-parts.ts'
import { EvmSweeps } from './evm-sweeps.ts'
import { findNonceUser, isFinalWith, isRevertedForGood } from './evm-verdicts.ts'
import { EvmX402 } from './evm-x402.ts'
import type { Payment } from './payment-gas.ts'
import { tokenRefusal } from './token-refusal.ts'

/** While nothing is on its way the hot wallet is looked at this often: the fee that is shown comes from there. */
const IDLE_LOOK_MS = 60_000
const UNREAD: ChainStatus = { kind: 'unread' }

/** Payouts on an account-based chain (Ethereum, Base), the sweeps for their sake, and what payers signed for us to carry. */
export class EvmBroadcaster implements Broadcaster {
  readonly providers: PayoutProviders<EvmPayoutChain>
  readonly #parts: EvmBroadcasterParts
  readonly #sweeps: EvmSweeps
  readonly #x402: EvmX402
  readonly #alarm: GasAlarm
  readonly #alerts = new DeduplicatedLog()
  #hot: Uint8Array | null = null
  #wallet: HotWallet | null = null
  #readAtMs = Number.NEGATIVE_INFINITY
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #isBusy = false
  /** Ether for gas is on its way to the hot wallet. */
  #awaitsEther = false

  constructor(parts: EvmBroadcasterParts) {
    this.#parts = parts
    this.providers = parts.providers
    this.#sweeps = new EvmSweeps(parts)
    this.#x402 = new EvmX402(parts)
    this.#alarm = new GasAlarm(parts)
  }

  get isBusy(): boolean {
    return this.#isBusy || this.#awaitsEther
  }

  async refreshNetwork(): Promise<void> {
    const { lookEveryMs, clock } = this.#parts
    const everyMs = this.isBusy ? lookEveryMs : IDLE_LOOK_MS
    if (isDue(this.#readAtMs, everyMs, clock().getTime())) await this.#read()
  }

  async #read(): Promise<void> {
    const { pool, network, clock, sealer } = this.#parts
    const hot = await this.#hotWallet()
    if (hot === null) return
    const now = clock()
    const account = await this.providers.current.accountOf(hot)
    if (!(await this.#isExplained(hot, account.nonce))) return
    this.#wallet = { ...account, network, address: Buffer.from(hot) }
    const seal = sealer.reading(textOfHotWallet(this.#wallet, now))
    await saveHotWallet(pool, this.#wallet, { readAt: now, seal })
    this.#awaitsEther = await this.#alarm.look()
    this.#readAtMs = now.getTime()
  }

  /**
   * Whether the hot wallet sent no more than was signed here, or that is final by another provider too. Who signs with a nonce
   * that a node gave too high leaves a gap, and all that is signed behind it waits.
   */
  async #isExplained(hot: Uint8Array, nonce: number): Promise<boolean> {
    const { pool, network, log } = this.#parts
    if (nonce <= (this.#wallet?.nonce ?? 0)) return true
    const next = await loadNextNonce(pool, { network, sender: hot })
    if (nonce <= next) return true
    const address = encodeEvmAddress(hot)
    const isFinalBy = async (chain: EvmPayoutChain) => (await chain.nonceOf(hot, 'finalized')) >= nonce
    if ((await isFinalBy(this.providers.current)) && (await this.providers.anotherSays(address, isFinalBy)))
      return true
    if (this.#alerts.isNew(address, 'unexplained'))
      log.error(
        { network, address, nonce, next },
        'a node says that the hot wallet sent more than was signed here: nothing is signed until that is final',
      )
    return false
  }

  /** Null until the signer has published its account. */
  async #hotWallet(): Promise<Uint8Array | null> {
    if (this.#hot !== null) return this.#hot
    const { pool, network } = this.#parts
    const account = await loadAccountKey(pool, keyspaceOfNetwork(network))
    if (account?.xpub == null) return null
    this.#hot = hotWalletOf(account.xpub)
    return this.#hot
  }

  async prepare(unsigned: readonly Payout[]): Promise<void> {
    const wasBusy = this.#isBusy
    const isSweeping = this.#hot !== null && (await this.#sweeps.follow(this.#hot))
    const isSettling = await this.#x402.follow(this.#hot)
    this.#isBusy = unsigned.length > 0 || isSweeping || isSettling
    // What is planned now goes by the prices of now.
    if (this.#isBusy && !wasBusy) await this.#read()
    if (this.#wallet === null) return
    if (this.#parts.tokens.length > 0) await this.#sweeps.recheckFrozen(this.#wallet.address)
    for (const payout of unsigned)
      if (payout.status === 'approved') await this.#alone(payout, () => this.#prepareOne(payout))
  }

  async #prepareOne(payout: Payout): Promise<void> {
    if (this.#wallet === null) return
    if (!(await this.#isTaken(payout, this.#wallet, { isSwept: false }))) return
    await this.#sweeps.plan(payout, this.#wallet)
    await this.#requestGas(payout, this.#wallet)
  }

  /** Undefined where the node refuses a question about this payout: the others do not wait for it. */
  #alone<Result>({ id: about }: Payout, work: () => Promise<Result>): Promise<Result | undefined> {
    return unlessRefused(this.#parts, { about, alerts: this.#alerts }, work)
  }

  /**
   * Whether the token's contract would let the destination be paid, as far as a node says. What it refuses by another
   * provider's word as well is given up before gas is spent on it: asked before anything is swept, and once more before
   * the payout is signed.
   */
  async #isTaken(
    payout: Payout,
    { address: hot }: HotWallet,
    { isSwept }: { readonly isSwept: boolean },
  ): Promise<boolean> {
    const { pool, clock } = this.#parts
    const tenant = tenantOf(payout)
    const to = parseEvmAddress(payout.destination)
    if (!isToken(payout.asset) || to === null) return true
    if (!isSwept && (await listSweepsOf(pool, tenant, payout.id)).some(({ amount }) => amount > 0n))
      return true
    const refusalBy = (chain: EvmPayoutChain) => tokenRefusal(chain, { asset: payout.asset, hot, to })
    const code = await refusalBy(this.providers.current)
    if (code === null) {
      this.providers.isNotRefused(payout.id)
      return true
    }
    const saysSo = async (chain: EvmPayoutChain) => (await refusalBy(chain)) !== null
    if (!(await this.providers.isRefusedForGood(payout.id, saysSo))) return false
    const refusal = { payoutId: payout.id, code, now: clock() }
    await withTransaction(pool, tenant, (tx) => insertPayoutRefusal(tx, tenant, refusal))
    return false
  }

  /** Asks once, when all is swept, how much gas the destination takes. */
  async #requestGas(payout: Payout, wallet: HotWallet): Promise<void> {
    const { pool } = this.#parts
    const tenant = tenantOf(payout)
    const to = parseEvmAddress(payout.destination)
    if (to === null || (await loadPayoutGas(pool, tenant, payout.id)) !== null) return
    const sweeps = await listSweepsOf(pool, tenant, payout.id)
    if (sweeps.some(({ status, amount }) => status !== 'done' && amount > 0n)) return
    if (!(await this.#isTaken(payout, wallet, { isSwept: true }))) return
    const payment = { from: wallet.address, to, value: netAmountOf(payout) }
    const gas = isToken(payout.asset) ? TOKEN_TRANSFER_GAS : await this.#gasOf(payout.id, payment)
    const saysSo = async (chain: EvmPayoutChain) => (await chain.gasOf(payment)) === 0n
    if (gas !== 0n) this.providers.isNotRefused(payout.id)
    else if (!(await this.providers.isRefusedForGood(payout.id, saysSo))) return
    await withTransaction(pool, tenant, (tx) => insertPayoutGas(tx, tenant, { payoutId: payout.id, gas }))
  }

  /** 0 also where for a day no provider has said how much, in whatever words, and each does for the hot wallet. */
  async #gasOf(payoutId: string, payment: Payment): Promise<bigint> {
    const chain = this.providers.current
    try {
      return await chain.gasOf(payment)
    } catch (error) {
      if (!(error instanceof EvmRpcError) || !isRefused(error) || !this.providers.isLast) throw error
      // Fails as well where the node, or the hot wallet's lack of ether, is why: that says nothing of the destination.
      if ((await chain.gasOf({ ...payment, to: payment.from })) === 0n) throw error
      if (!this.providers.isRefusedForLong(payoutId)) throw error
      return 0n
    }
  }

  async look(tracked: readonly TrackedPayout[]): Promise<ReadonlyMap<string, ChainStatus>> {
    const { clock, lookEveryMs } = this.#parts
    const nowMs = clock().getTime()
    const statuses = new Map<string, ChainStatus>()
    // What the chain itself has called final is not looked after any more.
    const open = tracked.filter(({ payout }) => payout.status !== 'confirmed')
    this.#isBusy ||= open.length > 0
    if (open.length === 0 || !isDue(this.#lookedAtMs, lookEveryMs, nowMs)) return statuses
    this.#lookedAtMs = nowMs
    const finalized = await this.providers.current.finalizedHeight()
    for (const { payout, transactions } of open)
      statuses.set(
        payout.id,
        (await this.#alone(payout, () => this.#statusOf({ payout, transactions }, finalized))) ?? UNREAD,
      )
    return statuses
  }

  async #statusOf({ payout, transactions }: TrackedPayout, finalized: number | null): Promise<ChainStatus> {
    for (const transaction of [...transactions].reverse()) {
      const { txid } = transaction
      const receipt = await this.providers.current.receiptOf(txid)
      if (receipt === null) continue
      const isFinal = finalized !== null && receipt.height <= finalized
      if (isFinal && !receipt.succeeded) {
        // It took its nonce and its gas, and paid nobody.
        const isReverted = await this.providers.allSay(payout.id, (chain) => isRevertedForGood(chain, txid))
        return isReverted ? { kind: 'dead', code: 'reverted' } : UNREAD
      }
      const isAgreed =
        isFinal && (await this.providers.anotherSays(payout.id, (chain) => isFinalWith(chain, txid, receipt)))
      return { kind: 'in_block', transaction, isFinal: isAgreed }
    }
    return { kind: 'absent' }
  }

  broadcast({ txid, raw }: SignedBytes): Promise<BroadcastVerdict> {
    return this.providers.broadcast(txid, (chain) => chain.broadcast(raw))
  }

  /**
   * Dead is a payout only when its nonce was used by something else, as `findNonceUser` says, that is not known to pay it: a
   * replacement that a restore has forgotten waits for the signer to know it again.
   */
  async judgeRefused({ payout, transactions }: TrackedPayout) {
    const { pool } = this.#parts
    const place = await loadIntentNonce(pool, tenantOf(payout), payout.id)
    if (place === null) return null
    const fromHeight = Math.min(...transactions.map(({ fromHeight }) => fromHeight))
    const txids = () => Promise.resolve(transactions.map(({ txid }) => txid))
    const isDead = await this.providers.allSay(payout.id, async (chain) => {
      const found = await findNonceUser(chain, place, { txids, fromHeight })
      if (found === 'unseen') this.#alert(payout, NONCE_UNSEEN)
      if (typeof found === 'string') return false
      return !(await this.#mayBePaidBy(chain, payout, found.elsewhere))
    })
    return isDead ? { code: 'nonce_used_elsewhere', unspent: [] } : null
  }

  /** Whether a transaction of the hot wallet that no books know pays this payout, and is kept for the signer, or is not shown. */
  async #mayBePaidBy(chain: EvmPayoutChain, payout: Payout, txid: string): Promise<boolean> {
    const { pool, network, tokens, clock } = this.#parts
    const token = tokens.find(({ asset }) => asset === payout.asset)
    const terms = await chain.termsOf(txid)
    const to = parseEvmAddress(payout.destination)
    if (terms === null) this.#alert(payout, NONCE_UNSEEN)
    if (terms === null) return true
    if (terms === 'other' || to === null || (await isKnownTransaction(pool, network, txid))) return false
    const pays = isToken(payout.asset)
      ? terms.to === token?.contract &&
        terms.value === 0n &&
        terms.input === `0x${bytesToHex(tokenTransfer(to, payout.amount))}`
      : terms.to === `0x${bytesToHex(to)}` && terms.input === '0x' && isWithinFee(payout, terms.value)
    if (!pays) return false
    const tenant = tenantOf(payout)
    const found = { ...terms, payoutId: payout.id, txid, now: clock() }
    await withTransaction(pool, tenant, (tx) => saveFoundPayout(tx, tenant, found))
    this.#alert(payout, `${PAID_BY_UNKNOWN}: ${txid}`)
    return true
  }

  #alert({ id }: Payout, message: string): void {
    if (this.#alerts.isNew(id, message)) this.#parts.log.error({ payoutId: id }, message)
  }
}

const NONCE_UNSEEN =
  'the nonce of a payout is used up, and no block of the node shows by what: use one that keeps the blocks of its time'

/** A sandbox chain's ether takes a block to arrive. */
const TOP_UP_EVERY_MS = 30_000

/**
 * Raises an alarm when a hot wallet has little ether left for the gas that it pays for others, or less than merchants have
 * in it, and says when it has enough again. On a sandbox chain it has some sent instead, before anything needs it: payments
 * by x402 are taken only then.
 */
class GasAlarm {
  readonly #parts: EvmBroadcasterParts
  /** What it lacked when that was last logged. */
  #raised: 'owed' | 'gas' | null = null
  #wasShort = false
  #toppedUpAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvmBroadcasterParts) {
    this.#parts = parts
  }

  /** Looks at what was last kept of the wallet. True while ether that was sent to it is yet to come. */
  async look(): Promise<boolean> {
    const { pool, network, topUp, clock } = this.#parts
    const balance = await readGasBalance(pool, network)
    if (balance === null) return false
    if (topUp === null) {
      this.#reportBalance(balance)
      return false
    }
    if (!balance.isLow) return false
    const nowMs = clock().getTime()
    if (!isDue(this.#toppedUpAtMs, TOP_UP_EVERY_MS, nowMs)) return true
    this.#toppedUpAtMs = nowMs
    await topUp(balance.address)
    return true
  }

  #reportBalance({ address, native, own, isLow, isNeeded }: GasBalance): void {
    const { network, log } = this.#parts
    const isShort = own < 0n
    // What leaves between two questions to a node looks like a lack for one look.
    const isDoubtful = isShort && !this.#wasShort
    this.#wasShort = isShort
    const lack = isShort ? 'owed' : isLow && isNeeded ? 'gas' : null
    if (lack === this.#raised || isDoubtful) return
    this.#raised = lack
    const about = { network, address: encodeEvmAddress(address), wei: own.toString() }
    const coin = ASSETS[native].symbol
    if (lack === null) log.info(about, `the hot wallet has enough ${coin} again`)
    else
      log.error(
        about,
        lack === 'gas'
          ? `the hot wallet is low on gas: payouts of tokens wait until somebody sends it ${coin}`
          : `the hot wallet lacks ${coin} that merchants have in it: payouts wait until somebody sends it so much`,
      )
  }
}
