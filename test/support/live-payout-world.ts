import { randomBytes } from 'node:crypto'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { receiveAddresses } from '../../src/chain/utxo/receive-addresses.ts'
import { approvalText } from '../../src/core/payout/approval-text.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { decidePayout } from '../../src/payouts/advance-payout.ts'
import { ApprovalMemory } from '../../src/payouts/sign/approval-memory.ts'
import { APPROVER, listedKey } from '../../src/payouts/sign/approvers.ts'
import { KnownDestinations } from '../../src/payouts/sign/known-destinations.ts'
import { signPayouts } from '../../src/payouts/sign/sign-payouts.ts'
import type { SigningContext } from '../../src/payouts/sign/signing-context.ts'
import { listCredentialsOf } from '../../src/payouts/store/approvers.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import type { ApprovalEvidence } from '../../src/secrets/approval-evidence.ts'
import { approvalDigest } from '../../src/secrets/approval-key.ts'
import { keyring, PayoutSteps, seals } from './payout-steps.ts'
import { seedInvoice, seedMerchant } from './seed.ts'
import { createTestPasskey, type TestPasskey } from './test-passkey.ts'

const NETWORK = 'litecoin-live'

/** Litecoin's live network up to what the signer writes: nothing is ever sent, so no node is asked. */
export class LivePayoutWorld extends PayoutSteps {
  /** Who approves, by merchant. */
  readonly #approvers = new Map<string, string>()

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

  async addManager({ merchantId }: Tenant, role: string): Promise<string> {
    const id = newId('member', this.now)
    const { owner } = this.database
    await owner.query(
      'insert into organization (id, name, slug, created_at) values ($1, $1, $1, now()) on conflict do nothing',
      [merchantId],
    )
    await owner.query(
      `insert into person (id, name, email, email_verified, created_at, updated_at)
       values ($1, $1, $1 || '@example.com', true, now(), now())`,
      [id],
    )
    await owner.query(
      'insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $1, $3, now())',
      [id, merchantId, role],
    )
    return id
  }

  /** Keeps a passkey as the sign-in does. */
  async addPasskey(personId: string, passkey: TestPasskey): Promise<string> {
    const id = randomBytes(8).toString('hex')
    await this.database.owner.query(
      `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
       values ($1, $2, $3, $4, 0, 'singleDevice', false)`,
      [id, personId, passkey.publicKey, passkey.credentialId],
    )
    return id
  }

  /** Approves as the API does, by its real key and database role. */
  async approveWith(payout: Payout, by: string, evidence: ApprovalEvidence | null): Promise<void> {
    const { merchantId, livemode } = payout
    const decided = await decidePayout(
      { pool: this.database.pools.api, clock: () => this.now, keyring, seals },
      {
        tenant: { merchantId, livemode },
        source: 'available',
        payoutId: payout.id,
        decision: 'approve',
        by,
        requestId: 'req_test',
        ...(evidence === null ? {} : { evidence }),
      },
    )
    if (decided.kind !== 'decided') throw new Error(decided.kind)
  }

  async #approverOf(tenant: Tenant): Promise<string> {
    const known = this.#approvers.get(tenant.merchantId)
    if (known !== undefined) return known
    const id = await this.addManager(tenant, 'owner')
    await this.addPasskey(id, createTestPasskey())
    this.#approvers.set(tenant.merchantId, id)
    return id
  }

  /** As if the signer had always known who approves. */
  async #knowApprovers({ pool, seen }: SigningContext): Promise<void> {
    for (const [merchantId, personId] of this.#approvers) {
      const credentials = await listCredentialsOf(pool, merchantId, personId)
      const always = credentials.map((one) => ({ key: listedKey(seen, one), seenAt: new Date(0) }))
      await seen.note(APPROVER, always)
    }
  }

  /** A payout to a destination, asked for and approved with the API's own key. */
  async payOut(tenant: Tenant, destinationId: string, amount: string): Promise<Payout> {
    await withTransaction(this.database.owner, tenant, (tx) =>
      saveNetworkFee(tx, NETWORK, { rate: 2_000n, now: this.now }),
    )
    const requested = await this.askTo(tenant, destinationId, amount)
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    await this.approveWith(requested.payout, await this.#approverOf(tenant), null)
    // As if the signer had checked who approved it; live-approvals.test.ts does.
    const memory = await ApprovalMemory.open(this.folder)
    await memory.accept(requested.payout.id, approvalDigest(approvalText(requested.payout)))
    return requested.payout
  }

  /** The first turn of a signer that was just started on the folder. */
  override async sign(): Promise<void> {
    const signer = await this.signer()
    await this.#knowApprovers(signer)
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
