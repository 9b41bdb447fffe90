import type { Config } from '../config/config.ts'
import type { Keyspace } from '../core/assets.ts'
import { listAccountKeys } from '../db/addresses/account-keys.ts'
import { listFollowedWithoutAddresses } from '../db/addresses/address-availability.ts'
import { countRefusedBatches, findBatchOf } from '../db/addresses/address-batches.ts'
import { listPooledAddresses } from '../db/addresses/address-pool.ts'
import type { Pool } from '../postgres/pool.ts'
import { createLogger } from '../runtime/log.ts'
import { createIssuedAddresses } from '../secrets/issued-addresses.ts'
import { type Finding, fault, ok } from './finding.ts'

/** The signer keeps no more than some hundred ready. */
const LOOKED_AT_MAX = 2_000

/** Whether there are addresses to give out, and whether they are the signer's. */
export async function inspectAddresses(config: Config, pool: Pool): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const network of await listFollowedWithoutAddresses(pool)) {
    findings.push(
      fault(
        `${network}: no deposit address is ready, and invoices in its coins are refused: see that the signer and the watcher run`,
      ),
    )
  }
  const refused = await countRefusedBatches(pool)
  if (refused > 0) {
    findings.push(
      fault(
        `Addresses: ${refused} batches in the database are not signed by the signer, or clash with addresses that it did not issue, and were refused: find out who writes to it, then delete them (address_batch, refused_at)`,
      ),
    )
  }
  for (const { keyspace } of await listAccountKeys(pool))
    findings.push(await keyspaceFinding(config, pool, keyspace))
  return findings
}

async function keyspaceFinding(config: Config, pool: Pool, keyspace: Keyspace): Promise<Finding> {
  const issued = createIssuedAddresses({ keysPath: config.addressKeysFile, log: createLogger('silent') })
  const waiting = await listPooledAddresses(pool, keyspace, LOOKED_AT_MAX)
  for (const pooled of waiting) {
    if (await issued.isIssued(keyspace, pooled, () => findBatchOf(pool, keyspace, pooled.idx))) continue
    return fault(
      `Addresses of ${keyspace}: number ${pooled.idx} is not given out, and invoices in its coins are refused: ${issued.refusals.reason}. If somebody else wrote it, find out who, then delete the row from table address`,
    )
  }
  return ok(`Addresses of ${keyspace}: ${waiting.length} are ready, each signed by the signer`)
}
