import { bytesToHex } from '@noble/hashes/utils.js'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { ChainUnavailable } from '../../../chain/adapter.ts'
import { contractCall } from '../../../chain/evm/contract-call.ts'
import { bytes, count, hash, quantity } from '../../../chain/evm/evm-answers.ts'
import { EvmNode } from '../../../chain/evm/evm-node.ts'
import { EvmRpcError } from '../../../chain/evm/evm-rpc.ts'
import { ASSETS, type AssetId, isSweptByDelegation } from '../../../core/assets.ts'
import { type EvmChain, evmNetworkOf } from '../../../core/chain/evm-networks.ts'
import { type EvmParameters, type EvmToken, evmParametersOf } from '../../../core/chain/evm-parameters.ts'
import type { DataFee } from '../../../core/chain/evm-registry.ts'
import type { Realm } from '../../../core/chain/realm.ts'
import type { HotToken } from '../../../db/addresses/hot-wallets.ts'
import type { FoundTerms } from '../../store/found-payouts.ts'
import type { BroadcastVerdict } from '../broadcaster.ts'
import { type EvmReceiptFound, receiptSchema } from './evm-receipt.ts'
import { dataGasOf, gasOf, newAccountGasOf, type Payment, REVERT_PATTERN } from './payment-gas.ts'
import { placeOnEthereum } from './place-on-ethereum.ts'
import { isDelegated, readSweeper, type SweeperState, usesNonce } from './sweeper-state.ts'
import { readTokenWords, type TokenWords } from './token-words.ts'

const KNOWN_PATTERN = /already known|already imported|known transaction|alreadyknown/i
/** Blocks read at a time for the transaction that used up a nonce, and searches that are remembered. */
const SEARCH_BLOCKS = 20
const SEARCHES_MAX = 1_000

const price = { maxFeePerGas: quantity.nullish(), maxPriorityFeePerGas: quantity.nullish() }
const called = { to: bytes.nullable(), value: quantity, input: bytes, gas: quantity }
const termsSchema = z.object({ ...called, ...price, accessList: z.array(z.unknown()).nullish() }).nullable()

/** What a transaction in a block says. Wei; bytes in hex with 0x. */
export type EvmTerms = FoundTerms & { readonly to: string; readonly input: string }

/** How the chain and one account on it stand, at its newest block. Wei, but for the token's units. */
export type EvmAccount = {
  readonly chainId: number
  readonly height: number
  readonly nonce: number
  readonly balance: bigint
  readonly baseFee: bigint
  readonly tip: bigint
  readonly l1Fee: bigint
  readonly gasPriceMax: bigint
  /** Gas of a plain transfer's data, where gas pays for it. */
  readonly dataGas: bigint
  /** Gas of a plain payment that creates an account. */
  readonly newAccountGas: bigint
  /** Of each token that is there. */
  readonly tokens: readonly HotToken[]
}

/** What payouts need from an EVM node. */
export class EvmPayoutClient {
  readonly #node: EvmNode
  readonly #chain: EvmChain
  readonly #realm: Realm
  readonly #tokens: readonly EvmToken[]
  /** The next block of each search for what used up a nonce; the one that showed it, where it was found. */
  readonly #searches = new LRUCache<string, number>({ max: SEARCHES_MAX })
  #parameters: EvmParameters | null = null
  /** The words of a token's domain never change. */
  readonly #domains = new Map<AssetId, TokenWords>()

  constructor(of: {
    readonly url: string
    readonly setting: string
    readonly chain: EvmChain
    readonly realm: Realm
    /** Those of the network. */
    readonly tokens: readonly EvmToken[]
  }) {
    this.#node = new EvmNode(of.url, of.setting)
    this.#chain = of.chain
    this.#realm = of.realm
    this.#tokens = of.tokens
  }

  get #dataFee(): DataFee {
    return evmNetworkOf(this.#chain).dataFee
  }

  close(): Promise<void> {
    return this.#node.rpc.close()
  }

  /** Which chain the node is on; the same as long as it answers. */
  async parameters(): Promise<EvmParameters> {
    this.#parameters ??= await this.#readParameters()
    return this.#parameters
  }

  async #readParameters(): Promise<EvmParameters> {
    const chainId = await this.#node.chainId()
    const parameters = evmParametersOf(this.#chain, this.#realm, chainId)
    if (parameters === null)
      throw new ChainUnavailable(`the node at ${this.#node.rpc.where} is on another chain (${chainId})`)
    return parameters
  }

  /** Whether the node has this block on its best chain. Throws where it is on another chain altogether. */
  async hasBlock({
    height,
    hash: known,
  }: {
    readonly height: number
    readonly hash: string
  }): Promise<boolean> {
    await this.parameters()
    return (await this.#node.headerAt(height))?.hash === known
  }

  /**
   * How an account (20 bytes) stands, and what the network takes. Throws `ChainUnavailable` where the node is on another chain
   * than before: the account's nonce there would leave a gap here, behind which all that it sends waits.
   */
  accountOf(account: Uint8Array): Promise<EvmAccount> {
    return this.#onSameChain(async ({ chainId }) => {
      const head = await this.#node.headerAt('latest')
      if (head === null) throw new ChainUnavailable(`the node at ${this.#node.rpc.where} has no newest block`)
      return {
        chainId,
        height: head.number,
        nonce: await this.nonceOf(account, 'latest'),
        balance: await this.balanceOf(account),
        baseFee: head.baseFeePerGas ?? 0n,
        tip: await this.#tip(),
        l1Fee: await this.#l1Fee(),
        gasPriceMax: evmNetworkOf(this.#chain).gasPriceMax,
        dataGas: this.#dataFee === 'in_gas' ? await dataGasOf(this.#node, account) : 0n,
        newAccountGas: await newAccountGasOf(this.#node, account, this.#dataFee),
        tokens: await this.#tokensOf(account),
      }
    })
  }

  /** The chain is asked for last: what was read before is of it. */
  async #onSameChain<Read>(read: (chain: EvmParameters) => Promise<Read>): Promise<Read> {
    const before = await this.parameters()
    const answer = await read(before)
    const { chainId } = await this.#readParameters()
    if (chainId === before.chainId) return answer
    const where = `the node at ${this.#node.rpc.where}`
    throw new ChainUnavailable(`${where} was on chain ${before.chainId} and is on chain ${chainId}`)
  }

  /** Transactions that an account (20 bytes) has in blocks. Throws as `accountOf` does. */
  nonceOf(account: Uint8Array, at: 'latest' | 'finalized'): Promise<number> {
    const asked = [textOf(account), at]
    return this.#onSameChain(() => this.#node.rpc.call('eth_getTransactionCount', asked, count))
  }

  /** Wei, at the newest block. */
  balanceOf(account: Uint8Array): Promise<bigint> {
    return this.#node.rpc.call('eth_getBalance', [textOf(account), 'latest'], quantity)
  }

  /** Base units of a token, at the newest block. */
  async tokenBalanceOf(asset: AssetId, account: Uint8Array): Promise<bigint> {
    const { contract } = this.#token(asset)
    const answer = await this.#read(contract, contractCall('balanceOf(address)', account))
    if (answer === '0x') throw this.#noToken(contract)
    return BigInt(answer)
  }

  /** The height up to which blocks are final; null where the chain has not said so of any. */
  async finalizedHeight(): Promise<number | null> {
    return (await this.#node.headerAt('finalized'))?.number ?? null
  }

  /** The block of the node's best chain that has a transaction, and whether it did what it says; null where none has. */
  async receiptOf(txid: string): Promise<EvmReceiptFound | null> {
    const receipt = await this.#node.rpc.call('eth_getTransactionReceipt', [txid], receiptSchema)
    if (receipt === null) return null
    const block = await this.#node.headerAt(receipt.blockNumber)
    // A node between two chains may report the one it left.
    if (block?.hash !== receipt.blockHash) return null
    const { blockNumber: height, blockHash, status, logs } = receipt
    return { height, hash: blockHash, succeeded: status === 1, logs }
  }

  /**
   * The transaction in a final block that has this nonce of an account, or carries a delegation that has it. `searching`: not found yet. Each call reads a few
   * blocks, from the newest final one down, and the next continues where it ended: of several providers all must have
   * found it in the same look. `unseen`: none down to `lowest`.
   */
  async nonceUser(
    place: { readonly sender: Uint8Array; readonly nonce: number },
    lowest: number,
  ): Promise<string | 'searching' | 'unseen'> {
    const sender = textOf(place.sender)
    const name = `${sender} ${place.nonce}`
    let height = this.#searches.get(name) ?? (await this.finalizedHeight())
    this.#searches.delete(name)
    let found: string | undefined
    for (let read = 0; height !== null && height >= lowest && read < SEARCH_BLOCKS; read++, height--) {
      const block = await this.#node.sendersAt(height)
      if (block === null) break
      found = block.find((sent) => usesNonce(sent, sender, place.nonce))?.hash
      if (found !== undefined) break
    }
    if (height !== null && height < lowest) return 'unseen'
    if (height !== null) this.#searches.set(name, height)
    return found ?? 'searching'
  }

  /** What a transaction says, `other` where it is of a kind that the signer never signs; null where the node has none of that id. */
  async termsOf(txid: string): Promise<EvmTerms | 'other' | null> {
    const found = await this.#node.rpc.call('eth_getTransactionByHash', [txid], termsSchema)
    if (found === null) return null
    const { to, input, value, gas, maxFeePerGas: maxFee, maxPriorityFeePerGas: tip, accessList } = found
    if (to === null || maxFee == null || tip == null || (accessList?.length ?? 0) > 0) return 'other'
    return { to: to.toLowerCase(), input: input.toLowerCase(), value, price: { gas, maxFee, tip } }
  }

  /** See `gasOf` of payment-gas.ts. */
  gasOf(payment: Payment): Promise<bigint> {
    return gasOf(this.#node, payment, this.#dataFee)
  }

  /** Why a token's contract would revert this call after a block, else the last one, in its own words; null where it would not. */
  async failureOf(
    call: { readonly asset: AssetId; readonly from: Uint8Array; readonly data: Uint8Array },
    height: number | null = null,
  ): Promise<string | null> {
    const { contract: to } = this.#token(call.asset)
    const fee = await this.#feeOf(call.asset)
    if (fee > 0n) return `its issuer takes a fee: ${fee} of 10,000`
    try {
      const transaction = { from: textOf(call.from), to, data: `0x${bytesToHex(call.data)}` }
      const answer = await this.#node.rpc.call(
        'eth_call',
        [transaction, height === null ? 'latest' : `0x${height.toString(16)}`],
        bytes,
      )
      return answer !== '0x' && BigInt(answer) === 0n ? 'it answers no' : null
    } catch (error) {
      if (error instanceof EvmRpcError && error.kind === 'other' && REVERT_PATTERN.test(error.message))
        return error.message
      throw error
    }
  }

  /** What the token's contract keeps of a transfer now, in parts of 10,000. */
  async #feeOf(asset: AssetId): Promise<bigint> {
    const { token } = ASSETS[asset]
    if (token === null || !('fee' in token) || token.fee === undefined) return 0n
    const answer = await this.#read(this.#token(asset).contract, contractCall(token.fee))
    return answer === '0x' ? 0n : BigInt(answer)
  }

  /** See `readSweeper`. */
  sweeperOf(hot: Uint8Array): Promise<SweeperState> {
    return readSweeper(this.#node, hot)
  }

  isDelegated(deposit: Uint8Array, hot: Uint8Array): Promise<boolean> {
    return isDelegated(this.#node, deposit, hot)
  }

  async broadcast(raw: Uint8Array): Promise<BroadcastVerdict> {
    try {
      await this.#node.rpc.call('eth_sendRawTransaction', [`0x${bytesToHex(raw)}`], hash)
      return { kind: 'known' }
    } catch (error) {
      if (!(error instanceof EvmRpcError) || error.kind !== 'other') throw error
      return KNOWN_PATTERN.test(error.message)
        ? { kind: 'known' }
        : { kind: 'refused', reason: error.message }
    }
  }

  async #tip(): Promise<bigint> {
    const { usual, min, max } = evmNetworkOf(this.#chain).tip
    try {
      const suggested = await this.#node.rpc.call('eth_maxPriorityFeePerGas', [], quantity)
      return suggested < min ? min : suggested > max ? max : suggested
    } catch (error) {
      if (error instanceof EvmRpcError && error.kind === 'no_such_method') return usual
      throw error
    }
  }

  async #l1Fee(): Promise<bigint> {
    if (this.#dataFee !== 'op_stack') return 0n
    const { isolated } = await this.parameters()
    const [{ where }, { gasPriceMax }] = [this.#node.rpc, evmNetworkOf(this.#chain)]
    return placeOnEthereum((to, data) => this.#read(to, data), { isolated, where, gasPriceMax })
  }

  /** Without those that, on a private chain, nobody has put there. */
  async #tokensOf(account: Uint8Array): Promise<readonly HotToken[]> {
    const held: HotToken[] = []
    for (const token of this.#tokens) {
      const { asset } = token
      const domain = await this.#domainOf(token)
      if (domain === undefined) continue
      const contract = Buffer.from(token.contract.slice(2), 'hex')
      held.push({ asset, contract, domain, balance: await this.tokenBalanceOf(asset, account) })
    }
    return held
  }

  /** Null where it takes no signatures; undefined where no such contract is there. */
  async #domainOf(token: EvmToken): Promise<TokenWords | null | undefined> {
    const { asset, contract } = token
    const read = (to: string, data: Uint8Array) => this.#read(to, data)
    if (isSweptByDelegation(asset))
      return (await read(contract, contractCall('totalSupply()'))) === '0x' ? undefined : null
    const { chainId } = await this.parameters()
    const domain = this.#domains.get(asset) ?? (await readTokenWords(read, token, chainId))
    if (domain === null) return undefined
    this.#domains.set(asset, domain)
    return domain
  }

  #token(asset: AssetId): EvmToken {
    const token = this.#tokens.find((each) => each.asset === asset)
    if (token === undefined) throw new Error(`${asset} is no token of this network`)
    return token
  }

  /** What a function that only reads answers; `0x` where there is no such contract or function. */
  async #read(contract: string, data: Uint8Array): Promise<string> {
    try {
      return await this.#node.rpc.call(
        'eth_call',
        [{ to: contract, data: `0x${bytesToHex(data)}` }, 'latest'],
        bytes,
      )
    } catch (error) {
      if (error instanceof EvmRpcError && error.kind === 'other' && REVERT_PATTERN.test(error.message))
        return '0x'
      throw error
    }
  }

  #noToken(contract: string): ChainUnavailable {
    return new ChainUnavailable(`the node at ${this.#node.rpc.where} knows no token at ${contract}`)
  }
}

const textOf = (address: Uint8Array): string => `0x${bytesToHex(address)}`
