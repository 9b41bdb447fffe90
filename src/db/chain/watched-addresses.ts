import {
  type AssetId,
  type KeyFamily,
  type Keyspace,
  keyFamilyOfNetwork,
  type Network,
} from '../../core/assets.ts'
import { formatId, uuidv7 } from '../../core/ids.ts'
import { DISCOVERY_HORIZON_MS } from '../../core/invoice/classify.ts'
import { WINDOW_MS_MAX } from '../../core/payment-rules.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** Rows in memory at a time while a million addresses are loaded. */
const PAGE_ROWS = 10_000

/**
 * All addresses of a keyspace with an index above `afterIndex`, page by page: assigned or not,
 * expired or not, all stay watched for ever. Served by the primary key of address.
 */
export async function* streamAddresses(
  db: Queryable,
  keyspace: Keyspace,
  afterIndex: number,
): AsyncGenerator<{ readonly addresses: Buffer[]; readonly lastIndex: number }> {
  let after = afterIndex
  for (;;) {
    const { rows } = await db.query<{ idx: number; addressBytes: Buffer }>(
      'select idx, program as "addressBytes" from address where keyspace = $1 and idx > $2 order by idx limit $3',
      [keyspace, after, PAGE_ROWS],
    )
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.idx
    yield { addresses: rows.map((row) => row.addressBytes), lastIndex: after }
    if (rows.length < PAGE_ROWS) return
  }
}

/**
 * Indexes of a keyspace below `end` that have no address: taken by whoever stopped before it wrote them, or lost
 * with a backup that was restored. The lowest `limit` of them. Served by the primary key of address.
 */
export async function listMissingIndexes(
  db: Queryable,
  keyspace: Keyspace,
  end: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await db.query<{ idx: number }>(
    `select taken.idx from generate_series(0::bigint, $2::bigint - 1) as taken (idx)
     where not exists (select from address where keyspace = $1 and address.idx = taken.idx)
     order by taken.idx limit $3`,
    [keyspace, end, limit],
  )
  return rows.map((row) => row.idx)
}

type AddressOwner = {
  /** Hex. */
  readonly addressBytes: string
  readonly tenant: Tenant
  readonly invoiceId: string
}

/** Whose these addresses (hex) are; those of no invoice are missing. Served by deposit_address_by_program. */
export async function findAddressOwners(
  db: Queryable,
  keyspace: Keyspace,
  addresses: readonly string[],
): Promise<AddressOwner[]> {
  if (addresses.length === 0) return []
  const { rows } = await db.query<{
    addressBytes: Buffer
    merchant_id: string
    livemode: boolean
    invoice_id: string
  }>(
    `select program as "addressBytes", merchant_id, livemode, invoice_id from deposit_address
     where keyspace = $1 and program = any($2)`,
    [keyspace, addresses.map((addressBytes) => Buffer.from(addressBytes, 'hex'))],
  )
  return rows.map((row) => ({
    addressBytes: row.addressBytes.toString('hex'),
    tenant: { merchantId: row.merchant_id, livemode: row.livemode },
    invoiceId: row.invoice_id,
  }))
}

/**
 * Permanent addresses are always open, and each that is listed costs its network something in every round: an Esplora server
 * a request, an EVM node without traces a balance. Beyond so many, the newest are listed. What comes to others is seen in
 * blocks; only what a contract pays in native coin is not, where the node has no traces. Solana reads blocks for fewer.
 */
const PERMANENT_LISTED_MAX: Readonly<Record<KeyFamily, number>> = {
  bitcoin: 50,
  litecoin: 50,
  evm: 5_000,
  solana: 5_000,
}

/** Unsettled invoices whose horizon has not passed, of a mode ($1), from an id ($2) on, at a moment ($3). */
const RECENT = `merchant cross join lateral (
         select merchant_id, id, asset, also_accepts from invoice
         where invoice.merchant_id = merchant.id and livemode = $1 and invoice.id >= $2
           and status not in ('paid', 'overpaid') and coalesce(cancelled_at, expires_at) > $3
       ) as recent`

function horizonAt(now: Date): { readonly horizon: Date; readonly oldest: string } {
  const horizon = new Date(now.getTime() - DISCOVERY_HORIZON_MS)
  const oldest = uuidv7(horizon.getTime() - WINDOW_MS_MAX, new Uint8Array(10))
  return { horizon, oldest: formatId('invoice', oldest) }
}

/**
 * Addresses that somebody may pay now: permanent ones; those of unsettled invoices until their horizon has passed, and those whose
 * last transfer is not settled; and those that were paid in a block from `fromHeight` on, where blocks that were read
 * before are read again. One probe of invoice_by_mode for each merchant, since ids sort by time; transfer_unsettled;
 * transfer_by_height; deposit_address_by_invoice; deposit_address_permanent.
 */
export async function listOpenAddresses(
  db: Queryable,
  {
    network,
    keyspace,
    now,
    fromHeight = null,
  }: { network: Network; keyspace: Keyspace; now: Date; fromHeight?: number | null },
): Promise<Buffer[]> {
  const { horizon, oldest } = horizonAt(now)
  const { rows } = await db.query<{ addressBytes: Buffer }>(
    `with open as (
       select recent.merchant_id, recent.id from ${RECENT}
       union
       select merchant_id, invoice_id from transfer where network = $4 and status in ('detected', 'confirming')
       union
       select merchant_id, invoice_id from transfer where network = $4 and block_height >= $6
     )
     select deposit_address.program as "addressBytes" from open
     join deposit_address on deposit_address.merchant_id = open.merchant_id
       and deposit_address.invoice_id = open.id and deposit_address.keyspace = $5
     union
     (select program from deposit_address where keyspace = $5 and invoice_id like 'da\\_%' order by idx desc limit $7)`,
    [
      network.endsWith('-live'),
      oldest,
      horizon,
      network,
      keyspace,
      fromHeight,
      PERMANENT_LISTED_MAX[keyFamilyOfNetwork(network)],
    ],
  )
  return rows.map((row) => row.addressBytes)
}

/**
 * In which of these assets each open address may be paid now: those that its invoice takes, at permanent ones all. Served as
 * `listOpenAddresses` is.
 */
export async function listAskedAssets(
  db: Queryable,
  of: {
    readonly network: Network
    readonly keyspace: Keyspace
    readonly assets: readonly AssetId[]
    readonly now: Date
  },
): Promise<{ readonly addressBytes: Buffer; readonly asset: AssetId }[]> {
  const { network, keyspace, assets, now } = of
  const { horizon, oldest } = horizonAt(now)
  const { rows } = await db.query<{ addressBytes: Buffer; asset: AssetId }>(
    `select d.program as "addressBytes", asked.asset from ${RECENT}
     cross join lateral (
       select recent.asset union select jsonb_array_elements_text(recent.also_accepts)) asked (asset)
     join deposit_address d on d.merchant_id = recent.merchant_id and d.invoice_id = recent.id and d.keyspace = $4
     where asked.asset = any ($5)
     union all
     select permanent.program, asset from (select program from deposit_address
       where keyspace = $4 and invoice_id like 'da\\_%' order by idx desc limit $6) permanent cross join unnest($5::text[]) asset`,
    [
      network.endsWith('-live'),
      oldest,
      horizon,
      keyspace,
      assets,
      PERMANENT_LISTED_MAX[keyFamilyOfNetwork(network)],
    ],
  )
  return rows
}
