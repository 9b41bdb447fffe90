import { createHash } from 'node:crypto'
import { parseCoinAmount } from '../../src/core/money.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { TestApi, TestMerchant } from '../support/api.ts'
import { inBlock, inMempool } from '../support/invoice.ts'

const LITECOIN_DECIMALS = 8
const CONFIRMATIONS = 24

/** What the watcher would record of one payment in Litecoin: `share` percent of the invoice, waiting or final. */
export async function recordPayment(
  api: TestApi,
  merchant: TestMerchant,
  invoiceId: string,
  state: 'seen' | 'final',
  share = 100n,
): Promise<void> {
  const invoice = await api.call('GET', `/invoices/${invoiceId}`, { key: merchant.testKey })
  const whole = parseCoinAmount(invoice.body.amount, LITECOIN_DECIMALS)
  if (whole === null) throw new Error(`no amount in ${invoice.text}`)
  // The same transaction for the same invoice, waiting at first and then in a block.
  const txid = createHash('sha256').update(invoiceId).digest('hex')
  const amount = (whole * share) / 100n
  const fact = state === 'seen' ? inMempool(txid, amount) : inBlock(txid, amount, CONFIRMATIONS)
  await recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant: { merchantId: merchant.id, livemode: false },
      invoiceId,
      facts: [fact],
      tipHeight: 100 + CONFIRMATIONS,
    },
  )
}
