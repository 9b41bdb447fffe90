import { randomUUID } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { p2wpkh, Transaction } from '@scure/btc-signer'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { loadNetworkState } from '../../src/db/chain/network-state.ts'
import { beginWatch } from '../../src/db/chain/network-watch.ts'
import type { PayoutChain } from '../../src/payouts/broadcast/utxo/utxo-broadcaster.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { parseBlock } from '../../src/sandbox/utxo/block.ts'
import { CHAIN_PARAMETERS } from '../../src/sandbox/utxo/chain-parameters.ts'
import type { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { LeadershipLost, type RecordingParts } from '../../src/watcher/record-facts.ts'
import { recordMempool, recordUpdate } from '../../src/watcher/record-reading.ts'
import { Crash, unlessCrashed } from '../support/payout-history.ts'
import type { PayoutWorld } from '../support/payout-world.ts'
import type { Random } from '../support/random.ts'
import { utxoAdapterOptions } from '../support/utxo-driver.ts'

/** No reorganisation here goes deeper; payouts are final at 24 blocks. */
export const REORG_MAX = 8
const BLOCKS_PER_UPDATE = 100
const LITOSHI_MIN = 3_000
/** No payment here is late. */
const NEVER_MS = Date.parse('2100-01-01')

type Deposit = { readonly txid: string; readonly replacement: string; isReplaced: boolean }
type Payee = { readonly key: Uint8Array; readonly address: string; isSpent: boolean }

const inSandbox = (addressBytes: Uint8Array): string =>
  encodeAddress(CHAIN_PARAMETERS.litecoin.hrp, addressBytes)

/** One merchant, what is paid to them and what they pay out, on a chain that a test drives by `random`. */
export class UtxoHistory {
  readonly deposits: Deposit[] = []
  readonly payouts: Payout[] = []
  readonly payees = new Map<string, Payee>()
  readonly tenant: Tenant
  readonly #world: PayoutWorld
  readonly #client: UtxoSandboxClient
  readonly #random: Random
  #adapter: UtxoAdapter
  readonly #addresses: Buffer[] = []

  constructor(parts: { world: PayoutWorld; client: UtxoSandboxClient; random: Random; tenant: Tenant }) {
    this.#world = parts.world
    this.#client = parts.client
    this.#random = parts.random
    this.tenant = parts.tenant
    this.#adapter = this.#openAdapter()
  }

  async open(): Promise<void> {
    await this.#adapter.connect()
  }

  #openAdapter(): UtxoAdapter {
    const options = utxoAdapterOptions('litecoin', this.#world.money.rpcUrl)
    const adapter = new UtxoAdapter({ ...options, clock: () => this.#world.now })
    adapter.watched.add(this.#addresses)
    return adapter
  }

  close(): Promise<void> {
    return this.#adapter.close()
  }

  mine(blocks: number): Promise<unknown> {
    return this.#client.mine(blocks)
  }

  async height(): Promise<number> {
    return Number(await this.#world.rpc.callRaw('getblockcount', []))
  }

  /** A payment of a new invoice, which waits for its block. */
  async pay(amount: bigint, count = 1): Promise<void> {
    const terms = { confirmations: { LTC: 1 + this.#random.below(2) }, expiresAtMs: NEVER_MS }
    const { addressBytes } = await this.#world.openInvoice(this.tenant, amount, 0, terms)
    this.#addresses.push(addressBytes)
    this.#adapter.watched.add([addressBytes])
    for (let made = 0; made < count; made++) {
      const payment = await this.#client.signPayment(inSandbox(addressBytes), amount)
      await this.#client.send(payment.hex)
      this.deposits.push({ txid: payment.txid, replacement: payment.replacement.hex, isReplaced: false })
    }
  }

  /** Many small outputs to one invoice. */
  flood(): Promise<void> {
    return this.pay(BigInt(LITOSHI_MIN + this.#random.below(10_000)), 3 + this.#random.below(10))
  }

  /** A payout of a part of what is available, or of all of it, where there is any. */
  async request(): Promise<void> {
    const { available = 0n } = await this.#world.balances(this.tenant)
    const amount = available / BigInt(1 + this.#random.below(3))
    const key = secp256k1.utils.randomSecretKey()
    const addressBytes = p2wpkh(secp256k1.getPublicKey(key, true)).script.subarray(2)
    const address = encodeAddress(this.#world.parameters.hrp, addressBytes)
    const digits = amount.toString().padStart(9, '0')
    const coins = `${digits.slice(0, -8)}.${digits.slice(-8)}`.replace(/\.?0+$/, '')
    const asked = await this.#world.ask(this.tenant, { asset: 'LTC', amount: coins, address })
    if (asked.kind !== 'requested') return
    await this.#world.approve(this.tenant, asked.payout.id)
    this.payouts.push(asked.payout)
    this.payees.set(asked.payout.id, { key, address, isSpent: false })
  }

  /** A reorganisation; what waits is in its first block, below where it was. */
  async reorganise(): Promise<void> {
    await this.#client.reorganise(1 + this.#random.below(REORG_MAX / 2))
  }

  /** A deposit is taken off the chain, and its payer's replacement comes in its place. */
  async doubleSpend(): Promise<void> {
    const open = this.deposits.filter(({ isReplaced }) => !isReplaced)
    if (open.length === 0) return
    const deposit = this.#random.pick(open)
    const { rows } = await this.#world.database.owner.query<{ height: number | null }>(
      'select max(block_height) as height from transfer where txid = $1',
      [deposit.txid],
    )
    const height = rows[0]?.height ?? null
    if (height !== null) {
      if ((await this.height()) - height >= REORG_MAX) return
      await this.#client.reorganiseAway(deposit.txid)
    }
    if (await this.#isTaken(deposit.replacement)) deposit.isReplaced = true
    else await this.#client.release(deposit.txid)
    await this.mine(1)
  }

  async #isTaken(hex: string): Promise<boolean> {
    try {
      await this.#client.send(hex)
      return true
    } catch (error) {
      // What waits pays more, or a block that the watcher has not read holds it.
      if (error instanceof ChainUnavailable) return false
      throw error
    }
  }

  /** A payee moves on what it was paid, so that no output of the payout is left. */
  async spendPaid(): Promise<void> {
    for (const { id } of this.payouts) {
      const payee = this.payees.get(id)
      const { txid, amount, networkFee } = await this.#world.load(this.tenant, id)
      if (payee === undefined || payee.isSpent || txid === null) continue
      const transaction = new Transaction()
      const { script } = p2wpkh(secp256k1.getPublicKey(payee.key, true))
      const paid = amount - networkFee
      transaction.addInput({ txid, index: 0, witnessUtxo: { script, amount: paid } })
      transaction.addOutput({ script, amount: paid - 1_000n })
      transaction.sign(payee.key)
      transaction.finalize()
      if (await this.#isTaken(transaction.hex)) payee.isSpent = true
    }
  }

  /** The watcher reads chain and mempool, and may lose its lead in the middle, or have been started again before. */
  async read(isFaulty = false): Promise<void> {
    if (isFaulty && this.#random.chance(0.3)) {
      await this.#adapter.close()
      this.#adapter = this.#openAdapter()
      await this.#adapter.connect()
    }
    const [lost, term] = [new AbortController(), randomUUID()]
    let commits = isFaulty && this.#random.chance(0.3) ? this.#random.below(4) : Number.POSITIVE_INFINITY
    const invoiceChanged = () => {
      commits -= 1
      if (commits <= 0) lost.abort()
    }
    const parts: RecordingParts = {
      adapter: this.#adapter,
      pool: this.#world.database.pools.watcher,
      clock: () => this.#world.now,
      agreement: null,
      notifier: { invoiceChanged, deliveriesWaiting: () => {} },
      leadership: { term, lost: lost.signal },
    }
    const watch = { network: this.#world.network, keyspace: this.#world.network, term }
    await beginWatch(parts.pool, watch, this.#world.now)
    await unlessCrashed(
      () => this.#readWith(parts),
      (error) => error instanceof LeadershipLost,
    )
  }

  async #readWith(parts: RecordingParts): Promise<void> {
    for (;;) {
      const state = await loadNetworkState(parts.pool, parts.adapter.network)
      if (state?.height == null || state.hash === null) throw new Error('there is no checkpoint')
      const checkpoint = { height: state.height, hash: state.hash, timeMs: state.blockTime?.getTime() ?? 0 }
      const update = await parts.adapter.nextUpdate(checkpoint, BLOCKS_PER_UPDATE)
      if (update !== null) {
        await recordUpdate(parts, checkpoint, update)
        continue
      }
      const mempool = await parts.adapter.readMempool()
      if (mempool?.tip.hash === checkpoint.hash) await recordMempool(parts, mempool)
      return
    }
  }

  /** A look at payouts with one node, or with a second one that is stale or hung, in either order; it may die on the way. */
  async look(): Promise<void> {
    const random = this.#random
    const honest = this.#dying(new UtxoPayoutClient(this.#world.rpc, 'test'))
    const second = random.pick(['none', 'none', 'honest', 'stale', 'hung'] as const)
    const node = { name: 'first', chain: honest } as const
    const others = {
      honest: () => new UtxoPayoutClient(this.#world.rpc, 'test'),
      stale: () => staleChain((2 + random.below(10)) * 10),
      hung: () => hungChain(),
    }
    const other = second === 'none' ? null : { name: second, chain: others[second]() }
    const chains =
      other === null
        ? ([node] as const)
        : random.chance(0.5)
          ? ([node, other] as const)
          : ([other, node] as const)
    await unlessCrashed(
      () => this.#world.trackerOf(chains).pass(),
      (error) => error instanceof ChainUnavailable,
    )
  }

  /** Dies before or after one of its calls, or is answered wrongly by a node that took what it was given. */
  #dying(chain: UtxoPayoutClient): PayoutChain {
    const random = this.#random
    const fault = random.pick(['none', 'none', 'before', 'after', 'unknown', 'not found'] as const)
    let left = 1 + random.below(10)
    const call = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
      left -= 1
      if (fault === 'before' && left === 0) throw new Crash()
      const answer = await ask()
      if (fault === 'after' && left === 0) throw new Crash()
      return answer
    }
    return {
      hasBlock: (block) => call(() => chain.hasBlock(block)),
      feeRate: () => call(() => chain.feeRate()),
      tipHeight: () => call(() => chain.tipHeight()),
      isUnspent: (txid, index) => call(() => chain.isUnspent(txid, index)),
      find: (sought) => call(() => chain.find(sought)),
      spenderOf: (output, from) => call(() => chain.spenderOf(output, from)),
      staleTransactions: (txid, height) => call(() => chain.staleTransactions(txid, height)),
      hasInBlock: (txid, block) => call(() => chain.hasInBlock(txid, block)),
      broadcast: async (raw) => {
        const verdict = await call(() => chain.broadcast(raw))
        if (fault === 'unknown') return { kind: 'refused', reason: 'txn-mempool-conflict' }
        return fault === 'not found' ? { kind: 'lacks_inputs' } : verdict
      },
    }
  }

  /** What the best chain pays from this height on, by script in hex, an amount for each output. */
  async paidFrom(height: number): Promise<ReadonlyMap<string, bigint[]>> {
    const paid = new Map<string, bigint[]>()
    for (let at = height; at <= (await this.height()); at++) {
      const hash = await this.#world.rpc.callRaw('getblockhash', [at])
      const hex = String(await this.#world.rpc.callRaw('getblock', [hash, 0]))
      for (const { inputs, outputs } of parseBlock(Buffer.from(hex, 'hex')).transactions) {
        for (const { amount, script } of outputs) {
          const name = Buffer.from(script).toString('hex')
          // What a payee sends to itself is no payment of ours.
          if (inputs.length === 1 && outputs.length === 1 && paid.has(name)) continue
          paid.set(name, [...(paid.get(name) ?? []), amount])
        }
      }
    }
    return paid
  }
}

/** A node that stands still far below: it knows nothing of what came after. */
const staleChain = (height: number): PayoutChain => ({
  hasBlock: async (block) => block.height <= height,
  feeRate: async () => ({ rate: 1_000n, refusal: null }),
  tipHeight: async () => height,
  isUnspent: async () => false,
  find: async () => ({ found: new Map(), unread: new Set(), pruned: new Set() }),
  staleTransactions: async () => null,
  spenderOf: async () => null,
  hasInBlock: async () => false,
  broadcast: async () => ({ kind: 'lacks_inputs' }),
})

const hungChain = (): PayoutChain => {
  const hangs = () => Promise.reject(new ChainUnavailable('the node did not answer'))
  return {
    hasBlock: hangs,
    feeRate: hangs,
    tipHeight: hangs,
    isUnspent: hangs,
    find: hangs,
    staleTransactions: hangs,
    spenderOf: hangs,
    hasInBlock: hangs,
    broadcast: hangs,
  }
}
