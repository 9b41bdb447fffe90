import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { ChainUnavailable } from '../../../chain/adapter.ts'
import { hashSchema, headerSchema } from '../../../chain/utxo/node-answers.ts'
import { isPruned, RPC_CODES, type RpcClient, RpcError } from '../../../chain/utxo/rpc-client.ts'
import { StaleBranches, type StaleTransaction } from '../../../chain/utxo/stale-branches.ts'
import { type Outpoint, outpointKey } from '../../../core/chain/outpoint.ts'
import type { Realm } from '../../../core/chain/realm.ts'
import type { CoinPayment } from '../../../core/payout/lost-payment.ts'
import { entriesUpTo } from '../../../runtime/cache-size.ts'
import type { BroadcastVerdict } from '../broadcaster.ts'

const txidsSchema = z.object({ tx: z.array(hashSchema) })
const spendersSchema = z.object({
  tx: z.array(
    z.object({
      txid: hashSchema,
      vin: z.array(
        z.object({
          txid: hashSchema.optional(),
          vout: z.int().optional(),
          sequence: z.int().nonnegative().optional(),
        }),
      ),
      locktime: z.int().nonnegative().optional(),
      // Litecoin's outputs into its extension block (LIP-0003) have neither.
      vout: z.array(
        z.object({
          value: z.number().optional(),
          scriptPubKey: z.object({ hex: z.string() }).optional(),
        }),
      ),
    }),
  ),
})
const feeSchema = z.object({ feerate: z.number().positive().optional() })
const heightSchema = z.int().nonnegative()
const outputSchema = z
  .object({
    bestblock: hashSchema,
    value: z.number(),
    scriptPubKey: z.object({ hex: z.string() }),
  })
  .nullable()

/** Blocks within which a payout should be taken. */
const TARGET_BLOCKS = 6
/** Thousandths of a base unit for a virtual byte, where no live money is and a node has seen too little to estimate. */
const USUAL_FEE_RATE = 2_000n
const FEE_RATE_MIN = 1_000n
/** No estimate above this is believed. */
const FEE_RATE_MAX = 500_000n
const COIN = 100_000_000
/** Transactions whose block is remembered; beyond that some are searched again. */
const ANCHORS_MAX = 20_000
/** Blocks read in one look; the rest comes with the next one. */
const BLOCKS_PER_LOOK = 500
/** The same of whole blocks, and searches that are remembered. */
const WHOLE_BLOCKS_PER_LOOK = 10
const SEARCHES_MAX = 1_000

export type FeeRate = {
  /** Thousandths of a base unit for a virtual byte; null where there is no estimate. */
  readonly rate: bigint | null
  /** Why the node estimates nothing at all; null where it does, or has seen too little yet. */
  readonly refusal: string | null
}
export type SoughtTransaction = {
  readonly txid: string
  /** No block below this height can hold it. */
  readonly fromHeight: number
  /** A coin that it spends, where one is known. */
  readonly spends?: Outpoint
}
/** Where transactions stand in blocks; see `UtxoPayoutClient.find`. */
export type Found = {
  readonly found: ReadonlyMap<string, FoundBlock>
  readonly unread: ReadonlySet<string>
  /** Those of `unread` whose blocks the node has thrown away. */
  readonly pruned: ReadonlySet<string>
}
/** A transaction of a block. */
export type Spender = CoinPayment & { readonly txid: string }
/** What an output pays, and whom. Base units; the script in hex. */
export type Output = { readonly script: string; readonly amount: bigint }
export type FoundBlock = { readonly hash: string; readonly confirmations: number }

type Anchor = { readonly height: number; readonly hash: string; readonly isFound: boolean }

type OutputAnswer = z.infer<typeof spendersSchema>['tx'][number]['vout'][number]
const outputOf = ({ value = 0, scriptPubKey }: OutputAnswer): Output => ({
  script: scriptPubKey?.hex ?? '',
  amount: BigInt(Math.round(value * COIN)),
})

/** A replacement pays more than all that spends what it replaces, and takes the place of so many at most (BIP125 rules 3 and 5). */
const OUTBID_PATTERN = /less fees than conflicting|too many potential replacements/i
const OUTBID =
  'who was paid has spent the unconfirmed output, and that counts against a higher fee: the first transaction waits for its block, and is signed again for more while that was approved'

/**
 * What payouts need of a node of Bitcoin Core's family, without any index of transactions: it sends signed bytes, finds
 * transactions by reading the ids of each block once, and reports whether an output is spent.
 */
export class UtxoPayoutClient {
  readonly #rpc: RpcClient
  readonly #realm: Realm
  /** Up to which block each transaction was sought, or in which it stands. */
  readonly #anchors = new LRUCache<string, Anchor>(entriesUpTo(ANCHORS_MAX))
  /** The next block to be read for what spends an output. */
  readonly #searches = new LRUCache<string, number>({ max: SEARCHES_MAX })

  constructor(rpc: RpcClient, realm: Realm) {
    this.#rpc = rpc
    this.#realm = realm
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }

  /** What the node estimates that a virtual byte costs now. */
  async feeRate(): Promise<FeeRate> {
    try {
      const { feerate = null } = await this.#rpc.call('estimatesmartfee', [TARGET_BLOCKS], feeSchema)
      return { rate: this.#rateOf(feerate), refusal: null }
    } catch (error) {
      // Such as with -blocksonly: everything else it answers.
      if (!(error instanceof RpcError)) throw error
      const isUnknown = error.code === RPC_CODES.methodNotFound
      return { rate: this.#rateOf(null), refusal: isUnknown ? null : error.message }
    }
  }

  /** `estimate`: coins for a thousand virtual bytes. */
  #rateOf(estimate: number | null): bigint | null {
    if (estimate === null) return this.#realm === 'live' ? null : USUAL_FEE_RATE
    const rate = BigInt(Math.ceil(estimate * COIN))
    if (rate < FEE_RATE_MIN) return FEE_RATE_MIN
    return rate > FEE_RATE_MAX ? FEE_RATE_MAX : rate
  }

  async broadcast(raw: Uint8Array): Promise<BroadcastVerdict> {
    try {
      await this.#rpc.call('sendrawtransaction', [Buffer.from(raw).toString('hex')], hashSchema)
      return { kind: 'known' }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      if (error.code === RPC_CODES.alreadyInChain || /already/i.test(error.message)) return { kind: 'known' }
      if (/missing-?inputs|missingorspent/i.test(error.message)) return { kind: 'lacks_inputs' }
      // What a node says of bytes has one of these codes; anything else says something of the node.
      if (error.code !== RPC_CODES.verifyRejected && error.code !== RPC_TRANSACTION_ERROR) throw error
      const isOutbid = OUTBID_PATTERN.test(error.message)
      return { kind: 'refused', reason: isOutbid ? `${OUTBID}: ${error.message}` : error.message }
    }
  }

  /** Whether the node has this block on its best chain. */
  async hasBlock({ height, hash }: { readonly height: number; readonly hash: string }): Promise<boolean> {
    if (height > (await this.tipHeight())) return false
    return (await this.#rpc.call('getblockhash', [height], hashSchema)) === hash
  }

  async tipHeight(): Promise<number> {
    return this.#rpc.call('getblockcount', [], heightSchema)
  }

  /**
   * Whether an output exists on the chain and no block spends it. What waits in the mempool does not count.
   */
  async isUnspent(txid: string, outputIndex: number): Promise<boolean> {
    return (await this.unspent({ txid, outputIndex })) !== null
  }

  /** What an output pays that exists on the chain and that no block spends; null where there is none. */
  async unspent({ txid, outputIndex }: Outpoint): Promise<Output | null> {
    const output = await this.#rpc.call('gettxout', [txid, outputIndex, false], outputSchema)
    return output === null ? null : outputOf(output)
  }

  /** The tip up to which no block spends this output; null where one does, or none holds it. */
  async #unspentAt({ txid, outputIndex }: Outpoint): Promise<string | null> {
    const output = await this.#rpc.call('gettxout', [txid, outputIndex, false], outputSchema)
    return output?.bestblock ?? null
  }

  /** A transaction that a reorganisation removed, with its ancestors; see `StaleBranches.find`. */
  staleTransactions(txid: string, fromHeight: number): Promise<readonly StaleTransaction[] | null> {
    return new StaleBranches(this.#rpc).find(txid, fromHeight)
  }

  /**
   * The blocks of the node's best chain in which these transactions stand, of each transaction that stands in one.
   * Of those in `unread` more blocks are to be read: that they were not found proves nothing. While a coin that one spends is
   * unspent, no block holds it, and none is read for it.
   */
  async find(sought: readonly SoughtTransaction[]): Promise<Found> {
    const tip = await this.tipHeight()
    const look = new Look(this.#rpc, tip)
    const found = new Map<string, FoundBlock>()
    const unread = new Set<string>()
    const pruned = new Set<string>()
    for (const { txid, fromHeight, spends } of sought) {
      let anchor = await this.#anchorOf(txid, look)
      if (spends !== undefined && anchor?.isFound !== true && anchor?.height !== tip) {
        const hash = await this.#unspentAt(spends)
        if (hash !== null && hash === (await look.hashAt(tip))) anchor = { height: tip, hash, isFound: false }
      }
      for (let height = (anchor?.height ?? fromHeight - 1) + 1; anchor?.isFound !== true; height++) {
        if (height > tip) break
        const block = await look.blockAt(height)
        if (block === 'pruned') pruned.add(txid)
        if (block === 'pruned' || block === 'later') {
          unread.add(txid)
          break
        }
        anchor = { height, hash: block.hash, isFound: block.txids.has(txid) }
      }
      if (anchor === null) this.#anchors.delete(txid)
      else this.#anchors.set(txid, anchor)
      if (anchor?.isFound === true) {
        found.set(txid, { hash: anchor.hash, confirmations: tip - anchor.height + 1 })
      }
    }
    return { found, unread, pruned }
  }

  /**
   * The transaction of a block that spends this output; null where none from this height on does. `searching`: not found yet;
   * a few blocks are read at a time, and the next call continues where this one ended: of several providers all must have found
   * it in the same look. `pruned`: the node has thrown its block away.
   */
  async spenderOf(
    { txid, outputIndex }: Outpoint,
    fromHeight: number,
  ): Promise<Spender | 'searching' | 'pruned' | null> {
    const name = `${outpointKey({ txid, outputIndex })} ${fromHeight}`
    const tip = await this.tipHeight()
    let height = this.#searches.get(name) ?? fromHeight
    for (let read = 0; height <= tip && read < WHOLE_BLOCKS_PER_LOOK; read++, height++) {
      const block = await wholeBlockAt(this.#rpc, height)
      if (block === null) return 'pruned'
      const spender = block.tx.find(({ vin }) =>
        vin.some((spent) => spent.txid === txid && spent.vout === outputIndex),
      )
      if (spender === undefined) continue
      this.#searches.set(name, height)
      return {
        txid: spender.txid,
        outputs: spender.vout.map(outputOf),
        sequences: spender.vin.flatMap(({ sequence }) => sequence ?? []),
        lockTime: spender.locktime ?? null,
      }
    }
    if (height <= tip) {
      this.#searches.set(name, height)
      return 'searching'
    }
    // The chain may have moved meanwhile: the next search reads all of it again.
    this.#searches.delete(name)
    return null
  }

  /** Up to where a transaction was sought on the chain as it is now. */
  async #anchorOf(txid: string, look: Look): Promise<Anchor | null> {
    const known = this.#anchors.get(txid)
    return known !== undefined && (await look.hashAt(known.height)) === known.hash ? known : null
  }

  /** Whether this block, with this transaction in it, lies at least so deep on the node's best chain; its tip is at 1. */
  async hasInBlock(txid: string, { hash, confirmations }: FoundBlock): Promise<boolean> {
    try {
      const header = await this.#rpc.call('getblockheader', [hash], headerSchema)
      if (header.confirmations < confirmations) return false
    } catch (error) {
      if (error instanceof RpcError && error.code === RPC_CODES.notFound) return false
      throw error
    }
    return (await txidsOf(this.#rpc, hash))?.includes(txid) === true
  }
}

/** Bitcoin Core's `RPC_TRANSACTION_ERROR`. */
const RPC_TRANSACTION_ERROR = -25

/** Blocks read for one question, each once. */
class Look {
  readonly #rpc: RpcClient
  readonly #tip: number
  readonly #hashes = new Map<number, string>()
  readonly #blocks = new Map<number, { readonly hash: string; readonly txids: ReadonlySet<string> }>()

  constructor(rpc: RpcClient, tip: number) {
    this.#rpc = rpc
    this.#tip = tip
  }

  /** Null above the tip. */
  async hashAt(height: number): Promise<string | null> {
    if (height > this.#tip) return null
    const known = this.#hashes.get(height)
    if (known !== undefined) return known
    const hash = await this.#rpc.call('getblockhash', [height], hashSchema)
    this.#hashes.set(height, hash)
    return hash
  }

  /** `later` once enough was read for one look. Throws where the chain moved underneath. */
  async blockAt(
    height: number,
  ): Promise<{ readonly hash: string; readonly txids: ReadonlySet<string> } | 'later' | 'pruned'> {
    const known = this.#blocks.get(height)
    if (known !== undefined) return known
    if (this.#blocks.size >= BLOCKS_PER_LOOK) return 'later'
    const hash = await this.hashAt(height)
    if (hash === null) throw new ChainUnavailable('a block above the tip was asked for')
    const tx = await txidsOf(this.#rpc, hash)
    if (tx === null) return 'pruned'
    const { confirmations } = await this.#rpc.call('getblockheader', [hash], headerSchema)
    if (confirmations < 1) throw new ChainUnavailable('the chain was reorganised while it was read')
    const block = { hash, txids: new Set(tx) }
    this.#blocks.set(height, block)
    return block
  }
}

/** Null where the node has thrown the block away. */
async function wholeBlockAt(rpc: RpcClient, height: number) {
  const hash = await rpc.call('getblockhash', [height], hashSchema)
  try {
    return await rpc.call('getblock', [hash, 2], spendersSchema)
  } catch (error) {
    if (error instanceof RpcError && isPruned(error)) return null
    throw error
  }
}

/** Null where the node has thrown the block away. */
async function txidsOf(rpc: RpcClient, hash: string): Promise<readonly string[] | null> {
  try {
    return (await rpc.call('getblock', [hash, 1], txidsSchema)).tx
  } catch (error) {
    if (error instanceof RpcError && isPruned(error)) return null
    throw error
  }
}
