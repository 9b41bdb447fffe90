import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { keyspaceOfNetwork } from '../../src/core/assets.ts'
import type { Invoice, InvoiceStatus } from '../../src/core/invoice/types.ts'
import type { NetworkState } from '../../src/db/chain/network-state.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import type { FollowOptions } from '../../src/watcher/follow-network.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { seedDepositAccount, seedInvoice, seedMerchant } from './seed.ts'
import { until } from './until.ts'
import { networkState, type Watching, watchWith } from './watched-network.ts'

const HOUR_MS = 3_600_000

export type OpenInvoice = { readonly id: string; readonly address: string }

/** A node that a driver drives, a real database with a merchant in it, and watchers between them. */
export class WatchedChain<Driven extends DrivenChain = DrivenChain> {
  readonly driver: ChainDriver<Driven>
  readonly chain: Driven
  readonly database: TestDatabase
  readonly tenant: Tenant
  #watching: Watching[] = []

  private constructor(
    driver: ChainDriver<Driven>,
    parts: { chain: Driven; database: TestDatabase; tenant: Tenant },
  ) {
    this.driver = driver
    this.chain = parts.chain
    this.database = parts.database
    this.tenant = parts.tenant
  }

  static async open<Driven extends DrivenChain>(driver: ChainDriver<Driven>): Promise<WatchedChain<Driven>> {
    const chain = await driver.start()
    const database = await createTestDatabase()
    return new WatchedChain(driver, { chain, database, tenant: await seedMerchant(database) })
  }

  async stopWatchers(): Promise<void> {
    await Promise.all(this.#watching.map((watcher) => watcher.stop()))
    this.#watching = []
  }

  async close(): Promise<void> {
    await this.stopWatchers()
    await this.chain.remove()
    await this.database.drop()
  }

  /** A watcher, with an adapter for the node itself unless another is given. */
  watch(options: { adapter?: ChainAdapter; changes?: Partial<FollowOptions> } = {}): Watching {
    const watcher = watchWith(this.database, options.adapter ?? this.chain.adapter(), options.changes)
    this.#watching.push(watcher)
    return watcher
  }

  /** A watcher that stands at the node's tip. */
  async watchAtTip(options: Parameters<this['watch']>[0] = {}): Promise<Watching> {
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
    return rowCount === 0 ? null : this.state()
  }

  state(): Promise<NetworkState> {
    return networkState(this.database, this.driver.network)
  }

  /** An invoice over the driver's amount at a new address, watched as the pool's filler does. */
  async openInvoice(
    watchers: readonly Watching[],
    changes: Partial<Invoice> = {},
    tenant = this.tenant,
  ): Promise<OpenInvoice> {
    const { address, addressBytes } = await this.chain.newAddress()
    for (const { adapter } of watchers) adapter.watched.add([addressBytes])
    const { asset, amount } = this.driver
    const now = Date.now()
    const terms = {
      createdAtMs: now,
      expiresAtMs: now + HOUR_MS,
      asset,
      amount,
      address,
      confirmations: { [asset]: 1 },
    }
    const invoice = await seedInvoice(this.database, tenant, { ...terms, ...changes }, addressBytes)
    return { id: invoice.id, address }
  }

  /** A permanent address of a new customer, whose deposits are final after one block. */
  async openDepositAccount(watchers: readonly Watching[]): Promise<OpenInvoice> {
    const { address, addressBytes } = await this.chain.newAddress()
    for (const { adapter } of watchers) adapter.watched.add([addressBytes])
    const { asset, network } = this.driver
    await this.database.owner.query(
      `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())
       on conflict do nothing`,
      [this.tenant.merchantId, JSON.stringify({ confirmations: { [asset]: [1, 1, 1] } })],
    )
    const own = { keyspace: keyspaceOfNetwork(network), address, addressBytes }
    const id = await seedDepositAccount(this.database, this.tenant, {}, [own])
    return { id, address }
  }

  /** What was told of the deposits of an account, one list for each, in their order on the chain. */
  async depositEventsOf(accountId: string): Promise<string[][]> {
    const { rows } = await this.database.owner.query<{ events: string[] }>(
      `select array(select substr(e.event_type, 9) from event e
         where e.merchant_id = d.merchant_id and e.resource_id = d.id order by e.sequence) as events
       from deposit d where d.account_id = $1 order by d.created_at, d.id`,
      [accountId],
    )
    return rows.map(({ events }) => events)
  }

  async untilDeposits(accountId: string, events: readonly string[][]): Promise<void> {
    let last: string[][] = []
    const areThere = async () => {
      last = await this.depositEventsOf(accountId)
      return JSON.stringify(last) === JSON.stringify(events)
    }
    try {
      await until(areThere, { what: `what is told of deposits is ${JSON.stringify(events)}` })
    } catch (error) {
      throw new Error(`it is ${JSON.stringify(last)}`, { cause: error })
    }
  }

  /** What the passing of time does to open invoices: their deadline is now. */
  async endNow(invoiceIds: readonly string[]): Promise<void> {
    await this.database.owner.query('update invoice set expires_at = $2 where id = any($1)', [
      invoiceIds,
      new Date(),
    ])
  }

  /** Confirmations that an invoice of this chain may ask for, as a change of its terms. */
  needs(confirmations: number): Partial<Invoice> {
    return { confirmations: { [this.driver.asset]: confirmations } }
  }

  async statusOf(invoiceId: string): Promise<InvoiceStatus | undefined> {
    const { rows } = await this.database.owner.query<{ status: InvoiceStatus }>(
      'select status from invoice where id = $1',
      [invoiceId],
    )
    return rows[0]?.status
  }

  async untilStatus(invoiceId: string, status: InvoiceStatus): Promise<void> {
    let last: InvoiceStatus | undefined
    const isThere = async () => {
      last = await this.statusOf(invoiceId)
      return last === status
    }
    try {
      await until(isThere, { what: `the invoice is ${status}` })
    } catch (error) {
      const { status: network, reason, height, readAt } = await this.state()
      const read = `its network is ${network} (${reason}), at ${height}, read ${readAt?.toISOString()}`
      throw new Error(`the invoice is ${last} and should be ${status}; ${read}`, { cause: error })
    }
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
    return (await this.balances()).available ?? 0n
  }

  /** The merchant's balances in the ledger by account. */
  async balances(): Promise<{ readonly [account: string]: bigint }> {
    const { rows } = await this.database.owner.query<{ account: string; balance: bigint }>(
      'select account, balance from ledger_balance where merchant_id = $1 and balance <> 0 order by account',
      [this.tenant.merchantId],
    )
    return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
  }

  /** When the chain as it stands now has been read, and its consequences are committed. */
  async untilRead(): Promise<void> {
    const tip = await this.chain.tipHash()
    const askedAt = Date.now()
    await until(
      async () => {
        const state = await this.state()
        return state.hash === tip && (state.readAt?.getTime() ?? 0) >= askedAt
      },
      { what: 'the watcher has read the new tip' },
    )
  }

  /** When the watcher has looked at the tip again, though more blocks may have come since. */
  async untilReadSince(moment: Date): Promise<void> {
    const isRead = async () => ((await this.state()).readAt?.getTime() ?? 0) >= moment.getTime()
    await until(isRead, { what: 'the watcher has read the tip again' })
  }

  /** When the watcher has said of its network how it is, once more. */
  async untilSaidAgain(): Promise<void> {
    const saidAt = async () => {
      const { rows } = await this.database.owner.query<{ updated_at: Date }>(
        'select updated_at from network_state',
      )
      return rows[0]?.updated_at.getTime() ?? 0
    }
    const before = await saidAt()
    await until(async () => (await saidAt()) > before, { what: 'the watcher has said how its network is' })
  }

  /** Puts the checkpoint where it was so many blocks ago, as a restore from a backup does. */
  async setBackTo(state: NetworkState): Promise<void> {
    await this.database.owner.query(
      'update network_state set height = $2, hash = $3, block_time = $4 where network = $1',
      [state.network, state.height, state.hash, state.blockTime],
    )
  }

  /**
   * From now on no checkpoint, or none that is higher than the last, can be written: as if the process died each
   * time just before.
   */
  async breakCheckpoints(which: 'all' | 'higher' = 'all'): Promise<() => Promise<void>> {
    await this.database.owner.query(`create function no_checkpoint() returns trigger language plpgsql as $$
      begin raise exception 'cut off before the checkpoint'; end $$`)
    await this.database.owner.query(`create trigger no_checkpoint before update of hash on network_state
      for each row when (old.hash is distinct from new.hash and (${which === 'all'} or new.height > old.height))
      execute function no_checkpoint()`)
    return async () => {
      await this.database.owner.query('drop trigger no_checkpoint on network_state')
      await this.database.owner.query('drop function no_checkpoint()')
    }
  }
}
