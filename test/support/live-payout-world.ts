import { randomBytes } from 'node:crypto'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { receiveAddresses } from '../../src/chain/utxo/receive-addresses.ts'
import { approvalText } from '../../src/core/payout/approval-text.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { ApprovalMemory } from '../../src/payouts/sign/approval-memory.ts'
import { KnownDestinations } from '../../src/payouts/sign/known-destinations.ts'
import { signPayouts } from '../../src/payouts/sign/sign-payouts.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { approvalDigest } from '../../src/secrets/approval-key.ts'
import { PayoutSteps } from './payout-steps.ts'
import { seedInvoice, seedMerchant } from './seed.ts'

const NETWORK = 'litecoin-live'

/** Litecoin's live network up to what the signer writes: nothing is ever sent, so no node is asked. */
export class LivePayoutWorld extends PayoutSteps {
  static async open(): Promise<LivePayoutWorld> {
    const world = new LivePayoutWorld(await PayoutSteps.openParts())
    await world.knowNetwork(NETWORK, 'main')
    return world
  }

  close = (): Promise<void> => this.closeParts()

  override tracker(): never {
    throw new Error('nothing is sent on a live network')
  }

  /** A merchant with final deposits of these amounts. */
  async openShop(amounts: readonly bigint[]): Promise<Tenant> {
    const tenant = await seedMerchant(this.database, true)
    for (const amount of amounts) {
      const { owner } = this.database
      const { rows } = await owner.query<{ next: number }>(
        'select next_index as next from account_key where keyspace = $1',
        [NETWORK],
      )
      const xpub = this.accounts.accounts.find(({ keyspace }) => keyspace === NETWORK)?.xpub ?? ''
      const addressBytes = Buffer.from(receiveAddresses(xpub)(rows[0]?.next ?? 0))
      const terms = { asset: 'LTC', amount, address: encodeAddress('ltc', addressBytes) } as const
      const { id: invoiceId } = await seedInvoice(this.database, tenant, terms, addressBytes)
      const place = {
        network: NETWORK,
        asset: 'LTC',
        txid: randomBytes(32).toString('hex'),
        output: 0,
      } as const
      await this.record(tenant, { ...place, invoiceId, amount })
    }
    return tenant
  }

  newAddress = (): string => encodeAddress('ltc', randomBytes(20))

  /** What somebody with the API's database login writes: a destination that says it can be paid already. */
  async plant(tenant: Tenant, address = this.newAddress()): Promise<string> {
    const id = newId('payoutDestination', this.now)
    await withTransaction(this.database.pools.api, tenant, (tx) =>
      tx.query(
        `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
         values ($1, $2, true, 'LTC', $3, 'x', 'x', '2020-01-01', '2020-01-01')`,
        [tenant.merchantId, id, address],
      ),
    )
    return id
  }

  /** A payout to a destination, asked for and approved with the API's own key. */
  async payOut(tenant: Tenant, destinationId: string, amount: string): Promise<Payout> {
    await withTransaction(this.database.owner, tenant, (tx) =>
      saveNetworkFee(tx, NETWORK, { rate: 2_000n, now: this.now }),
    )
    const requested = await this.askTo(tenant, destinationId, amount)
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    await this.approve(tenant, requested.payout.id)
    // As if the signer had checked who approved it; live-approvals.test.ts does.
    const memory = await ApprovalMemory.open(this.folder)
    await memory.accept(requested.payout.id, approvalDigest(approvalText(requested.payout)))
    return requested.payout
  }

  /** The first turn of a signer that was just started on the folder. */
  override async sign(): Promise<void> {
    const signer = await this.signer()
    await new KnownDestinations(signer).look()
    await signPayouts(signer)
  }

  after(ms: number): void {
    this.now = new Date(this.now.getTime() + ms)
  }

  async isSigned({ id }: Payout): Promise<boolean> {
    const { rows } = await this.database.owner.query('select from payout_transaction where payout_id = $1', [
      id,
    ])
    return rows.length > 0
  }

  /** Why the signer holds a payout back, or will not sign it. */
  async reasonOf({ id }: Payout): Promise<string | null> {
    const { rows } = await this.database.owner.query<{ reason: string }>(
      `select code as reason from payout_refusal where payout_id = $1
       union all select reason from payout_hold where payout_id = $1`,
      [id],
    )
    return rows[0]?.reason ?? null
  }
}
