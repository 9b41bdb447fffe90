import type { Config } from '../config.ts'
import type { Pool } from '../db/pool.ts'
import { loadApprovalKey, loadPinnedApprovalKey } from '../db/queries/approval-keys.ts'
import { countPayoutHolds } from '../db/queries/payout-holds.ts'
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

/** Approved payouts that the signer holds back, by its own files. */
export async function inspectHeldPayouts(pool: Pool): Promise<Finding[]> {
  return (await countPayoutHolds(pool)).map(({ reason, count, until }) => {
    const when = until === null ? '' : `, the first until ${until.toISOString()}`
    return notice(`Payouts: the signer holds back ${count}${when}: ${WHY[reason] ?? reason}`)
  })
}

const WHY: { readonly [reason: string]: string } = {
  destination_new:
    'it has known their destinations for less than a day; if you do not know an address, remove it and find out who added it',
  payouts_in_hour: 'as many payouts were signed as an hour may have',
  value_in_hour: 'with them, a merchant would be above the limit of an hour in limits.json of the signer',
  value_in_day: 'with them, a merchant would be above the limit of a day in limits.json of the signer',
}
