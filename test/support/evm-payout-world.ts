import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { contractCall } from '../../src/chain/evm/contract-call.ts'
import { hotWalletOf } from '../../src/chain/evm/hot-wallet.ts'
import { receiveEvmAddresses } from '../../src/chain/evm/receive-addresses.ts'
import { ASSETS, type AssetId, isToken, nativeAssetOf } from '../../src/core/assets.ts'
import type { EvmChain } from '../../src/core/chain/evm-networks.ts'
import { evmTokensOf, type TokenContracts } from '../../src/core/chain/evm-parameters.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { loadHotWallet } from '../../src/db/addresses/hot-wallets.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { EvmBroadcaster } from '../../src/payouts/broadcast/evm/evm-broadcaster.ts'
import type { EvmPayoutChain } from '../../src/payouts/broadcast/evm/evm-broadcaster-parts.ts'
import { EvmPayoutClient } from '../../src/payouts/broadcast/evm/evm-payout-client.ts'
import { type NamedChain, PayoutProviders } from '../../src/payouts/broadcast/payout-providers.ts'
import { PayoutTracker } from '../../src/payouts/broadcast/payout-tracker.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { TEST_USDC_BYTECODE } from '../../src/sandbox/evm/test-usdc.ts'
import { TEST_USDT_BYTECODE } from '../../src/sandbox/evm/test-usdt.ts'
import { sealReading } from '../../src/secrets/outcome-key.ts'
import { type Anvil, hex, newEvmAddress, startAnvil } from './anvil.ts'
import { callData, putBefore } from './evm-contracts.ts'
import { OUTCOME_KEY, type PayoutParts, type PayoutProcess, PayoutSteps } from './payout-steps.ts'
import { seedDepositAccount, seedInvoice, seedMerchant } from './seed.ts'

export type EvmAsset = Exclude<AssetId, 'BTC' | 'LTC' | 'SOL'>

/** A network's own coin, and its USDC. */
export function coinsOf(chain: EvmChain): { readonly coin: EvmAsset; readonly token: EvmAsset } {
  const usdc = Object.values(ASSETS).find((asset) => asset.chain === chain && asset.symbol === 'USDC')
  return { coin: nativeAssetOf(chain) as EvmAsset, token: usdc?.id as EvmAsset }
}

export const isUsdt = (asset: EvmAsset): boolean => ASSETS[asset].symbol === 'USDT'

/** What the holder of the test token begins with. */
const TOKEN_SUPPLY = 10n ** 15n

/** An anvil with a token like USDC, beside what every payout needs. */
export class EvmPayoutWorld extends PayoutSteps {
  readonly anvil: Anvil
  readonly chain: EvmChain
  /** Address of USDC's contract. */
  readonly token: string
  /** Of a test USDT's, where there is one. */
  readonly usdt: string | null
  readonly #holder: string
  readonly #transaction: EvmPayoutClient
  readonly #addresses: (index: number) => Uint8Array
  readonly hot: Uint8Array

  private constructor(
    parts: PayoutParts,
    of: { anvil: Anvil; chain: EvmChain; token: string; usdt: string | null; holder: string },
  ) {
    super(parts)
    this.anvil = of.anvil
    this.chain = of.chain
    this.token = of.token
    this.usdt = of.usdt
    this.#holder = of.holder
    const account = parts.accounts.accounts.find(({ keyspace }) => keyspace === 'evm-test')
    this.#addresses = receiveEvmAddresses(account?.xpub ?? '')
    this.hot = hotWalletOf(account?.xpub ?? '')
    this.#transaction = this.clientAt(of.anvil.url)
  }

  /** A payout client of the node at this URL, which may be one that lies. */
  clientAt(url: string): EvmPayoutClient {
    const at = { url, setting: 'the test', chain: this.chain, realm: 'test' as const }
    return new EvmPayoutClient({ ...at, tokens: this.#tokens() })
  }

  static async open(chain: EvmChain, { withUsdt = false } = {}): Promise<EvmPayoutWorld> {
    const anvil = await startAnvil()
    const holder = (await anvil.rpc<string[]>('eth_accounts')).at(-1) ?? ''
    const token = await anvil.deploy(tokenCode(holder))
    const usdt = withUsdt ? await anvil.deploy(tokenCode(holder, TEST_USDT_BYTECODE)) : null
    const world = new EvmPayoutWorld(await PayoutSteps.openParts(), { anvil, chain, token, usdt, holder })
    const { hash } = await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
    await world.knowNetwork(world.network, 'regtest', { height: 0, hash })
    await world.tracker().pass()
    return world
  }

  /** The watcher stands at the newest block. */
  async watch(): Promise<void> {
    type Block = { readonly number: string; readonly hash: string }
    const { number, hash } = await this.anvil.rpc<Block>('eth_getBlockByNumber', ['latest', false])
    await this.database.owner.query('update network_state set height = $2, hash = $3 where network = $1', [
      this.network,
      Number(number),
      hash,
    ])
  }

  get coins() {
    return coinsOf(this.chain)
  }

  get network() {
    return `${this.chain}-test` as const
  }

  async close(): Promise<void> {
    await this.#transaction.close()
    await this.anvil.remove()
    await this.closeParts()
  }

  get tokenContracts(): TokenContracts {
    return { USDC: this.token, ...(this.usdt === null ? {} : { USDT: this.usdt }) }
  }

  contractOf(asset: EvmAsset): string {
    return this.tokenContracts[ASSETS[asset].symbol] ?? ''
  }

  #tokens() {
    return evmTokensOf(this.network, 'test', this.tokenContracts)
  }

  /** A merchant with final deposits of these amounts, each at an address of its own. */
  async openShop(asset: EvmAsset, amounts: readonly bigint[]): Promise<Tenant> {
    const tenant = await seedMerchant(this.database)
    for (const amount of amounts) await this.deposit(tenant, asset, amount)
    return tenant
  }

  /** A new invoice with its deposit address, paid once. */
  async deposit(
    tenant: Tenant,
    asset: EvmAsset,
    amount: bigint,
  ): Promise<{ readonly invoiceId: string; readonly address: string }> {
    const { address, id: invoiceId } = await this.openInvoice(tenant, { asset, amount })
    await this.payInvoice(tenant, { invoiceId, address, asset, amount })
    return { invoiceId, address }
  }

  /** A final deposit at the address of an invoice. */
  async payInvoice(
    tenant: Tenant,
    of: {
      readonly invoiceId: string
      readonly address: string
      readonly asset: EvmAsset
      readonly amount: bigint
    },
  ): Promise<void> {
    const { invoiceId, address, asset, amount } = of
    const txid = await this.pay(asset, address, amount)
    await this.anvil.mine(1)
    const place = { network: this.network, asset, txid, output: ASSETS[asset].token?.outputIndex ?? 0 }
    await this.record(tenant, { ...place, invoiceId, amount })
  }

  /** A customer's permanent address, the next of the account. */
  async openDepositAccount(tenant: Tenant): Promise<{ readonly id: string; readonly address: string }> {
    const { address, addressBytes } = await this.#nextAddress()
    const own = { keyspace: 'evm-test', address, addressBytes } as const
    return { id: await seedDepositAccount(this.database, tenant, {}, [own]), address }
  }

  /** Pays a permanent address, and records it as the watcher does once its block is final. */
  async payAccount(
    tenant: Tenant,
    of: { readonly id: string; readonly address: string; readonly asset: EvmAsset; readonly amount: bigint },
  ): Promise<void> {
    const { id: invoiceId, address, asset, amount } = of
    const txid = await this.pay(asset, address, amount)
    await this.anvil.mine(1)
    type Receipt = { readonly blockNumber: string; readonly blockHash: string }
    const { blockNumber, blockHash } = await this.anvil.rpc<Receipt>('eth_getTransactionReceipt', [txid])
    const timeMs = this.now.getTime()
    const block = { height: Number(blockNumber), hash: blockHash, timeMs }
    const place = { network: this.network, txid, outputIndex: ASSETS[asset].token?.outputIndex ?? 0 }
    const depth = { state: 'block', block, confirmations: 64, tag: 'finalized' } as const
    const fact = {
      ...place,
      ...depth,
      asset,
      amount,
      firstSeenMs: timeMs,
      minimumConfirmations: 1,
      knownIn: null,
    }
    const deps = { pool: this.database.pools.watcher, clock: () => this.now }
    await recordTransfers(deps, { tenant, invoiceId, facts: [fact], tipHeight: block.height + 63 })
  }

  async #nextAddress() {
    const { rows } = await this.database.owner.query<{ next: number }>(
      `select next_index as next from account_key where keyspace = 'evm-test'`,
    )
    const addressBytes = Buffer.from(this.#addresses(rows[0]?.next ?? 0))
    return { address: encodeEvmAddress(addressBytes), addressBytes }
  }

  /** An invoice that nobody has paid, at the next address of the account. */
  async openInvoice(
    tenant: Tenant,
    terms: Partial<Invoice>,
  ): Promise<Invoice & { addressBytes: Uint8Array }> {
    const { address, addressBytes } = await this.#nextAddress()
    return {
      ...(await seedInvoice(this.database, tenant, { ...terms, address }, addressBytes)),
      addressBytes,
    }
  }

  /** Puts a guard before a token: from now on its issuer can freeze addresses. */
  guardToken(asset = this.coins.token): Promise<void> {
    return putBefore(this.anvil, this.contractOf(asset), 'IssuersGuard')
  }

  /** A token's issuer blocks an address. */
  async freezeIn(asset: EvmAsset, address: string): Promise<void> {
    if (!isUsdt(asset)) return this.freeze(address)
    await this.asTether('blacklist(address,bool)', address, 1n)
  }

  /** A call that USDT's contract takes from its owner alone. */
  async asTether(signature: string, ...args: readonly (string | bigint)[]): Promise<void> {
    const to = this.usdt ?? ''
    const word = await this.anvil.rpc<string>('eth_call', [{ to, data: callData('owner()') }, 'latest'])
    const from = `0x${word.slice(-40)}`
    await this.anvil.rpc('eth_sendTransaction', [{ from, to, data: callData(signature, ...args) }])
    await this.anvil.mine(1)
  }

  /** The issuer of a guarded token freezes an address, or lets go of it; of no address: all of them. */
  async freeze(
    address: Uint8Array | string | null,
    isFrozen = true,
    asset = this.coins.token,
  ): Promise<void> {
    const who = typeof address === 'string' ? address : encodeEvmAddress(address ?? new Uint8Array(20))
    const data = callData('freeze(address,bool)', who, isFrozen ? 1n : 0n)
    await this.anvil.send({ to: this.contractOf(asset), data })
    await this.anvil.mine(1)
  }

  pay(asset: EvmAsset, address: string, amount: bigint): Promise<string> {
    if (!isToken(asset)) return this.anvil.send({ to: address, value: amount })
    const data = contractCall('transfer(address,uint256)', Buffer.from(address.slice(2), 'hex'), amount)
    const call = {
      from: this.#holder,
      to: this.contractOf(asset),
      data: `0x${Buffer.from(data).toString('hex')}`,
    }
    return this.anvil.rpc('eth_sendTransaction', [call])
  }

  /** Ether for the gas that the hot wallet pays for others. */
  async fuelHotWallet(wei = 10n ** 18n): Promise<void> {
    await this.pay(this.coins.coin, encodeEvmAddress(this.hot), wei)
    await this.anvil.mine(1)
  }

  async request(tenant: Tenant, asset: EvmAsset, amount: string, address?: string): Promise<Payout> {
    const to = address ?? encodeEvmAddress(newEvmAddress().addressBytes)
    const requested = await this.ask(tenant, { asset, amount, address: to })
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    return requested.payout
  }

  async payout(tenant: Tenant, asset: EvmAsset, amount: string, address?: string): Promise<Payout> {
    const payout = await this.request(tenant, asset, amount, address)
    await this.approve(tenant, payout.id)
    return payout
  }

  /** A tracker that was just started. */
  tracker(
    wrap: (chain: EvmPayoutChain) => EvmPayoutChain = (chain) => chain,
    topUp: ((address: Uint8Array) => Promise<void>) | null = null,
  ): PayoutTracker {
    return this.trackerOf([{ name: 'the node', chain: wrap(this.#transaction) }], topUp)
  }

  /** A tracker that was just started and was given no key to seal with. */
  keylessTracker(): PayoutTracker {
    return this.trackerOf(
      [{ name: 'the node', chain: this.#transaction }],
      null,
      this.sealerOf(this.network, null),
    )
  }

  /** A tracker that was just started, with these providers. */
  trackerOf(
    chains: readonly [NamedChain<EvmPayoutChain>, ...NamedChain<EvmPayoutChain>[]],
    topUp: ((address: Uint8Array) => Promise<void>) | null = null,
    sealer = this.sealerOf(this.network),
  ): PayoutTracker {
    const { network, log } = this
    const at = { network, pool: this.database.pools.watcher, clock: () => this.now, log }
    const providers = new PayoutProviders<EvmPayoutChain>(at, chains)
    const tokens = this.#tokens()
    return new PayoutTracker({
      ...at,
      sealer,
      broadcaster: new EvmBroadcaster({ ...at, sealer, providers, tokens, lookEveryMs: 0, topUp }),
      notifier: { deliveriesWaiting: () => {}, activity: () => {} },
    })
  }

  /** See `startPayoutProcess`. */
  startProcess(): Promise<PayoutProcess> {
    const { network, tokenContracts } = this
    return this.startPayoutProcess({
      network,
      asset: nativeAssetOf(this.chain),
      rpcUrl: this.anvil.url,
      tokenContracts,
    })
  }

  /** Everybody takes their turns, with a block in between, until the payout stands so. */
  async until(tenant: Tenant, payoutId: string, status: Payout['status'], turns = 12): Promise<Payout> {
    for (let turn = 0; turn < turns; turn++) {
      await this.tracker().pass()
      await this.sign()
      await this.tracker().pass()
      const payout = await this.load(tenant, payoutId)
      if (payout.status === status) return payout
      await this.anvil.mine(1)
    }
    throw new Error(`the payout is ${(await this.load(tenant, payoutId)).status}: ${this.logged.join('')}`)
  }

  /** Has the watcher's process say otherwise of the hot wallet (`nonce = nonce + 1`): with its seal. */
  async setHotWallet(set: string, values: readonly unknown[] = []): Promise<void> {
    const { owner } = this.database
    await owner.query(`update hot_wallet set ${set}`, [...values])
    const wallet = await loadHotWallet(owner, this.network)
    if (wallet === null) throw new Error('the hot wallet was not read')
    const seal = sealReading(OUTCOME_KEY, wallet.sealed.text)
    await owner.query('update hot_wallet set seal = $1', [seal])
  }

  /** What an address holds of an asset on the chain. */
  holds(asset: EvmAsset, address: Uint8Array | string): Promise<bigint> {
    const addressBytes = typeof address === 'string' ? Buffer.from(address.slice(2), 'hex') : address
    return isToken(asset)
      ? this.#transaction.tokenBalanceOf(asset, addressBytes)
      : this.#transaction.balanceOf(addressBytes)
  }

  /** Numbers of the signed transactions of a payout or of the sweeps for its sake. */
  async signedFor(payoutId: string): Promise<{ payout: string[]; sweeps: string[] }> {
    const { rows } = await this.database.owner.query<{ txid: string; swept: boolean }>(
      `select txid, false as swept from payout_transaction where payout_id = $1
       union all select t.txid, true from sweep_transaction t join sweep s on s.id = t.sweep_id where s.payout_id = $1`,
      [payoutId],
    )
    const of = (swept: boolean) => rows.filter((row) => row.swept === swept).map(({ txid }) => txid)
    return { payout: of(false), sweeps: of(true) }
  }
}

/** What creates a test token, USDC unless it is said, with one holder (Solidity's ABI: a list's place, the amount, its length, the list). */
export function tokenCode(holder: string, bytecode = TEST_USDC_BYTECODE): string {
  const words = [64n, TOKEN_SUPPLY, 1n, BigInt(holder)].map((word) => hex(word).slice(2).padStart(64, '0'))
  return `${bytecode}${words.join('')}`
}

/** A chain's methods, to be spread into another. */
export const boundChain = (chain: EvmPayoutChain): EvmPayoutChain => ({
  hasBlock: (block) => chain.hasBlock(block),
  accountOf: (account) => chain.accountOf(account),
  nonceOf: (account, at) => chain.nonceOf(account, at),
  balanceOf: (account) => chain.balanceOf(account),
  tokenBalanceOf: (asset, account) => chain.tokenBalanceOf(asset, account),
  finalizedHeight: () => chain.finalizedHeight(),
  receiptOf: (txid) => chain.receiptOf(txid),
  nonceUser: (place, lowest) => chain.nonceUser(place, lowest),
  termsOf: (txid) => chain.termsOf(txid),
  gasOf: (payment) => chain.gasOf(payment),
  failureOf: (call, height) => chain.failureOf(call, height),
  sweeperOf: (hot) => chain.sweeperOf(hot),
  isDelegated: (deposit, hot) => chain.isDelegated(deposit, hot),
  broadcast: (raw) => chain.broadcast(raw),
})
