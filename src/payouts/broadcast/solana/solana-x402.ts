import { blockhashOf } from '../../../chain/solana/payer-transaction.ts'
import type { SolanaRpc, TransactionStatus } from '../../../chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../../../chain/solana/token-accounts.ts'
import { tokenHoldingOf } from '../../../chain/solana/token-state.ts'
import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { x402CostMax } from '../../../core/payout/solana-fee.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { x402AssetOn } from '../../../core/x402/x402-assets.ts'
import {
  listX402Transactions,
  listX402UnderWay,
  updateX402Authorization,
  type X402Authorization,
  type X402Transaction,
} from '../../../db/invoices/x402-authorizations.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog, withoutNumbers } from '../../../runtime/deduplicated-log.ts'
import { followAlone, refuseUnsigned, wouldPay } from '../x402-unsigned.ts'
import { sendTo } from './send-to.ts'
import { isDropped, isFinalWith } from './signed-transactions.ts'
import type { SolanaParts } from './solana-parts.ts'
import type { PayoutToken } from './vault-tokens.ts'
import { type ReadFeePayer, X402FeePayerWatch } from './x402-fee-payer-watch.ts'

/** Authorizations of one network looked after in one look. */
const LOOK_MAX = 200
/**
 * A hash of a block is good for 150 blocks. The node that is asked may be behind the one that said it is good: as many again
 * are waited for before a payment is given up.
 */
const LIFETIME_BLOCKS = 300
/** A payer's node may be ahead of ours, which then does not know the block yet. */
const UNKNOWN_BLOCK_MS = 15_000
const SETTLED_EVERY_MS = 2_000
/** The words of x402's scheme. */
const EXPIRED = 'invalid_exact_svm_transaction_simulation_failed'
const FAILED = 'invalid_exact_svm_transaction_failed'

type Parts = SolanaParts & { readonly givesCoins: boolean; readonly busyIntervalMs: number }

/**
 * Tries what payers have signed on Solana, and carries to the chain what the signer signed under it: first what creates the
 * invoice's token account, where that is missing, then the payment. It credits nobody: the invoice is paid by what the
 * watcher finds on the chain.
 */
export class SolanaX402 {
  readonly #parts: Parts
  /** In which programs pay here; null where they do not. */
  readonly #token: PayoutToken | null
  readonly #feePayer: X402FeePayerWatch
  readonly #alerts = new DeduplicatedLog()
  #settledLookedAtMs = Number.NEGATIVE_INFINITY
  #isUnderWay = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#token = parts.tokens.find(({ asset }) => asset === x402AssetOn(parts.network)) ?? null
    this.#feePayer = new X402FeePayerWatch(parts)
  }

  get isBusy(): boolean {
    return this.#isUnderWay || this.#feePayer.awaitsCoins
  }

  /** Looks after all that are not final. */
  async follow(): Promise<void> {
    const { pool, network, clock, providers } = this.#parts
    const token = this.#token
    if (token === null) return
    const feePayer = await this.#feePayer.read(this.#isUnderWay)
    const open = await listX402UnderWay(pool, network, ['waiting', 'checked'], LOOK_MAX)
    this.#isUnderWay = open.length > 0
    const nowMs = clock().getTime()
    const looksAtSettled = isDue(this.#settledLookedAtMs, SETTLED_EVERY_MS, nowMs)
    if (looksAtSettled) this.#settledLookedAtMs = nowMs
    const settled = looksAtSettled ? await listX402UnderWay(pool, network, ['settled'], LOOK_MAX) : []
    if (open.length + settled.length === 0) return
    const finalized = await providers.current.blockHeight('finalized')
    const look = { token, feePayer, finalized, promised: promisedBy(open) }
    for (const one of [...open, ...settled]) {
      const work = () => this.#followOne(one, look)
      await followAlone(this.#parts, one, { alerts: this.#alerts, work })
    }
  }

  async #followOne(authorization: X402Authorization, look: Look): Promise<void> {
    const { pool, providers } = this.#parts
    const { id, lastValidHeight } = authorization
    const [signed] = await listX402Transactions(pool, tenantOf(authorization), id)
    if (signed === undefined) return this.#try(authorization, look)
    const status = (await providers.current.statuses([signed.txid])).get(signed.txid)
    if (status !== undefined) return this.#found(authorization, signed, status)
    if (lastValidHeight !== null && look.finalized > lastValidHeight) {
      // No block has it, and none can: only now has it failed.
      if (await isDropped(providers, { id, txid: signed.txid, raw: signed.raw, lastValidHeight }))
        await this.#end(authorization, FAILED)
      return
    }
    await this.#send(authorization, signed, look)
  }

  async #found(
    authorization: X402Authorization,
    { txid }: X402Transaction,
    status: TransactionStatus,
  ): Promise<void> {
    const { pool, providers, clock } = this.#parts
    const saysSo = (rpc: SolanaRpc) => isFinalWith(rpc, txid, status)
    if (status.failed) {
      if (status.isFinal && (await providers.allSay(authorization.id, saysSo)))
        await this.#end(authorization, FAILED)
      return
    }
    // Its block may leave the chain, and the payer would hear first that it has paid, then that it has not.
    if (!status.isConfirmed) return
    const isFinal = status.isFinal && (await providers.anotherSays(authorization.id, saysSo))
    if (authorization.status === 'settled' && !isFinal) return
    const doneAt = isFinal ? clock() : null
    await updateX402Authorization(pool, authorization, { status: 'settled', reason: null, txid, doneAt })
  }

  /** Its transaction can never pay any more. */
  async #end(authorization: X402Authorization, reason: string): Promise<void> {
    const { pool, clock } = this.#parts
    const doneAt = clock()
    await updateX402Authorization(pool, authorization, { status: 'refused', reason, txid: null, doneAt })
  }

  /** Nothing is signed yet: nothing is spent for a payer who does not have the money, or whose time is over. */
  async #try(authorization: X402Authorization, look: Look): Promise<void> {
    const { pool, providers, clock } = this.#parts
    const { status, payer, value, message, lastValidHeight, createdAt } = authorization
    const { token, finalized, promised } = look
    const rpc = providers.current
    const blockhash = message === null ? null : blockhashOf(message)
    if (blockhash === null || !(await wouldPay(this.#parts, authorization)))
      return refuseUnsigned(this.#parts, authorization, 'invalid_payment_requirements')
    if (status === 'checked' && lastValidHeight !== null) {
      if (finalized > lastValidHeight) await refuseUnsigned(this.#parts, authorization, EXPIRED)
      return
    }
    if (!(await rpc.isBlockhashValid(blockhash))) {
      if (clock().getTime() - createdAt.getTime() > UNKNOWN_BLOCK_MS)
        await refuseUnsigned(this.#parts, authorization, EXPIRED)
      return
    }
    // After the question: the block of that hash is none above this one.
    const height = await rpc.blockHeight('confirmed')
    const owner = ownerOf(payer)
    const [source] = await rpc.accountsAt([associatedTokenAccount(owner, token)], 'confirmed')
    const holding = tokenHoldingOf(source ?? null, token)
    if (holding === null || holding.owner !== owner || holding.isFrozen || holding.amount < value)
      return refuseUnsigned(this.#parts, authorization, 'insufficient_funds')
    // Each alone goes through, and of all together as many as there is money for: the others wait.
    const promisedByPayer = promised.ofPayers.get(owner) ?? 0n
    if (holding.amount < promisedByPayer + value || !covers(look)) return
    promised.ofPayers.set(owner, promisedByPayer + value)
    promised.count++
    await updateX402Authorization(pool, authorization, {
      status: 'checked',
      reason: null,
      txid: null,
      doneAt: null,
      lastValidHeight: height + LIFETIME_BLOCKS,
    })
  }

  async #send(authorization: X402Authorization, signed: X402Transaction, { token }: Look): Promise<void> {
    const { providers, pool, log } = this.#parts
    const { id, recipient } = authorization
    // Its block left the chain.
    if (authorization.status === 'settled') {
      const again = { status: 'checked' as const, reason: null, txid: null, doneAt: null }
      await updateX402Authorization(pool, authorization, again)
    }
    const owner = ownerOf(recipient)
    const [account] = await providers.current.accountsAt([associatedTokenAccount(owner, token)], 'confirmed')
    const isThere = tokenHoldingOf(account ?? null, token) !== null
    const next = isThere ? signed : signed.creation
    if (next === null) return
    const verdict = await providers.broadcast(next.txid, (rpc) => sendTo(rpc, next.raw))
    if (verdict.kind !== 'refused' || !this.#alerts.isNew(id, withoutNumbers(verdict.reason))) return
    log.warn({ authorizationId: id, reason: verdict.reason }, 'a node does not take an x402 transaction')
  }
}

type Promised = {
  /** By payer: tokens of payments that were found to have them, and are in no block. */
  readonly ofPayers: Map<string, bigint>
  /** How many payments of all payers those are. */
  count: number
}

type Look = {
  readonly token: PayoutToken
  readonly feePayer: ReadFeePayer | null
  /** Height of the newest final block. */
  readonly finalized: number
  readonly promised: Promised
}

function promisedBy(open: readonly X402Authorization[]): Promised {
  const checked = open.filter(({ status }) => status === 'checked')
  const ofPayers = new Map<string, bigint>()
  for (const { payer, value } of checked) {
    const owner = ownerOf(payer)
    ofPayers.set(owner, (ofPayers.get(owner) ?? 0n) + value)
  }
  return { ofPayers, count: checked.length }
}

/** Whether the fee payer has enough for one more than it carries; what must stay on it is less than a token account's. */
const covers = ({ feePayer, promised }: Look): boolean =>
  feePayer !== null &&
  feePayer.lamports - feePayer.accountRent >= x402CostMax(feePayer.accountRent) * BigInt(promised.count + 1)
