import type { Config } from '../config/config.ts'
import { loadApprovalKey, loadPinnedApprovalKey } from '../payouts/store/approval-keys.ts'
import { listPayoutHolds, listRefusals, type StoppedPayout } from '../payouts/store/payout-holds.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { openApprovalKey } from '../secrets/approval-key.ts'
import { openKeyring } from '../secrets/keyring.ts'
import { readSecretKey } from '../secrets/secret-key.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** Whether the API signs approvals with the key by which the signer knows them, and nobody has placed another one. */
export async function inspectApprovalKey(
  config: Pick<Config, 'dataDir' | 'secretKey'>,
  pool: Pool,
): Promise<Finding[]> {
  const secret = await readSecretKey(config.dataDir, config.secretKey)
  const own = secret === null ? null : openApprovalKey(openKeyring(secret)).publicKey.toString('hex')
  const known = (await loadPinnedApprovalKey(pool))?.toString('hex') ?? null
  const stored = (await loadApprovalKey(pool))?.toString('hex') ?? null
  const findings: Finding[] = []
  if (known === null && stored !== null)
    findings.push(
      fault(
        `Approvals: the signer knows no key of the API's, and signs no live payout: give it the file that the API writes (APPROVAL_KEY_FILE), or run paylink signer trust-approval-key ${own ?? 'KEY'} where it runs`,
      ),
    )
  if (known !== null && own !== null && own !== known)
    findings.push(
      fault(
        `Approvals: the API signs them with the key ${own}, and the signer knows ${known}: if SECRET_KEY was changed by you, run paylink signer trust-approval-key ${own} where the signer runs`,
      ),
    )
  if (known !== null && stored !== null && stored !== known)
    findings.push(
      fault(
        `Approvals: the database names the key ${stored}, and the signer knows ${known}: if it is not yours, find out who wrote it, and delete the row of table payout_approval_key`,
      ),
    )
  if (findings.length > 0 || known === null) return findings
  return [ok(`Approvals: the signer knows the key ${known}`)]
}

/** Of each kind; more say nothing new. */
const LISTED_MAX = 20
const REFUSED_WITHIN_MS = 7 * 24 * 3_600_000

/** Approved payouts that the signer holds back by its own files, and live ones of a week that it refused for their approval. */
export async function inspectStoppedPayouts(pool: Pool, clock: Clock): Promise<Finding[]> {
  const since = new Date(clock().getTime() - REFUSED_WITHIN_MS)
  const held = await listPayoutHolds(pool, LISTED_MAX + 1)
  const refused = await listRefusals(pool, Object.keys(REFUSED), { since, limit: LISTED_MAX + 1 })
  return [
    ...listed(held, ({ reason, until }) => {
      const when = until === null ? '' : ` until ${until.toISOString()}`
      return `the signer holds it back${when}: ${HELD[reason] ?? reason}`
    }),
    ...listed(refused, ({ reason }) => `the signer refused it (${reason}): ${REFUSED[reason] ?? ''}`),
  ]
}

function listed(payouts: readonly StoppedPayout[], words: (payout: StoppedPayout) => string): Finding[] {
  const findings = payouts
    .slice(0, LISTED_MAX)
    .map((payout) => notice(`Payout ${payout.id} of ${payout.merchantId}: ${words(payout)}`))
  if (payouts.length > LISTED_MAX)
    findings.push(notice('Payouts: there are more of these; see the log of the signer'))
  return findings
}

const RAISE =
  'wait, or raise it and restart the signer; if you do not know the payout, find out who approved it'
const HELD: { readonly [reason: string]: string } = {
  destination_new:
    'it has known the destination for less than a day; if you do not know the address, remove it and find out who added it',
  payouts_in_hour:
    'as many payouts were signed as an hour may have; wait, and if you do not know them, find out who approved them',
  value_in_hour: `with it, the merchant would be above the limit of an hour in limits.json of the signer: ${RAISE}`,
  value_in_day: `with it, the merchant would be above the limit of a day in limits.json of the signer: ${RAISE}`,
}
const REFUSED: { readonly [code: string]: string } = {
  approver_too_new:
    'request it again when the approver’s passkey, authenticator app or role is 24 hours old, or let another owner or admin approve',
  approval_expired:
    'its code reached the signer after more than 15 minutes: keep the signer running, and request it again or approve with a passkey',
}
