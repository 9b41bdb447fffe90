import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** The tables of what the signer is asked to sign beside payouts. Each row is signed once, and ends once. */
type Table = 'solana_chore' | 'solana_token_sweep'
type RequestKey = { readonly table: Table; readonly network: Network; readonly id: string }

export type SignedRequest = {
  readonly txid: string
  readonly raw: Buffer
  /** The height of the last block that may include it. */
  readonly lastValidHeight: number
}

/** What a row has of the signature; null while there is none. */
export function signedOf(row: {
  readonly txid: string | null
  readonly raw: Buffer | null
  readonly last_valid_height: number | null
}): SignedRequest | null {
  const { txid, raw, last_valid_height: lastValidHeight } = row
  return txid === null || raw === null || lastValidHeight === null ? null : { txid, raw, lastValidHeight }
}

/** Ends what was requested before then and that nobody has signed. Served by the table's index of what is open. */
export async function endUnsignedRequests(
  db: Queryable,
  { table, network }: Omit<RequestKey, 'id'>,
  { requestedBefore, now }: { readonly requestedBefore: Date; readonly now: Date },
): Promise<void> {
  await db.query(
    `update ${table} set ended_at = $3, landed = false
     where network = $1 and ended_at is null and txid is null and created_at < $2`,
    [network, requestedBefore, now],
  )
}

/** Keeps the signature of a request that has not ended, once. By primary key. */
export async function saveSignedRequest(
  db: Queryable,
  { table, network, id }: RequestKey,
  { txid, raw, lastValidHeight, now }: SignedRequest & { readonly now: Date },
): Promise<void> {
  await db.query(
    `update ${table} set txid = $3, raw = $4, last_valid_height = $5, signed_at = $6
     where network = $1 and id = $2 and txid is null and ended_at is null`,
    [network, id, txid, raw, lastValidHeight, now],
  )
}

/** Records, once, the outcome of a request. By primary key. */
export async function endRequest(
  db: Queryable,
  { table, network, id }: RequestKey,
  { landed, now }: { readonly landed: boolean; readonly now: Date },
): Promise<void> {
  await db.query(
    `update ${table} set ended_at = $3, landed = $4 where network = $1 and id = $2 and ended_at is null`,
    [network, id, now, landed],
  )
}
