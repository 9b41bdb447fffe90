import { isSweptByDelegation, isToken } from '../../../core/assets.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { isWaitOver } from '../../../core/payout/payout-limits.ts'
import { tenantOf } from '../../../core/tenant.ts'
import type { HotWallet } from '../../../db/addresses/hot-wallets.ts'
import { isConstraintViolation } from '../../../postgres/constraint-violation.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog, withoutNumbers } from '../../../runtime/deduplicated-log.ts'
import { newId } from '../../../runtime/new-id.ts'
import { loadIntentNonce } from '../../store/account-nonces.ts'
import { askJournal } from '../../store/journal-questions.ts'
import { listUnsealedSweeps, type UnsealedSweep } from '../../store/outcome-seals.ts'
import { insertPayoutRefusal, isUnsigned } from '../../store/payout-transactions.ts'
import { loadSweepCost } from '../../store/sweep-cost.ts'
import { adoptSweep, listSweepSources, type SweepableAddress } from '../../store/sweep-sources.ts'
import {
  endGivenUp,
  isGivenUp,
  isSweeperComing,
  listSweepsOf,
  listSweepsUnderWay,
  listSweepTransactions,
  loadSweptSince,
  planSweep,
  type Sweep,
  type SweepTransaction,
  updateSweep,
} from '../../store/sweeps.ts'
import { loadSweptCredit, sumUnsignedPayouts } from '../../store/swept-credit.ts'
import { UnsealedPages } from '../outcome-sealer.ts'
import { unlessRefused } from '../unless-refused.ts'
import type { EvmBroadcasterParts, EvmPayoutChain } from './evm-broadcaster-parts.ts'
import { addressText, EvmDeposits, firstWorth } from './evm-deposits.ts'
import type { EvmReceiptFound } from './evm-receipt.ts'
import {
  agreedSweeper,
  findNonceUser,
  isDelegatedForSure,
  isFinalWith,
  isRevertedForGood,
  isShort,
  isShortForGood,
} from './evm-verdicts.ts'

/** Sweeps of one network checked in one pass; the next pass continues after them. */
const SWEEPS_MAX = 1_000
const TOO_DEAR = 'it costs more now than the deposits hold that are missing; the payout waits'
const SWEEPER_FAILED = 'the contract that its sweeps need was not created; the payout waits a day'
const NOT_THERE = 'deposits that the payout needs are not on the chain any more; it waits a day'

/** Plans what has to be swept for approved payouts, and follows it on the chain. Any number of processes may. */
export class EvmSweeps {
  readonly #parts: EvmBroadcasterParts
  readonly #sweepsMax: number
  readonly #deposits: EvmDeposits
  readonly #alerts = new DeduplicatedLog()
  #followedAtMs = Number.NEGATIVE_INFINITY
  readonly #unsealed: UnsealedPages<UnsealedSweep>
  /** The sweep after which the next pass continues; none to start at the oldest. */
  #after = ''

  constructor(parts: EvmBroadcasterParts, sweepsMax = SWEEPS_MAX) {
    this.#parts = parts
    this.#sweepsMax = sweepsMax
    this.#deposits = new EvmDeposits(parts)
    const { pool, network } = parts
    this.#unsealed = new UnsealedPages(
      (page) => listUnsealedSweeps(pool, network, page),
      ({ id }) => id,
    )
  }

  /** Looks after sweeps into the hot wallet that are not final, in turn; whether one whose turn it is is in no block. */
  async follow(hot: Uint8Array): Promise<boolean> {
    const { providers, pool, network, clock, lookEveryMs } = this.#parts
    await this.#sealUnsealed(hot)
    const limit = this.#sweepsMax
    const sweeps = await listSweepsUnderWay(pool, network, { after: this.#after, limit })
    if (sweeps.length === 0 && this.#after === '') return false
    const nowMs = clock().getTime()
    if (isDue(this.#followedAtMs, lookEveryMs, nowMs)) {
      this.#followedAtMs = nowMs
      const finalized = await providers.current.finalizedHeight()
      for (const sweep of sweeps) {
        // Set before the check: a sweep that makes the node fail every time must not hold up those after it.
        this.#after = sweep.id
        await this.#alone(sweep.id, () => this.#followOne(sweep, finalized, hot))
      }
      if (sweeps.length < limit) this.#after = ''
    }
    return sweeps.some(({ status }) => status === 'planned')
  }

  /** The chain is asked again about what is called done and nobody sealed. */
  async #sealUnsealed(hot: Uint8Array): Promise<void> {
    for (const sweep of (await this.#unsealed.next(this.#parts.clock().getTime())) ?? [])
      await this.#alone(sweep.id, () => this.#sealOne(sweep, hot))
  }

  async #sealOne(sweep: UnsealedSweep, hot: Uint8Array): Promise<void> {
    const { pool, providers, sealer, tokens } = this.#parts
    for (const { txid } of await listSweepTransactions(pool, sweep, sweep.id)) {
      const receipt = await providers.current.receiptOf(txid)
      if (receipt?.succeeded !== true || isShort(receipt, { ...sweep, tokens, hot })) continue
      return sealer.landed(txid)
    }
    this.#alert(sweep.id, 'it is called done, and no block has it')
  }

  /** Undefined where the node refuses a question about this one: the others do not wait for it. */
  #alone<Result>(about: string, work: () => Promise<Result>): Promise<Result | undefined> {
    return unlessRefused(this.#parts, { about, alerts: this.#alerts }, work)
  }

  async #followOne(sweep: Sweep, finalized: number | null, hot: Uint8Array): Promise<void> {
    const { pool, providers, tokens } = this.#parts
    const transactions = await listSweepTransactions(pool, tenantOf(sweep), sweep.id)
    if (transactions.length === 0) return this.#letGo(sweep)
    for (const transaction of [...transactions].reverse()) {
      const { txid } = transaction
      const receipt = await providers.current.receiptOf(txid)
      if (receipt === null) continue
      const isFinal = finalized !== null && receipt.height <= finalized
      const swept = { ...sweep, tokens, hot }
      if (isShort(receipt, swept)) {
        await this.#record(sweep, null)
        if (isFinal && (await providers.allSay(sweep.id, (chain) => isShortForGood(chain, txid, swept))))
          await this.#fail(sweep, `${txid} brought less than it moved: the token kept a part of it`)
        return
      }
      return this.#record(sweep, { transaction, receipt, isFinal })
    }
    if (sweep.status === 'done') await this.#record(sweep, null)
    await this.#send(sweep, transactions)
  }

  /** What a sweep that nobody signs any more was to take beside a lost deposit is for the next sweep. */
  async #letGo(sweep: Sweep): Promise<void> {
    const { pool, network, clock, log } = this.#parts
    if (!(await isGivenUp(pool, sweep))) return
    // A restored database may have forgotten that it was signed.
    const question = { ...tenantOf(sweep), intentId: sweep.id, network }
    if ((await askJournal(pool, question, clock())) && (await endGivenUp(pool, sweep, clock())))
      log.warn({ sweepId: sweep.id }, 'a sweep that was not signed ended: nobody needs it')
  }

  /** The newest pays the most; an older one is offered only where the node does not take the newer. */
  async #send(sweep: Sweep, transactions: readonly SweepTransaction[]): Promise<void> {
    const { providers, pool, network, clock } = this.#parts
    let reason = ''
    for (const { txid, raw } of [...transactions].reverse()) {
      const verdict = await providers.broadcast(txid, (chain) => chain.broadcast(raw))
      if (verdict.kind === 'known') return
      if (verdict.kind === 'refused') reason = verdict.reason
    }
    this.#alert(sweep.id, reason, withoutNumbers(reason))
    const place = await loadIntentNonce(pool, tenantOf(sweep), sweep.id)
    if (place === null) return
    const fromHeight = await loadSweptSince(pool, tenantOf(sweep), sweep.id)
    const txids = async () =>
      (await listSweepTransactions(pool, tenantOf(sweep), sweep.id)).map(({ txid }) => txid)
    const question = { ...tenantOf(sweep), intentId: sweep.id, network }
    const judge = () =>
      providers.allSay(sweep.id, async (chain) => {
        const found = await findNonceUser(chain, place, { txids, fromHeight })
        if (found === 'unseen')
          this.#alert(sweep.id, 'its nonce is used up, and no block of the node shows by what')
        return typeof found === 'object'
      })
    // Judged again after the signer has read its journal: what a restored database had forgotten counts.
    if (!(await judge()) || !(await askJournal(pool, question, clock())) || !(await judge())) return
    // A final block has its nonce and none of its transactions: somebody else has the key.
    await this.#fail(sweep, 'its nonce was used elsewhere')
  }

  /** It can never happen now, and its deposits may be swept again. */
  async #fail(sweep: Sweep, why: string): Promise<void> {
    const { pool, clock, log } = this.#parts
    const fact = { status: 'failed', transaction: null, finalAt: clock() } as const
    if (await updateSweep(pool, sweep, fact)) log.error({ sweepId: sweep.id }, `a sweep failed: ${why}`)
  }

  /** Null: it is in no block any more. */
  async #record(
    sweep: Sweep,
    found: {
      readonly transaction: SweepTransaction
      readonly receipt: EvmReceiptFound
      readonly isFinal: boolean
    } | null,
  ): Promise<void> {
    const { pool, clock, providers } = this.#parts
    if (found === null) {
      await updateSweep(pool, sweep, { status: 'planned', transaction: null, finalAt: null })
      return
    }
    const { transaction, receipt, isFinal } = found
    const { txid } = transaction
    if (receipt.succeeded) {
      // A final sweep is not watched any more, so another provider must agree. A sweep called done by one provider is checked
      // again, like one whose block may be reorganised.
      const isAgreed =
        isFinal && (await providers.anotherSays(sweep.id, (chain) => isFinalWith(chain, txid, receipt)))
      await this.#parts.sealer.landed(txid)
      await updateSweep(pool, sweep, { status: 'done', transaction, finalAt: isAgreed ? clock() : null })
      return
    }
    // Until it is final a reorganisation may let it succeed.
    if (isFinal && (await providers.allSay(sweep.id, (chain) => isRevertedForGood(chain, txid))))
      await this.#fail(sweep, `the chain reverted ${txid}`)
  }

  recheckFrozen(hot: Uint8Array): Promise<void> {
    return this.#deposits.recheckFrozen(hot)
  }

  /** Plans sweeps until what was swept, or will be, covers the payout beside those before it. */
  async plan(payout: Payout, wallet: HotWallet): Promise<void> {
    const { pool, network } = this.#parts
    const { asset } = payout
    const tenant = tenantOf(payout)
    const of = { network, asset }
    // The signer ends a payout one of whose sweeps failed: what it was to take is the next one's.
    const own = await listSweepsOf(pool, tenant, payout.id)
    if (own.some(({ status, amount }) => status === 'failed' && amount > 0n)) return
    const credit = await loadSweptCredit(pool, tenant, { ...of, counts: 'planned' })
    const before = await sumUnsignedPayouts(pool, tenant, { ...of, before: payout.id })
    // The credit is without what is signed. Asked after it: what is unsigned now was so then.
    if (!(await isUnsigned(pool, tenant, payout.id))) return
    let missing = payout.amount + before - credit
    const isOfToken = isToken(asset)
    const cost = await loadSweepCost(pool, { asset, livemode: tenant.livemode, wallet })
    const { orphans, addresses, dust } = await listSweepSources(pool, tenant, { ...of, cost })
    for (const { id: sweepId, amount, isSigned } of orphans) {
      if (missing <= 0n && !isSigned) break
      const adoption = { sweepId, payoutId: payout.id }
      if (await withTransaction(pool, tenant, (tx) => adoptSweep(tx, tenant, adoption))) missing -= amount
    }
    if (missing <= 0n) return
    const chosen = await this.#deposits.choose(payout, addresses, { missing, hot: wallet.address })
    const left = chosen.usable.reduce((sum, { amount }) => sum - amount, missing)
    // Those before it may wait for long for what there is not: it lacks only what it would lack without them.
    const lacks = left - before
    // Nobody knows when the issuer lets go of it: the rest of the merchant's money does not wait for that.
    if (lacks > chosen.unanswered && chosen.frozen > 0n) return this.#refuse(payout, 'deposit_frozen')
    // The signer judges what takes of its own amount. A token's sweep takes of the hot wallet's ether.
    if (isOfToken && lacks > 0n && lacks <= dust) return this.#wait(payout, 'fee_above_limit', TOO_DEAR)
    if (lacks > chosen.unanswered && lacks > dust && chosen.short > 0n)
      return this.#wait(payout, 'insufficient_funds', NOT_THERE)
    const needed = left > 0n && lacks <= 0n ? missing - before : missing
    const sources = firstWorth(chosen.usable, needed)
    const [first] = sources
    if (first === undefined || !(await this.#canSweep(payout, first, { own, wallet }))) return
    for (const found of sources)
      await this.#alone(addressText(found), () => this.#planOne(payout, found, wallet))
  }

  /**
   * Whether sweeps of this asset can be signed now. The first of a token without signatures waits for the sweeper to stand on
   * the network, for which it asks; where it cannot stand there, the payout waits a day.
   */
  async #canSweep(
    payout: Payout,
    found: SweepableAddress,
    { own, wallet }: { readonly own: readonly Sweep[]; readonly wallet: HotWallet },
  ): Promise<boolean> {
    if (!isSweptByDelegation(payout.asset)) return true
    const { pool, network, providers } = this.#parts
    const state = await agreedSweeper(providers, network, wallet.address)
    if (state.kind === 'ready') return true
    if (state.kind === 'problem') await this.#wait(payout, 'sweeper_missing', state.problem)
    if (state.kind !== 'absent') return false
    const asked = own.find(({ amount }) => amount === 0n)
    // What the chain does not let stand there costs each payout gas once.
    if (asked?.status === 'failed') await this.#wait(payout, 'sweeper_missing', SWEEPER_FAILED)
    // What another payout asked for, which the signer may hold for long, counts once it is signed.
    else if (asked === undefined && !(await isSweeperComing(pool, network)))
      await this.#insert(
        payout,
        { ...found, amount: 0n, transferIds: [] },
        { nonce: null, delegationNonce: null },
      )
    return false
  }

  /** What may pass is waited for, and not for ever. */
  async #wait(payout: Payout, code: string, why: string): Promise<void> {
    if (isWaitOver(payout, this.#parts.clock().getTime())) return this.#refuse(payout, code)
    this.#alert(payout.id, why)
  }

  async #refuse(payout: Payout, code: string): Promise<void> {
    const { pool, clock } = this.#parts
    const tenant = tenantOf(payout)
    const refusal = { payoutId: payout.id, code, now: clock() }
    await withTransaction(pool, tenant, (tx) => insertPayoutRefusal(tx, tenant, refusal))
  }

  async #planOne(payout: Payout, found: SweepableAddress, { address: hot }: HotWallet): Promise<void> {
    const isDelegated = isSweptByDelegation(payout.asset)
    if (
      isToken(payout.asset) &&
      (!isDelegated || (await isDelegatedForSure(this.#parts.providers, found.address, hot)))
    )
      return this.#insert(payout, found, { nonce: null, delegationNonce: null })
    const nonce = await this.#nonceOf(found)
    if (nonce === 'doubtful') return
    if (nonce > 0) await this.#parts.sealer.nextNonce(found.address, nonce)
    const nonces = isDelegated ? { nonce: null, delegationNonce: nonce } : { nonce, delegationNonce: null }
    await this.#insert(payout, found, nonces)
  }

  async #insert(
    payout: Payout,
    found: Pick<SweepableAddress, 'address' | 'keyIndex' | 'amount' | 'transferIds'>,
    nonces: Pick<Sweep, 'nonce' | 'delegationNonce'>,
  ): Promise<void> {
    const { pool, network, clock } = this.#parts
    const { address, keyIndex, amount, transferIds } = found
    const now = clock()
    const { merchantId, livemode, asset, id: payoutId } = payout
    const id = newId('sweep', now)
    const sweep = { merchantId, livemode, id, payoutId, network, asset, address, keyIndex, amount, ...nonces }
    try {
      await withTransaction(pool, tenantOf(payout), (tx) => planSweep(tx, { ...sweep, transferIds, now }))
    } catch (error) {
      // Another process has just planned it.
      if (!isConstraintViolation(error)) throw error
    }
  }

  /** Above what our own sweeps explain it counts once final, by another provider too: a sweep behind a gap waits for ever. */
  async #nonceOf(found: SweepableAddress): Promise<number | 'doubtful'> {
    const { providers } = this.#parts
    const { address, nonceMin } = found
    const nonce = await providers.current.nonceOf(address, 'latest')
    // A node that is behind does not count the address's last sweep yet.
    if (nonce <= nonceMin) return nonceMin
    const where = addressText(found)
    const isFinalBy = async (chain: EvmPayoutChain) => (await chain.nonceOf(address, 'finalized')) >= nonce
    if ((await isFinalBy(providers.current)) && (await providers.anotherSays(where, isFinalBy))) return nonce
    this.#alert(where, 'the node says that the address sent more than its sweeps, and that is not final')
    return 'doubtful'
  }

  #alert(about: string, reason: string, what = reason): void {
    if (this.#alerts.isNew(about, what)) this.#parts.log.warn({ about, reason }, 'a sweep cannot be made')
  }
}
