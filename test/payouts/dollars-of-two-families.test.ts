import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { ASSETS, type AssetId } from '../../src/core/assets.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { seedAddress, seedMerchant } from '../support/seed.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

/** 12.50375 dollars, and the 12.49625 that are then missing of 25. */
const HALF_USDT = 12_500_000n
const HALF_USDC = 12_498_750n
const rate = (usdPerUnit: string) => ({ usdPerUnit, quotedAt: '2026-11-21T12:00:00.000Z', sources: [] })

let arbitrum: EvmPayoutWorld
let solana: SolanaPayoutWorld
let tenant: Tenant
beforeAll(async () => {
  arbitrum = await EvmPayoutWorld.open('arbitrum', { withUsdt: true })
  // One shop, one database, one signer; two chains.
  solana = await SolanaPayoutWorld.open(arbitrum)
  tenant = await seedMerchant(arbitrum.database)
})
afterAll(async () => {
  await solana?.closeChain()
  await arbitrum?.close()
})

/** What the watcher tells of a payment once its block is final. */
async function record(
  invoiceId: string,
  asset: AssetId,
  amount: bigint,
  at: { txid: string; block: BlockRef },
) {
  const { txid, block } = at
  const fact = {
    network: asset === 'USDC_SOLANA' ? 'solana-test' : 'arbitrum-test',
    txid,
    outputIndex: (ASSETS[asset].token?.outputIndex ?? 0) + (asset === 'USDC_SOLANA' ? 1 : 0),
    asset,
    amount,
    firstSeenMs: block.timeMs,
    minimumConfirmations: 1,
    knownIn: null,
    state: 'block',
    block,
    confirmations: 64,
    tag: 'finalized',
  } as const
  const deps = { pool: arbitrum.database.pools.watcher, clock: () => arbitrum.now }
  await recordTransfers(deps, { tenant, invoiceId, facts: [fact], tipHeight: block.height + 63 })
}

async function payInUsdt(invoiceId: string, address: string): Promise<void> {
  const txid = await arbitrum.pay('USDT_ARBITRUM', address, HALF_USDT)
  await arbitrum.anvil.mine(1)
  type Receipt = { readonly blockNumber: string; readonly blockHash: string }
  const { blockNumber, blockHash } = await arbitrum.anvil.rpc<Receipt>('eth_getTransactionReceipt', [txid])
  const block = { height: Number(blockNumber), hash: blockHash, timeMs: arbitrum.now.getTime() }
  await record(invoiceId, 'USDT_ARBITRUM', HALF_USDT, { txid, block })
}

async function payInUsdc(invoiceId: string, address: string): Promise<void> {
  const txid = await solana.pay('USDC_SOLANA', address, HALF_USDC)
  await solana.solana.mine(1)
  const height = await solana.rpc.slot('confirmed')
  const { blockhash: hash = '' } = (await solana.rpc.blockHead(height)) ?? {}
  await record(invoiceId, 'USDC_SOLANA', HALF_USDC, {
    txid,
    block: { height, hash, timeMs: arbitrum.now.getTime() },
  })
}

test('half in USDT on Arbitrum and half in USDC on Solana is paid once, paid out, and audits clean', async () => {
  const own = await solana.nextAddress()
  const invoice = await arbitrum.openInvoice(tenant, {
    asset: 'USDT_ARBITRUM',
    alsoAccepts: ['USDC_SOLANA'],
    usdCents: 2_500n,
    amount: 24_992_503n,
    rate: rate('1.0003'),
    tokenRates: { USDT: rate('1.0003'), USDC: rate('0.9998') },
    confirmations: { USDT_ARBITRUM: 'safe', USDC_SOLANA: 'finalized' },
    createdAtMs: arbitrum.now.getTime(),
    expiresAtMs: arbitrum.now.getTime() + 3_600_000,
  })
  await seedAddress(arbitrum.database, tenant, invoice.id, { keyspace: 'solana-test', ...own })
  await payInUsdt(invoice.id, invoice.address)
  await payInUsdc(invoice.id, own.address)
  expect(await arbitrum.eventsOf(invoice.id)).toEqual(
    ['payment_detected', 'confirming', 'partially_paid', 'confirming', 'paid'].map(
      (type) => `invoice.${type}`,
    ),
  )
  await Promise.all([arbitrum.fuelHotWallet(), solana.fund()])
  const inUsdt = await arbitrum.payout(tenant, 'USDT_ARBITRUM', '12.5')
  const inUsdc = await solana.payout(tenant, '12.49875', undefined, 'USDC_SOLANA')
  await arbitrum.until(tenant, inUsdt.id, 'confirmed')
  await solana.until(tenant, inUsdc.id, 'confirmed')
  expect(await arbitrum.holds('USDT_ARBITRUM', inUsdt.destination)).toBe(HALF_USDT)
  expect(await solana.holdsTokens('USDC_SOLANA', inUsdc.destination)).toBe(HALF_USDC)
  const { rows } = await arbitrum.database.owner.query(
    `select asset, account, balance from ledger_balance
     where merchant_id = $1 and account <> 'chain' and balance <> 0`,
    [tenant.merchantId],
  )
  expect(rows).toEqual([])
  const findings = (await runAudit(arbitrum.database.owner, [])).flatMap(({ name, findings }) =>
    findings.map(({ detail }) => `${name}: ${detail}`),
  )
  expect(findings).toEqual([])
  expect(await solana.audited()).toEqual([])
})
