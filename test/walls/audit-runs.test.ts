import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('no payment is given parts that are no list, which would keep every audit from running', async () => {
  const tenant = await seedMerchant(database)
  const { id } = await seedInvoice(database, tenant)
  await expect(
    database.owner.query(
      `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
         first_seen_at, detected_at, confirmations_required, late, dust, announced_confirming, announced_review, ledger_bucket,
         ledger_postings, is_block_sum, transfers, parts)
       values ($1, 'pay_1', false, $2, 'litecoin-test', repeat('a', 64), 0, 'LTC', 1, 'detected', now(), now(), 1, false, false,
         false, false, 'none', 0, true, 1, '{}')`,
      [tenant.merchantId, id],
    ),
  ).rejects.toThrow(/transfer_parts_are_a_list/)
})
