import { approvalText } from '../../src/core/payout/approval-text.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Email } from '../../src/mail/mail.ts'
import { writeNotices } from '../../src/mail/write-notices.ts'
import { ApproverWatch } from '../../src/payouts/sign/approvers.ts'
import { KnownDestinations } from '../../src/payouts/sign/known-destinations.ts'
import { signPayouts } from '../../src/payouts/sign/sign-payouts.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { approvalDigest } from '../../src/secrets/approval-key.ts'
import { LivePayoutWorld } from './live-payout-world.ts'
import { PayoutSteps } from './payout-steps.ts'

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
    const ownerId = await this.addManager(tenant, 'owner')
    return { tenant, ownerId, destinationId: await this.plant(tenant) }
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
