import type { Config } from '../config.ts'
import { type IssuedKeyspace, isIssuedKeyspace } from '../core/address-batch.ts'
import type { Pool } from '../db/pool.ts'
import { listAccountKeys } from '../db/queries/account-keys.ts'
import { listFollowedWithoutAddresses } from '../db/queries/address-availability.ts'
import { countRefusedBatches, findBatchOf } from '../db/queries/address-batches.ts'
import { listPooledAddresses } from '../db/queries/address-pool.ts'
import { createLogger } from '../log.ts'
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
        `Addresses: ${refused} batches in the database are not signed by the signer and were refused: find out who writes to it, then delete them (address_batch, refused_at)`,
      ),
    )
  }
  for (const { keyspace } of await listAccountKeys(pool))
    if (isIssuedKeyspace(keyspace)) findings.push(await keyspaceFinding(config, pool, keyspace))
  return findings
}

async function keyspaceFinding(config: Config, pool: Pool, keyspace: IssuedKeyspace): Promise<Finding> {
  const issued = createIssuedAddresses({ keysPath: config.addressKeysFile, log: createLogger('silent') })
  const waiting = await listPooledAddresses(pool, keyspace, LOOKED_AT_MAX)
  for (const pooled of waiting) {
    if (await issued.isIssued(keyspace, pooled, () => findBatchOf(pool, keyspace, pooled.idx))) continue
    return fault(
      `Addresses of ${keyspace}: number ${pooled.idx} is not given out, and SOL is refused: ${issued.refusals.reason}; where somebody wrote it, find out who, and delete the row (address, keyspace and idx)`,
    )
  }
  return ok(`Addresses of ${keyspace}: ${waiting.length} are ready, each signed by the signer`)
}
