import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transaction } from '@scure/btc-signer'
import pino from 'pino'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { outputScriptOf } from '../../src/chain/utxo/output-script.ts'
import { PayoutCarrier } from '../../src/chain/utxo/payout-carrier.ts'
import { receivePrograms } from '../../src/chain/utxo/receive-programs.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { utxoParametersOf } from '../../src/core/chain/utxo-parameters.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import { readPaymentRules } from '../../src/core/payment-rules.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { insertLedgerTransfer, loadBalances } from '../../src/db/queries/ledger.ts'
import { listSpendableCoins } from '../../src/db/queries/payout-coins.ts'
import { loadPayout } from '../../src/db/queries/payouts.ts'
import { type Tenant, withTransaction } from '../../src/db/transaction.ts'
import { decidePayout } from '../../src/flows/decide-payout.ts'
import { requestPayout } from '../../src/flows/request-payout.ts'
import { newId } from '../../src/new-id.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { openAccountsOf, wordsOf } from '../../src/signer/derive.ts'
import { PayoutJournal } from '../../src/signer/payout-journal.ts'
import { type PayoutSigner, signPayouts } from '../../src/signer/sign-payouts.ts'
import { PayoutCourier } from '../../src/watcher/follow-payouts.ts'
import { type PayoutChain, UtxoCarriage } from '../../src/watcher/utxo-carriage.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { seedInvoice, seedMerchant } from './seed.ts'

export const keyring = openKeyring(Buffer.alloc(32, 9))

/** The chain on which a world's money is: its own wallet pays, and its blocks come when asked for. */
export type MoneyChain = {
  readonly chain: 'bitcoin' | 'litecoin'
  readonly rpcUrl: string
  /** Pays base units to an address; gives the transaction. */
  pay(address: string, amount: bigint): Promise<{ readonly txid: string; readonly hex: string }>
  mine(blocks: number): Promise<unknown>
}

/** A database, a signer's folder and seed, a chain with money, and no processes: a test takes each turn itself. */
export class PayoutWorld {
  readonly database: TestDatabase
  readonly money: MoneyChain
  readonly rpc: RpcClient
  readonly folder: string
  readonly logged: string[] = []
  /** The time that signer and courier go by. */
  now = new Date('2026-11-21T12:00:00.000Z')
  readonly #accounts: Awaited<ReturnType<typeof openAccountsOf>>

  private constructor(parts: {
    database: TestDatabase
    money: MoneyChain
    folder: string
    accounts: Awaited<ReturnType<typeof openAccountsOf>>
  }) {
    this.database = parts.database
    this.money = parts.money
    this.folder = parts.folder
    this.rpc = new RpcClient(parts.money.rpcUrl, 'the test')
    this.#accounts = parts.accounts
  }

  static async open(money: MoneyChain): Promise<PayoutWorld> {
    const database = await createTestDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'paylink-payouts-'))
    const accounts = await openAccountsOf(wordsOf(randomBytes(32)))
    const world = new PayoutWorld({ database, money, folder, accounts })
    for (const { keyspace, path, xpub } of accounts.derived) {
      await database.owner.query(
        'insert into account_key (keyspace, xpub, path, created_at) values ($1, $2, $3, now())',
        [keyspace, xpub, path],
      )
    }
    await database.owner.query(
      `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
       values ($1, 'regtest', 0, '', 0, 'ok', now())`,
      [world.network],
    )
    await world.courier().pass()
    return world
  }

  get network() {
    return `${this.money.chain}-test` as const
  }

  get asset() {
    return this.money.chain === 'bitcoin' ? ('BTC' as const) : ('LTC' as const)
  }

  get parameters() {
    const parameters = utxoParametersOf(this.money.chain, 'regtest')
    if (parameters === null) throw new Error('no parameters')
    return parameters
  }

  async close(): Promise<void> {
    await this.rpc.close()
    await rm(this.folder, { recursive: true, force: true })
    await this.database.drop()
  }

  /** A merchant with final deposits of these amounts, one transaction each, in one block. */
  async openShop(amounts: readonly bigint[]): Promise<Tenant> {
    const tenant = await seedMerchant(this.database)
    await this.deposit(tenant, amounts)
    return tenant
  }

  async deposit(tenant: Tenant, amounts: readonly bigint[]): Promise<void> {
    for (const amount of amounts) {
      const opened = await this.#openInvoice(tenant, amount)
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
    for (let made = 0; made < count; made++) opened.push(await this.#openInvoice(tenant, amount))
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
      await this.#record(tenant, { invoiceId, txid: transaction.id, output, amount })
    }
  }

  /** An invoice at the next address of the account. */
  async #openInvoice(tenant: Tenant, amount: bigint): Promise<{ invoiceId: string; address: string }> {
    const { rows } = await this.database.owner.query<{ next: number }>(
      'select next_index + 1 as next from account_key where keyspace = $1',
      [this.network],
    )
    const xpub = this.#accounts.derived.find(({ keyspace }) => keyspace === this.network)?.xpub ?? ''
    const program = Buffer.from(receivePrograms(xpub)(rows[0]?.next ?? 0))
    const address = encodeAddress(this.parameters.hrp, program)
    const changes = { asset: this.asset, amount, address }
    const { id: invoiceId } = await seedInvoice(this.database, tenant, changes, program)
    return { invoiceId, address }
  }

  async #mineDeposits(tenant: Tenant): Promise<void> {
    const { owner } = this.database
    await this.money.mine(1)
    const height = await this.rpc.callRaw('getblockcount', [])
    await owner.query(
      'update transfer set block_height = $2 where merchant_id = $1 and block_height is null',
      [tenant.merchantId, height],
    )
    await owner.query('update network_state set height = $2 where network = $1', [this.network, height])
  }

  async #record(
    tenant: Tenant,
    deposit: { invoiceId: string; txid: string; output: number; amount: bigint },
  ): Promise<void> {
    const { invoiceId, txid, output, amount } = deposit
    const id = newId('payment', this.now)
    await withTransaction(this.database.owner, tenant, async (tx) => {
      await tx.query(
        `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
           first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
           announced_review, ledger_bucket, ledger_postings)
         values ($1, $2, false, $3, $4, $5, $6, $7, $8, 'confirmed', now(), now(), now(), 1, false, false, true, false,
           'available', 1)`,
        [tenant.merchantId, id, invoiceId, this.network, txid, output, this.asset, amount],
      )
      await insertLedgerTransfer(tx, tenant, {
        id: `dep:${this.network}:${txid}:${output}:1`,
        kind: 'deposit',
        invoiceId,
        paymentId: id,
        asset: this.asset,
        from: 'chain',
        to: 'available',
        amount,
        usdCents: null,
        createdAt: this.now,
      })
    })
  }

  /** A new address that nobody else is paid at. */
  newAddress = (): string => encodeAddress(this.parameters.hrp, randomBytes(20))

  /** Asks for a payout to an address of its own. */
  async request(tenant: Tenant, amount: string, address = this.newAddress()): Promise<Payout> {
    const destinationId = newId('payoutDestination', this.now)
    await this.database.owner.query(
      `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
       values ($1, $2, false, $3, $4, 'x', 'x', $5, $5)`,
      [tenant.merchantId, destinationId, this.asset, address, this.now],
    )
    const requested = await withTransaction(this.database.pools.api, tenant, (tx) =>
      requestPayout(tx, {
        tenant,
        destinationId,
        amount,
        asset: null,
        by: 'key_a',
        rules: readPaymentRules({}),
        requestId: 'req_test',
        now: this.now,
      }),
    )
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    return requested.payout
  }

  async approve(tenant: Tenant, payoutId: string): Promise<void> {
    const deps = { pool: this.database.pools.api, clock: () => this.now, keyring }
    const decision = { tenant, payoutId, decision: 'approve', by: 'key_b', requestId: 'req_test' } as const
    const decided = await decidePayout(deps, decision)
    if (decided.kind !== 'decided') throw new Error(decided.kind)
  }

  async payout(tenant: Tenant, amount: string, address?: string): Promise<Payout> {
    const payout = await this.request(tenant, amount, address)
    await this.approve(tenant, payout.id)
    return payout
  }

  /** One turn of a signer that was just started on the folder. */
  async sign(changes: Partial<PayoutSigner> = {}): Promise<void> {
    const journal = await PayoutJournal.open(this.folder)
    await signPayouts({
      pool: this.database.pools.signer,
      clock: () => this.now,
      log: pino({ level: 'debug' }, { write: (line: string) => this.logged.push(line) }),
      folder: this.folder,
      journal,
      accounts: this.#accounts.spenders,
      told: new Set(),
      ...changes,
    })
  }

  /** A courier that was just started. */
  courier(wrap: (chain: PayoutChain) => PayoutChain = (chain) => chain): PayoutCourier {
    const { network, asset } = this
    const at = { network, pool: this.database.pools.watcher, clock: () => this.now }
    const chain = wrap(new PayoutCarrier(this.rpc, false))
    return new PayoutCourier({
      ...at,
      carriage: new UtxoCarriage({ ...at, asset, chain }),
      log: pino({ level: 'debug' }, { write: (line: string) => this.logged.push(line) }),
      notifier: { deliveriesWaiting: () => {} },
    })
  }

  async load(tenant: Tenant, payoutId: string): Promise<Payout> {
    const stored = await withTransaction(this.database.owner, tenant, (tx) =>
      loadPayout(tx, tenant, payoutId),
    )
    if (stored === null) throw new Error('no such payout')
    return stored.payout
  }

  async balances(tenant: Tenant): Promise<{ readonly [account: string]: bigint }> {
    const rows = await withTransaction(this.database.owner, tenant, (tx) => loadBalances(tx, tenant))
    return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
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
      const { parseBlock } = await import('../../src/sandbox/block.ts')
      const block = parseBlock(Buffer.from(String(await this.rpc.callRaw('getblock', [hash, 0])), 'hex'))
      for (const { outputs } of block.transactions) {
        for (const output of outputs) if (script.equals(output.script)) amounts.push(output.amount)
      }
    }
    return amounts
  }

  async eventsOf(payoutId: string): Promise<string[]> {
    const { rows } = await this.database.owner.query<{ event_type: string }>(
      'select event_type from event where resource_id = $1 order by sequence',
      [payoutId],
    )
    return rows.map((row) => row.event_type.replace('payout.', ''))
  }
}

const ANY_TRANSACTION = { allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true }
