import type { Network } from '../../src/core/assets.ts'
import type { PaymentStatus } from '../../src/core/invoice/types.ts'
import type { TestDatabase } from './database.ts'
import { seedMerchant } from './seed.ts'

type SeededTransfer = {
  readonly id: string
  readonly status: PaymentStatus
  readonly height: number | null
  readonly count: number | null
  readonly mark: 'safe' | 'finalized' | null
  /** The chain that the network was on when it was read; null where that is the one of today. */
  readonly left: string | null
}

/** Transfers of a new merchant, written as they are, to invoices that do not exist. */
export async function seedTransfers(
  database: TestDatabase,
  network: Network,
  transfers: readonly SeededTransfer[],
): Promise<void> {
  const { merchantId } = await seedMerchant(database)
  const owner = await database.owner.connect()
  try {
    // Without foreign keys.
    await owner.query('set session_replication_role = replica')
    await owner.query(
      `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
         first_seen_at, detected_at, confirmed_at, block_height, block_hash, block_time, confirmations_required, finality_mark,
         late, dust, announced_confirming, announced_review, ledger_bucket, ledger_postings, left_on_chain)
       select $1, id, false, 'inv_' || id, $2, 'tx_' || id, 0, 'USDC_BASE', 1000000, status, now(), now(),
         case when status = 'confirmed' then now() end, height, 'block_' || height,
         case when height is not null then now() end, count, mark, false, false, true, false, 'pending', 1, "left"
       from json_to_recordset($3) as row
         (id text, status text, height bigint, count integer, mark text, "left" text)`,
      [merchantId, network, JSON.stringify(transfers)],
    )
    await owner.query('analyze transfer')
  } finally {
    owner.release(true)
  }
}
