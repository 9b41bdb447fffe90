import type { Invoice, InvoiceStatus } from '../../src/core/invoice/types.ts'
import type { NetworkState } from '../../src/db/queries/network-state.ts'
import type { Tenant } from '../../src/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { startNode, type TestNode, until } from './litecoind.ts'
import { seedInvoice, seedMerchant } from './seed.ts'
import { networkState, type Watching, type WatchOptions, watchNetwork } from './watched-network.ts'

export const NETWORK = 'litecoin-test'
/** Base units of a coin. */
export const LTC = 100_000_000n
const HOUR_MS = 3_600_000

type OpenInvoice = { readonly id: string; readonly address: string; readonly expiresAtMs: number }

/** A real Litecoin node, a real database with a merchant in it, and watchers between them. */
export class WatchedChain {
  readonly database: TestDatabase
  readonly node: TestNode
  readonly tenant: Tenant
  #watching: Watching[] = []

  private constructor(database: TestDatabase, node: TestNode, tenant: Tenant) {
    this.database = database
    this.node = node
    this.tenant = tenant
  }

  static async open(): Promise<WatchedChain> {
    const node = await startNode('litecoin')
    const database = await createTestDatabase()
    return new WatchedChain(database, node, await seedMerchant(database))
  }

  async stopWatchers(): Promise<void> {
    await Promise.all(this.#watching.map((watcher) => watcher.stop()))
    this.#watching = []
  }

  async close(): Promise<void> {
    await this.stopWatchers()
    await this.node.remove()
    await this.database.drop()
  }

  watch(options: Partial<WatchOptions> = {}): Watching {
    const watcher = watchNetwork(this.database, { rpcUrl: this.node.rpcUrl, ...options })
    this.#watching.push(watcher)
    return watcher
  }

  /** A watcher that stands at the node's tip. */
  async watchAtTip(options: Partial<WatchOptions> = {}): Promise<Watching> {
    const startedAt = Date.now()
    const watcher = this.watch(options)
    await until(async () => ((await this.stateOrNull())?.readAt?.getTime() ?? 0) >= startedAt, {
      what: 'the watcher has read chain and mempool',
    })
    return watcher
  }

  /** The state once there is one. */
  async stateOrNull(): Promise<NetworkState | null> {
    const { rowCount } = await this.database.owner.query('select from network_state')
    return rowCount === 0 ? null : networkState(this.database, NETWORK)
  }

  /** An invoice over 1 LTC at a new address of the node's wallet, watched as the pool's filler does. */
  async openInvoice(watchers: readonly Watching[], changes: Partial<Invoice> = {}): Promise<OpenInvoice> {
    const address = await this.node.newAddress()
    const program = await this.node.programOf(address)
    for (const { adapter } of watchers) adapter.watched.add([program])
    const now = Date.now()
    const terms = {
      createdAtMs: now,
      expiresAtMs: now + HOUR_MS,
      amount: LTC,
      address,
      confirmations: { LTC: 1 },
    }
    const invoice = await seedInvoice(this.database, this.tenant, { ...terms, ...changes }, program)
    await this.database.owner.query(
      `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
       select keyspace, idx, program, address, 'regtest', created_at, created_at from deposit_address
       where invoice_id = $1`,
      [invoice.id],
    )
    return { id: invoice.id, address, expiresAtMs: invoice.expiresAtMs }
  }

  async statusOf(invoiceId: string): Promise<InvoiceStatus | undefined> {
    const { rows } = await this.database.owner.query<{ status: InvoiceStatus }>(
      'select status from invoice where id = $1',
      [invoiceId],
    )
    return rows[0]?.status
  }

  untilStatus(invoiceId: string, status: InvoiceStatus): Promise<void> {
    return until(async () => (await this.statusOf(invoiceId)) === status, {
      what: `the invoice is ${status}`,
    })
  }

  async eventsOf(invoiceId: string): Promise<string[]> {
    const { rows } = await this.database.owner.query<{ event_type: string }>(
      'select event_type from event where resource_id = $1 order by sequence',
      [invoiceId],
    )
    return rows.map((row) => row.event_type.replace('invoice.', ''))
  }

  async paymentsOf(invoiceId: string): Promise<string[]> {
    const { rows } = await this.database.owner.query<{ status: string }>(
      'select status from transfer where invoice_id = $1 order by output_index',
      [invoiceId],
    )
    return rows.map((row) => row.status)
  }

  async availableBalance(): Promise<bigint> {
    const { rows } = await this.database.owner.query<{ balance: bigint }>(
      `select balance from ledger_balance where merchant_id = $1 and account = 'available'`,
      [this.tenant.merchantId],
    )
    return rows[0]?.balance ?? 0n
  }

  /** When the chain as it stands now has been read, and its consequences are committed. */
  async untilRead(): Promise<void> {
    const tip = await this.node.rpc<string>('getbestblockhash')
    const askedAt = Date.now()
    await until(
      async () => {
        const state = await networkState(this.database, NETWORK)
        return state.hash === tip && (state.readAt?.getTime() ?? 0) >= askedAt
      },
      { what: 'the watcher has read the new tip' },
    )
  }

  /** From now on no checkpoint can be written: as if the process died each time just before. */
  async breakCheckpoints(): Promise<() => Promise<void>> {
    await this.database.owner.query(`create function no_checkpoint() returns trigger language plpgsql as $$
      begin raise exception 'cut off before the checkpoint'; end $$`)
    await this.database.owner.query(`create trigger no_checkpoint before update of hash on network_state
      for each row when (old.hash is distinct from new.hash) execute function no_checkpoint()`)
    return async () => {
      await this.database.owner.query('drop trigger no_checkpoint on network_state')
      await this.database.owner.query('drop function no_checkpoint()')
    }
  }
}
