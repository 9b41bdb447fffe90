import type { PooledAddress, SignedBatch } from '../core/address-batch.ts'
import type { Keyspace } from '../core/assets.ts'
import { listAccountKeys } from '../db/addresses/account-keys.ts'
import { listBatches } from '../db/addresses/address-batches.ts'
import { listAssignedAddresses } from '../db/addresses/address-pool.ts'
import type { Finding } from '../db/ledger/audit.ts'
import type { Tx } from '../postgres/transaction.ts'
import type { AddressKeys } from '../secrets/address-keys.ts'
import { isBatchSigned } from '../secrets/batch-signature.ts'
import { holds } from '../secrets/issued-addresses.ts'

const PAGE = 5_000

export type AddressAudit =
  | { readonly kind: 'checked'; readonly findings: Finding[] }
  | { readonly kind: 'not_checked'; readonly reason: string }

/**
 * Every address that was given to an invoice against the batches that the signer signed; other checks tie invoices to
 * these rows. `keys` are the ones that it wrote beside the database: whoever can write to the database signs with none.
 */
export async function auditAddresses(tx: Tx, keys: AddressKeys | null, limit: number): Promise<AddressAudit> {
  if (keys === null) return { kind: 'not_checked', reason: "the file of the signer's public keys is missing" }
  const findings: Finding[] = []
  for (const { keyspace } of await listAccountKeys(tx)) {
    let page: PooledAddress[] = []
    for (let after = -1; after < 0 || page.length === PAGE; after = page.at(-1)?.idx ?? after) {
      page = await listAssignedAddresses(tx, keyspace, { after, limit: PAGE })
      findings.push(...(await judgePage(tx, { keyspace, key: keys.get(keyspace), page })))
      if (findings.length >= limit) return { kind: 'checked', findings: findings.slice(0, limit) }
      if (page.length === 0) break
    }
  }
  return { kind: 'checked', findings }
}

/** Addresses of one keyspace in the order of their indexes. */
async function judgePage(
  tx: Tx,
  {
    keyspace,
    key,
    page,
  }: { keyspace: Keyspace; key: Uint8Array | undefined; page: readonly PooledAddress[] },
): Promise<Finding[]> {
  const [first, last] = [page[0]?.idx, page.at(-1)?.idx]
  if (first === undefined || last === undefined) return []
  const signed = (await listBatches(tx, keyspace, { from: first, to: last })).filter(
    (batch) => key !== undefined && isBatchSigned(batch, key),
  )
  return page
    .filter((given) => !isOf(signed, keyspace, given))
    .map(({ idx, address }) => ({
      merchantId: null,
      subject: `${keyspace}/${idx}`,
      detail: `is ${address}, which the signer did not sign`,
    }))
}

/** By bisection: a page is of some thousand addresses, in some hundred batches. */
function isOf(signed: readonly SignedBatch[], keyspace: Keyspace, given: PooledAddress): boolean {
  let [low, high] = [0, signed.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((signed[middle]?.first ?? 0) <= given.idx) low = middle + 1
    else high = middle
  }
  const batch = signed[low - 1]
  return batch !== undefined && holds(batch, keyspace, given)
}
