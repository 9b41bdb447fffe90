import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { z } from 'zod'
import { ASSETS, type AssetId, isToken } from '../../core/assets.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'
import { tokenTransferCall } from '../../core/checkout/wallet-transaction.ts'
import type { SignedPayment, SignedTransaction } from '../controls.ts'
import type { RpcAnswer } from './anvil-process.ts'
import type { EvmChain } from './evm-chain.ts'
import { CREATE2_CALL, SANDBOX_USDC_CONTRACT } from './evm-genesis.ts'
import { TEST_USDC_BYTECODE } from './test-usdc.ts'
import { TEST_USDT_BYTECODE } from './test-usdt.ts'

/** A payment that was signed and not sent gives its account back after this long. */
const RESERVED_MS = 10 * 60 * 1_000
const GAS = 200_000
const DEPLOY_GAS = 10_000_000
/** Wei. The second outbids the first in both fields by more than the tenth that pools ask for. */
const FEES = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
const REPLACEMENT_FEES = { maxFeePerGas: 200_000_000_000n, maxPriorityFeePerGas: 2_000_000_000n }
/** What creates a test token, by its symbol; it takes what each of a list of accounts has at first. */
const TEST_TOKEN_BYTECODES: { readonly [symbol: string]: string } = {
  USDC: TEST_USDC_BYTECODE,
  USDT: TEST_USDT_BYTECODE,
}
/** What each account holds of a test token at first: a thousand million. */
const TOKENS_EACH = 10n ** 15n
const WORD_DIGITS = 64

const signedSchema = z.union([z.string(), z.object({ raw: z.string() }).transform(({ raw }) => raw)])
const hexNumber = z.string().transform(Number)
const accountsSchema = z.array(z.string())

/** No account is free, or the node refused; the message says which. */
export class WalletRefused extends Error {
  override name = 'WalletRefused'
}

type Call = { readonly to?: string; readonly value?: bigint; readonly data?: string; readonly gas?: number }

/**
 * The sandbox's play money. Each payment comes from an account of its own as long as it is not sent, because
 * transactions of one account wait for one another. The first account is left to people.
 */
export class EvmWallet {
  readonly #chain: EvmChain
  readonly #accounts: readonly string[]
  readonly #chainId: number
  readonly #tokenContracts: TokenContracts
  /** Accounts with a payment that is not sent yet, by that payment, and when it ends. */
  readonly #reserved = new Map<string, { readonly account: string; readonly until: number }>()

  private constructor(
    chain: EvmChain,
    known: { accounts: readonly string[]; chainId: number; tokenContracts: TokenContracts },
  ) {
    this.#chain = chain
    this.#accounts = known.accounts
    this.#chainId = known.chainId
    this.#tokenContracts = known.tokenContracts
  }

  /** `tokenContracts` are what payments in tokens call. */
  static async open(chain: EvmChain, tokenContracts: TokenContracts): Promise<EvmWallet> {
    const accounts = accountsSchema.parse(resultOf(await chain.ask('eth_accounts', [])))
    const chainId = hexNumber.parse(resultOf(await chain.ask('eth_chainId', [])))
    return new EvmWallet(chain, { accounts, chainId, tokenContracts })
  }

  /** Puts the test tokens on the chain at their addresses (`sandboxTokensOf`), those that are not there. */
  async deployTokens(contracts: TokenContracts): Promise<void> {
    for (const [symbol, contract] of Object.entries(contracts)) await this.#deployToken(symbol, contract)
  }

  async #deployToken(symbol: string, contract: string): Promise<void> {
    if (resultOf(await this.#chain.ask('eth_getCode', [contract, 'latest'])) !== '0x') return
    const bytecode = TEST_TOKEN_BYTECODES[symbol]
    if (bytecode === undefined) throw new Error(`there is no test token ${symbol}`)
    const head = [word(64n), word(TOKENS_EACH), word(BigInt(this.#accounts.length))]
    const data = `${bytecode}${head.join('')}${this.#accounts.map(addressWord).join('')}`
    await this.#chain.send(await this.#signCreation(contract, data))
    await this.#chain.mine()
    if (resultOf(await this.#chain.ask('eth_getCode', [contract, 'latest'])) === '0x')
      throw new Error(`the test ${symbol} did not come to stand at ${contract}`)
  }

  async #signCreation(contract: string, data: string): Promise<string> {
    const [first = '', last = ''] = [this.#accounts[0], this.#accounts.at(-1)]
    if (contract === SANDBOX_USDC_CONTRACT) return this.#sign(first, 0, { data, gas: DEPLOY_GAS }, FEES)
    const call = { to: CREATE2_CALL.to, data: `${CREATE2_CALL.salt}${data.slice(2)}`, gas: DEPLOY_GAS }
    return this.#sign(last, await this.#nonceOf(last), call, FEES)
  }

  /** Signs a payment and what replaces it, which pays nobody; sends neither. Throws `WalletRefused`. */
  async signPayment(asset: AssetId, address: string, amount: bigint, nowMs: number): Promise<SignedPayment> {
    const account = this.#freeAccount(nowMs)
    // Taken at once: what follows waits for the node.
    const hold = { account, until: nowMs + RESERVED_MS }
    this.#reserved.set(account, hold)
    try {
      const nonce = await this.#nonceOf(account)
      const payment = await this.#signed(account, nonce, this.#callOf(asset, address, amount), FEES)
      const replacement = await this.#signed(account, nonce, { to: account }, REPLACEMENT_FEES)
      this.#reserved.set(payment.txid, hold)
      return { ...payment, replacement }
    } finally {
      this.#reserved.delete(account)
    }
  }

  /** The payment is on its way for good: its account may pay again. */
  settle(txid: string): void {
    this.#reserved.delete(txid)
  }

  /** Fills in what a wallet leaves open, signs as one of the accounts, and returns the bytes. */
  async signFor(request: { [field: string]: unknown }): Promise<string> {
    const from = z.string().parse(request.from)
    const nonce = request.nonce ?? toHex(await this.#nonceOf(from))
    const gas = request.gas ?? resultOf(await this.#chain.ask('eth_estimateGas', [request]))
    const fees = 'gasPrice' in request || 'maxFeePerGas' in request ? {} : feeFields(FEES)
    const filled = { ...fees, chainId: toHex(this.#chainId), ...request, nonce, gas }
    return signedSchema.parse(resultOf(await this.#chain.ask('eth_signTransaction', [filled])))
  }

  #freeAccount(nowMs: number): string {
    for (const [key, { until }] of this.#reserved) if (until <= nowMs) this.#reserved.delete(key)
    const taken = new Set([...this.#reserved.values()].map(({ account }) => account))
    const account = this.#accounts.slice(1).find((each) => !taken.has(each))
    if (account === undefined)
      throw new WalletRefused('all accounts of the sandbox are about to pay: try again later')
    return account
  }

  #callOf(asset: AssetId, address: string, amount: bigint): Call {
    if (!isToken(asset)) return { to: address, value: amount }
    const contract = this.#tokenContracts[ASSETS[asset].symbol]
    if (contract === undefined) throw new WalletRefused(`this sandbox chain has no ${asset}`)
    return { to: contract, data: tokenTransferCall(address, amount) }
  }

  async #nonceOf(account: string): Promise<number> {
    return hexNumber.parse(resultOf(await this.#chain.ask('eth_getTransactionCount', [account, 'pending'])))
  }

  async #signed(account: string, nonce: number, call: Call, fees: typeof FEES): Promise<SignedTransaction> {
    const hex = await this.#sign(account, nonce, call, fees)
    return { txid: transactionHash(hex), hex }
  }

  async #sign(from: string, nonce: number, call: Call, fees: typeof FEES): Promise<string> {
    const { to, data, value = 0n, gas = GAS } = call
    const request = {
      from,
      ...(to === undefined ? {} : { to }),
      ...(data === undefined ? {} : { data }),
      value: toHex(value),
      nonce: toHex(nonce),
      gas: toHex(gas),
      chainId: toHex(this.#chainId),
      ...feeFields(fees),
    }
    return signedSchema.parse(resultOf(await this.#chain.ask('eth_signTransaction', [request])))
  }
}

const feeFields = ({ maxFeePerGas, maxPriorityFeePerGas }: typeof FEES) => ({
  type: '0x2',
  maxFeePerGas: toHex(maxFeePerGas),
  maxPriorityFeePerGas: toHex(maxPriorityFeePerGas),
})

function resultOf({ result, error }: RpcAnswer): unknown {
  if (error !== undefined) throw new WalletRefused(error.message)
  return result
}

/** The hash of a signed transaction's bytes is its id (EIP-2718). */
const transactionHash = (raw: string): string => `0x${bytesToHex(keccak_256(hexToBytes(raw.slice(2))))}`

const toHex = (value: bigint | number): string => `0x${value.toString(16)}`
const word = (value: bigint): string => value.toString(16).padStart(WORD_DIGITS, '0')
const addressWord = (address: string): string => address.slice(2).toLowerCase().padStart(WORD_DIGITS, '0')
