import { payerTransferCall } from '../../../chain/evm/payer-authorization.ts'
import type { AssetId } from '../../../core/assets.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { x402AssetOn } from '../../../core/x402/x402-assets.ts'
import { loadNetworkState } from '../../../db/chain/network-state.ts'
import {
  listX402Transactions,
  listX402UnderWay,
  updateX402Authorization,
  type X402Authorization,
  type X402Transaction,
} from '../../../db/invoices/x402-authorizations.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog, withoutNumbers } from '../../../runtime/deduplicated-log.ts'
import { loadIntentNonce } from '../../store/account-nonces.ts'
import { followAlone, refuseUnsigned, wouldPay } from '../x402-unsigned.ts'
import type { EvmBroadcasterParts, EvmPayoutChain } from './evm-broadcaster-parts.ts'
import { findNonceUser, isFinalWith } from './evm-verdicts.ts'

/** Authorizations of one network looked after in one look. */
const LOOK_MAX = 200
const NONCE_USED = 'invalid_exact_evm_nonce_already_used'

/**
 * Tries what payers have signed, and carries to the chain what the signer signed of it. What it writes says how far the
 * hot wallet's transaction has come; it credits nobody: the invoice is paid by what the watcher finds on the chain.
 */
export class EvmX402 {
  readonly #parts: EvmBroadcasterParts
  /** In which programs pay here; null where they do not. */
  readonly #asset: AssetId | null
  readonly #alerts = new DeduplicatedLog()
  #settledLookedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvmBroadcasterParts) {
    this.#parts = parts
    this.#asset = x402AssetOn(parts.network)
  }

  /** Looks after all that are not final; whether there are any that are in no block. `hot`: the hot wallet, 20 bytes. */
  async follow(hot: Uint8Array | null): Promise<boolean> {
    const { pool, network, clock, lookEveryMs, providers } = this.#parts
    const asset = this.#asset
    if (asset === null || hot === null) return false
    const open = await listX402UnderWay(pool, network, ['waiting', 'checked'], LOOK_MAX)
    const nowMs = clock().getTime()
    const looksAtEnded = isDue(this.#settledLookedAtMs, lookEveryMs, nowMs)
    if (looksAtEnded) this.#settledLookedAtMs = nowMs
    const ended = looksAtEnded ? await listX402UnderWay(pool, network, ['settled', 'refused'], LOOK_MAX) : []
    if (open.length + ended.length === 0) return false
    const finalized = await providers.current.finalizedHeight()
    const promised = promisedBy(open)
    for (const authorization of [...open, ...ended]) {
      const work = () => this.#followOne(authorization, { asset, hot, finalized, promised })
      await followAlone(this.#parts, authorization, { alerts: this.#alerts, work })
    }
    return open.length > 0
  }

  async #followOne(authorization: X402Authorization, look: Look): Promise<void> {
    const { pool, providers, clock } = this.#parts
    const { finalized, promised } = look
    const transactions = await listX402Transactions(pool, tenantOf(authorization), authorization.id)
    if (transactions.length === 0) return this.#try(authorization, look)
    for (const { txid } of [...transactions].reverse()) {
      const receipt = await providers.current.receiptOf(txid)
      if (receipt === null) continue
      if (!receipt.succeeded && authorization.status === 'checked' && !(await this.#isRead(receipt.height)))
        return
      const isFinal =
        finalized !== null &&
        receipt.height <= finalized &&
        (await providers.anotherSays(authorization.id, (chain) => isFinalWith(chain, txid, receipt)))
      if (authorization.status === 'checked') fulfil(promised, authorization)
      await updateX402Authorization(pool, authorization, {
        status: receipt.succeeded ? 'settled' : 'refused',
        reason: receipt.succeeded ? null : 'invalid_transaction_state',
        txid: receipt.succeeded ? txid : null,
        doneAt: isFinal ? clock() : null,
      })
      return
    }
    await this.#send(authorization, transactions)
  }

  /** Nothing is signed yet: the node says whether it would go through, so that no gas is spent on what cannot. */
  async #try(authorization: X402Authorization, { asset, hot, promised }: Look): Promise<void> {
    const { providers, clock, pool } = this.#parts
    const chain = providers.current
    const { payer: from, recipient: to, validBefore, status, value } = authorization
    if (validBefore <= BigInt(Math.floor(clock().getTime() / 1_000)))
      return refuseUnsigned(
        this.#parts,
        authorization,
        'invalid_exact_evm_payload_authorization_valid_before',
      )
    if (!(await wouldPay(this.#parts, authorization)))
      return refuseUnsigned(this.#parts, authorization, 'invalid_payment_requirements')
    if (status !== 'waiting') return
    const call = { asset, from: hot, data: payerTransferCall({ ...authorization, from, to }) }
    const failure = await chain.failureOf(call)
    if (failure !== null) {
      const reason = reasonOf(failure)
      if (reason === NONCE_USED && !(await this.#isNonceUsedWhereRead(chain, call))) return
      return refuseUnsigned(this.#parts, authorization, reason)
    }
    // Each alone goes through, and of all together one for each nonce, and as many as there is money for: the others wait.
    const others = promised.get(from.toString('hex'))
    if (others !== undefined) {
      if (others.nonces.has(authorization.nonce.toString('hex'))) return
      if ((await chain.tokenBalanceOf(asset, from)) < others.value + value) return
    }
    promise(promised, authorization)
    await updateX402Authorization(pool, authorization, {
      status: 'checked',
      reason: null,
      txid: null,
      doneAt: null,
    })
  }

  /**
   * Whether the watcher has recorded payments up to this block. Until then no payment is reported as failed: the transaction
   * that used its nonce may have paid the invoice, and the payer would be asked for the same money again.
   */
  async #isRead(height: number): Promise<boolean> {
    const read = await this.#checkpoint()
    return read !== null && height <= read
  }

  /** Height of the last block whose payments are recorded. */
  async #checkpoint(): Promise<number | null> {
    const { pool, network } = this.#parts
    return (await loadNetworkState(pool, network))?.height ?? null
  }

  /** Whether the nonce was used up to the last block whose payments are recorded. */
  async #isNonceUsedWhereRead(
    chain: EvmPayoutChain,
    call: { readonly asset: AssetId; readonly from: Uint8Array; readonly data: Uint8Array },
  ): Promise<boolean> {
    const read = await this.#checkpoint()
    if (read === null) return false
    const failure = await chain.failureOf(call, read)
    return failure !== null && reasonOf(failure) === NONCE_USED
  }

  /** The newest pays the most; an older one is offered only where the node does not take the newer. */
  async #send(authorization: X402Authorization, transactions: readonly X402Transaction[]): Promise<void> {
    const { providers, pool, log, clock } = this.#parts
    // Its block left the chain.
    if (authorization.status === 'settled') {
      const again = { status: 'checked' as const, reason: null, txid: null, doneAt: null }
      await updateX402Authorization(pool, authorization, again)
    }
    let reason = ''
    for (const { txid, raw } of [...transactions].reverse()) {
      const verdict = await providers.broadcast(txid, (chain) => chain.broadcast(raw))
      if (verdict.kind === 'known') return
      if (verdict.kind === 'refused') reason = verdict.reason
    }
    if (this.#alerts.isNew(authorization.id, withoutNumbers(reason)))
      log.warn({ authorizationId: authorization.id, reason }, 'a node does not take an x402 transaction')
    const place = await loadIntentNonce(pool, tenantOf(authorization), authorization.id)
    if (place === null) return
    const txids = async () => transactions.map(({ txid }) => txid)
    const isDead = await providers.allSay(
      authorization.id,
      async (chain) => typeof (await findNonceUser(chain, place, { txids, fromHeight: null })) === 'object',
    )
    if (!isDead) return
    const dead = {
      status: 'refused',
      reason: 'unexpected_settle_error',
      txid: null,
      doneAt: clock(),
    } as const
    await updateX402Authorization(pool, { ...authorization, status: 'checked' }, dead)
  }
}

/** What payers, hex, have promised of their tokens, and with which nonces, by what a node was found to take and no block has. */
type Promised = Map<string, { value: bigint; readonly nonces: Set<string> }>

type Look = {
  readonly asset: AssetId
  readonly hot: Uint8Array
  readonly finalized: number | null
  readonly promised: Promised
}

function promise(promised: Promised, { payer, value, nonce }: X402Authorization): void {
  const name = payer.toString('hex')
  const of = promised.get(name) ?? { value: 0n, nonces: new Set() }
  of.value += value
  of.nonces.add(nonce.toString('hex'))
  promised.set(name, of)
}

/** It is in a block: what the token's contract says counts it in. */
function fulfil(promised: Promised, { payer, value, nonce }: X402Authorization): void {
  const of = promised.get(payer.toString('hex'))
  if (of === undefined) return
  of.value -= value
  of.nonces.delete(nonce.toString('hex'))
}

function promisedBy(open: readonly X402Authorization[]): Promised {
  const promised: Promised = new Map()
  for (const each of open) if (each.status === 'checked') promise(promised, each)
  return promised
}

/** The protocol's words for what a token's contract says. */
function reasonOf(failure: string): string {
  if (/balance|insufficient/i.test(failure)) return 'insufficient_funds'
  if (/used or cancel/i.test(failure)) return NONCE_USED
  return 'invalid_transaction_state'
}
