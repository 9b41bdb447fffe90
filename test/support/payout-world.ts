import { randomBytes } from 'node:crypto'
import { Transaction } from '@scure/btc-signer'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { outputScriptOf } from '../../src/chain/utxo/output-script.ts'
import { receiveAddresses } from '../../src/chain/utxo/receive-addresses.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { type UtxoParameters, utxoParametersOf } from '../../src/core/chain/utxo-parameters.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { type NamedChain, PayoutProviders } from '../../src/payouts/broadcast/payout-providers.ts'
import { PayoutTracker } from '../../src/payouts/broadcast/payout-tracker.ts'
import { type PayoutChain, UtxoBroadcaster } from '../../src/payouts/broadcast/utxo/utxo-broadcaster.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import { listSpendableCoins } from '../../src/payouts/store/payout-coins.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { askForFees } from './fee-payouts.ts'
import { type PayoutParts, type PayoutProcess, PayoutSteps } from './payout-steps.ts'
import { seedInvoice, seedMerchant } from './seed.ts'

/** The chain on which a world's money is: its own wallet pays, and its blocks come when asked for. */
export type MoneyChain = {
  readonly chain: 'bitcoin' | 'litecoin'
  readonly rpcUrl: string
  /** Pays base units to an address; gives the transaction. */
  pay(address: string, amount: bigint): Promise<{ readonly txid: string; readonly hex: string }>
  mine(blocks: number): Promise<unknown>
}

/** A chain with money, beside what every payout needs. */
export class PayoutWorld extends PayoutSteps {
  readonly money: MoneyChain
  readonly rpc: RpcClient
  readonly parameters: UtxoParameters

  private constructor(parts: PayoutParts, money: MoneyChain, name: string) {
    super(parts)
    this.money = money
    const parameters = utxoParametersOf(money.chain, name)
    if (parameters === null) throw new Error('no parameters')
    this.parameters = parameters
    this.rpc = new RpcClient(money.rpcUrl, 'the test')
  }

  /** `name`: of the parameters that the database knows; by these payouts are final. */
  static async open(money: MoneyChain, name = 'regtest'): Promise<PayoutWorld> {
    const world = new PayoutWorld(await PayoutSteps.openParts(), money, name)
    await world.knowNetwork(world.network, name)
    await world.tracker().pass()
    return world
  }

  get network() {
    return `${this.money.chain}-test` as const
  }

  get asset() {
    return this.money.chain === 'bitcoin' ? ('BTC' as const) : ('LTC' as const)
  }

  async close(): Promise<void> {
    await this.rpc.close()
    await this.closeParts()
  }

  /** A merchant with final deposits of these amounts, one transaction each, in one block. */
  async openShop(amounts: readonly bigint[], serviceFeeBps = 0): Promise<Tenant> {
    const tenant = await seedMerchant(this.database)
    await this.deposit(tenant, amounts, serviceFeeBps)
    return tenant
  }

  async deposit(tenant: Tenant, amounts: readonly bigint[], serviceFeeBps = 0): Promise<void> {
    for (const amount of amounts) {
      const opened = await this.openInvoice(tenant, amount, serviceFeeBps)
      const { hex } = await this.money.pay(opened.address, amount)
      await this.#recordAll(tenant, [opened], amount, hex)
    }
    await this.#mineDeposits(tenant)
  }

  /** So many deposits of one amount in one transaction, which `pay` makes of its outputs and gives in hex. */
  async depositMany(
    tenant: Tenant,
    count: number,
    amount: bigint,
    pay: (outputs: readonly { readonly [address: string]: string }[]) => Promise<string>,
  ): Promise<void> {
    const opened: { invoiceId: string; address: string }[] = []
    for (let made = 0; made < count; made++) opened.push(await this.openInvoice(tenant, amount))
    const hex = await pay(opened.map(({ address }) => ({ [address]: formatCoinAmount(amount, 8) })))
    await this.#recordAll(tenant, opened, amount, hex)
    await this.#mineDeposits(tenant)
  }

  async #recordAll(
    tenant: Tenant,
    opened: readonly { readonly invoiceId: string; readonly address: string }[],
    amount: bigint,
    hex: string,
  ): Promise<void> {
    const transaction = Transaction.fromRaw(Buffer.from(hex, 'hex'), ANY_TRANSACTION)
    const scripts = Array.from({ length: transaction.outputsLength }, (_, index) =>
      Buffer.from(transaction.getOutput(index).script ?? []).toString('hex'),
    )
    for (const { invoiceId, address } of opened) {
      const script = outputScriptOf(address, this.money.chain, this.parameters)?.script ?? []
      const output = scripts.indexOf(Buffer.from(script).toString('hex'))
      const place = { network: this.network, asset: this.asset, txid: transaction.id, output }
      await this.record(tenant, { ...place, invoiceId, amount })
    }
  }

  /** An invoice at the next address of the account. */
  async openInvoice(
    tenant: Tenant,
    amount: bigint,
    serviceFeeBps = 0,
    terms: Partial<Invoice> = {},
  ): Promise<{ invoiceId: string; address: string; addressBytes: Buffer }> {
    const { rows } = await this.database.owner.query<{ next: number }>(
      'select next_index as next from account_key where keyspace = $1',
      [this.network],
    )
    const xpub = this.accounts.accounts.find(({ keyspace }) => keyspace === this.network)?.xpub ?? ''
    const addressBytes = Buffer.from(receiveAddresses(xpub)(rows[0]?.next ?? 0))
    const address = encodeAddress(this.parameters.hrp, addressBytes)
    const changes = { asset: this.asset, amount, address, serviceFeeBps, ...terms }
    const { id: invoiceId } = await seedInvoice(this.database, tenant, changes, addressBytes)
    return { invoiceId, address, addressBytes }
  }

  async #mineDeposits(tenant: Tenant): Promise<void> {
    const { owner } = this.database
    await this.money.mine(1)
    const { height } = await this.watch()
    await owner.query(
      'update transfer set block_height = $2 where merchant_id = $1 and block_height is null',
      [tenant.merchantId, height],
    )
  }

  /** The checkpoint is the node's tip from now on. */
  async watch(): Promise<{ readonly height: number; readonly hash: string }> {
    const height = Number(await this.rpc.callRaw('getblockcount', []))
    const hash = String(await this.rpc.callRaw('getblockhash', [height]))
    await this.database.owner.query('update network_state set height = $2, hash = $3 where network = $1', [
      this.network,
      height,
      hash,
    ])
    return { height, hash }
  }

  /** A new address that nobody else is paid at. */
  newAddress = (): string => encodeAddress(this.parameters.hrp, randomBytes(20))

  /** Asks for a payout to an address of its own. */
  async request(tenant: Tenant, amount: string, address = this.newAddress()): Promise<Payout> {
    const requested = await this.ask(tenant, { asset: this.asset, amount, address })
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    return requested.payout
  }

  /** A payout of all fees that are among a merchant's coins, asked for and approved, to an address of its own. */
  async payoutOfFees(tenant: Tenant): Promise<Payout> {
    const to = { asset: this.asset, address: this.newAddress(), now: this.now }
    const requested = await askForFees(this.database, tenant, to)
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    await this.approve(tenant, requested.payout.id)
    // The list is short, and a long run asks a thousand times.
    await this.database.owner.query(
      `update fee_destination set removed_at = now(), removed_by = 'opr_a' where removed_at is null`,
    )
    return requested.payout
  }

  async payout(tenant: Tenant, amount: string, address?: string): Promise<Payout> {
    const payout = await this.request(tenant, amount, address)
    await this.approve(tenant, payout.id)
    return payout
  }

  /** A tracker that was just started. */
  tracker(wrap: (chain: PayoutChain) => PayoutChain = (chain) => chain): PayoutTracker {
    return this.trackerOf([{ name: 'the node', chain: wrap(new UtxoPayoutClient(this.rpc, 'test')) }])
  }

  /** A tracker that was just started, with these providers. */
  trackerOf(chains: readonly [NamedChain<PayoutChain>, ...NamedChain<PayoutChain>[]]): PayoutTracker {
    const { network, asset, log } = this
    const at = { network, pool: this.database.pools.watcher, clock: () => this.now, log }
    const providers = new PayoutProviders<PayoutChain>(at, chains)
    return new PayoutTracker({
      ...at,
      sealer: this.sealerOf(network),
      broadcaster: new UtxoBroadcaster({ ...at, asset, providers }),
      notifier: { deliveriesWaiting: () => {}, activity: () => {} },
    })
  }

  /** A signer and a tracker in a process of their own, at work when this returns; `kill` ends it as a power cut would. */
  startProcess(): Promise<PayoutProcess> {
    return this.startPayoutProcess({ network: this.network, asset: this.asset, rpcUrl: this.money.rpcUrl })
  }

  /** What all coins that the merchant can spend are worth, as the chain itself says. */
  async coinsOnChain(tenant: Tenant): Promise<bigint> {
    let sum = 0n
    for (const coin of await listSpendableCoins(this.database.owner, tenant, this.network)) {
      const found = await this.rpc.callRaw('gettxout', [coin.txid, coin.outputIndex, false])
      if (found === null) throw new Error(`${coin.txid}:${coin.outputIndex} is not on the chain`)
      sum += coin.amount
    }
    return sum
  }

  /** Everything that the best chain pays to an address, one amount for each output. */
  async paidTo(address: string, fromHeight = 0): Promise<bigint[]> {
    const script = Buffer.from(outputScriptOf(address, this.money.chain, this.parameters)?.script ?? [])
    const tip = Number(await this.rpc.callRaw('getblockcount', []))
    const amounts: bigint[] = []
    for (let height = fromHeight; height <= tip; height++) {
      const hash = await this.rpc.callRaw('getblockhash', [height])
      const { parseBlock } = await import('../../src/sandbox/utxo/block.ts')
      const block = parseBlock(Buffer.from(String(await this.rpc.callRaw('getblock', [hash, 0])), 'hex'))
      for (const { outputs } of block.transactions) {
        for (const output of outputs) if (script.equals(output.script)) amounts.push(output.amount)
      }
    }
    return amounts
  }
}

const ANY_TRANSACTION = { allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true }
