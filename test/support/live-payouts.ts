import { randomBytes } from 'node:crypto'
import { approvalText } from '../../src/core/payout/approval-text.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Email } from '../../src/mail/mail.ts'
import { writeNotices } from '../../src/mail/write-notices.ts'
import { decidePayout } from '../../src/payouts/advance-payout.ts'
import { ApproverWatch } from '../../src/payouts/sign/approvers.ts'
import { KnownDestinations } from '../../src/payouts/sign/known-destinations.ts'
import { signPayouts } from '../../src/payouts/sign/sign-payouts.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import type { ApprovalEvidence } from '../../src/secrets/approval-evidence.ts'
import { approvalDigest } from '../../src/secrets/approval-key.ts'
import { LivePayoutWorld } from './live-payout-world.ts'
import { keyring, PayoutSteps, seals } from './payout-steps.ts'
import type { TestPasskey } from './test-passkey.ts'

const NETWORK = 'litecoin-live'
const DAY_MS = 24 * 3_600_000
const COIN = 100_000_000n

/** Live payouts, and the people who approve them. */
export class LivePayouts extends LivePayoutWorld {
  readonly mails: Email[] = []

  static override async open(): Promise<LivePayouts> {
    const world = new LivePayouts(await PayoutSteps.openParts())
    await world.knowNetwork(NETWORK, 'main')
    return world
  }

  waitADay(): void {
    this.after(DAY_MS)
  }

  /** A merchant with coins and a destination, and its owner. */
  async openLiveShop(): Promise<{ tenant: Tenant; ownerId: string; destinationId: string }> {
    const tenant = await this.openShop([COIN, COIN, COIN, COIN])
    await this.database.owner.query(
      'insert into organization (id, name, slug, created_at) values ($1, $1, $1, now())',
      [tenant.merchantId],
    )
    const ownerId = await this.addManager(tenant, 'owner')
    return { tenant, ownerId, destinationId: await this.plant(tenant) }
  }

  async addManager({ merchantId }: Tenant, role: string): Promise<string> {
    const id = newId('member', this.now)
    const { owner } = this.database
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

  /** Rounds of the delivery role's emails, until none is left to write. */
  async mailNotices(): Promise<void> {
    const mail = { send: async (email: Email) => void this.mails.push(email) }
    const { delivery: pool } = this.database.pools
    const { log } = await this.signer()
    const deps = { pool, mail, log, baseUrl: 'https://pay.example.com' }
    for (let rounds = 0; rounds < 100 && (await writeNotices(deps)) > 0; rounds++);
  }

  async request(tenant: Tenant, destinationId: string, amount = '0.5'): Promise<Payout> {
    await saveNetworkFee(this.database.owner, NETWORK, { rate: 2_000n, now: this.now })
    const asked = await this.askTo(tenant, destinationId, amount)
    if (asked.kind !== 'requested') throw new Error(asked.kind)
    return asked.payout
  }

  digestOf = (payout: Payout): Buffer => approvalDigest(approvalText(payout))

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

  /** A turn of a signer that was just started on the folder: it looks who may approve, then signs. */
  async turn(): Promise<void> {
    const signer = await this.signer()
    await new KnownDestinations(signer).look()
    const approvers = new ApproverWatch()
    // All on one page, and the end of the round.
    for (let looks = 0; looks < 2; looks++) await approvers.look(signer)
    await signPayouts(signer)
  }

  /** `signed`, `waits`, or the code with which the signer refused it. */
  async outcomeOf({ merchantId, id }: Payout): Promise<string> {
    const { rows } = await this.database.owner.query<{ code: string | null; signed: boolean }>(
      `select (select code from payout_refusal where merchant_id = $1 and payout_id = $2) as code,
         exists (select from payout_transaction where merchant_id = $1 and payout_id = $2) as signed`,
      [merchantId, id],
    )
    const signed = (await this.signer()).journal.entriesOf(id).length > 0
    if (rows[0]?.signed !== signed) throw new Error('the journal and the database disagree')
    return rows[0]?.code ?? (signed ? 'signed' : 'waits')
  }
}
