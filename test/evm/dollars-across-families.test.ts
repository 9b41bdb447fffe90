import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { seedAddress, seedMerchant } from '../support/seed.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'
import type { Watching } from '../support/watched-network.ts'

/** One invoice over 25 dollars, in USDT on Arbitrum One and in USDC on Solana: two real nodes, two addresses. */
const rate = (usdPerUnit: string) => ({ usdPerUnit, quotedAt: '2026-11-21T12:00:00.000Z', sources: [] })
const TERMS = {
  asset: 'USDT_ARBITRUM',
  alsoAccepts: ['USDC_SOLANA'],
  usdCents: 2_500n,
  amount: 24_992_503n,
  rate: rate('1.0003'),
  tokenRates: { USDT: rate('1.0003'), USDC: rate('0.9998') },
  confirmations: { USDT_ARBITRUM: 1, USDC_SOLANA: 1 },
} as const
/** 12.50375 dollars are there, and 12.49625 missing. */
const HALF_USDT = 12_500_000n
const HALF_USDC = 12_498_750n

let arbitrum: WatchedChain<DrivenAnvil>
let solana: DrivenSolana
beforeAll(async () => {
  arbitrum = await WatchedChain.open(evmDriver('USDT_ARBITRUM'))
  solana = await solanaDriver('blocks', 'USDC_SOLANA').start()
})
afterEach(() => arbitrum.stopWatchers())
afterAll(async () => {
  await arbitrum.close()
  await solana.remove()
})

const readAt = async (network: string): Promise<number> => {
  const { rows } = await arbitrum.database.owner.query<{ read_at: Date | null }>(
    'select read_at from network_state where network = $1',
    [network],
  )
  return rows[0]?.read_at?.getTime() ?? 0
}

async function watch(network: 'arbitrum-test' | 'solana-test'): Promise<Watching> {
  const startedAt = Date.now()
  const watching = arbitrum.watch(network === 'arbitrum-test' ? {} : { adapter: solana.adapter() })
  await until(async () => (await readAt(network)) >= startedAt, { what: `${network} is read to its tip` })
  return watching
}

async function open(onArbitrum: Watching, onSolana: Watching) {
  const tenant = await seedMerchant(arbitrum.database)
  const invoice = await arbitrum.openInvoice([onArbitrum], TERMS, tenant)
  const { address, addressBytes } = await solana.newAddress()
  await seedAddress(arbitrum.database, tenant, invoice.id, {
    keyspace: 'solana-test',
    address,
    addressBytes,
  })
  onSolana.adapter.watched.add([addressBytes])
  return { ...invoice, solanaAddress: address }
}

test('half in USDT on Arbitrum and half in USDC on Solana is paid once, and audits clean', async () => {
  const invoice = await open(await watch('arbitrum-test'), await watch('solana-test'))
  await arbitrum.chain.pay(invoice.address, HALF_USDT)
  await arbitrum.chain.mine(1)
  await arbitrum.untilStatus(invoice.id, 'partially_paid')
  const txid = await solana.pay(invoice.solanaAddress, HALF_USDC)
  await solana.mine(2)
  await arbitrum.untilStatus(invoice.id, 'paid')
  expect(await arbitrum.eventsOf(invoice.id)).toEqual([
    ...['payment_detected', 'confirming', 'partially_paid', 'confirming', 'paid'],
  ])
  const { rows } = await arbitrum.database.owner.query(
    `select b.asset, b.balance from ledger_balance b join invoice i using (merchant_id)
     where i.id = $1 and b.account = 'available' order by b.asset`,
    [invoice.id],
  )
  expect(rows).toEqual([
    { asset: 'USDC_SOLANA', balance: HALF_USDC },
    { asset: 'USDT_ARBITRUM', balance: HALF_USDT },
  ])
  const wrong = async () =>
    (await runAudit(arbitrum.database.owner, [])).filter(({ findings }) => findings.length > 0)
  expect(await wrong()).toEqual([])
  // Whoever changes a rate of what was paid is found: the payments then come to another sum.
  const setRates = (rates: object) =>
    arbitrum.database.owner.query('update invoice set token_rates = $2 where id = $1', [invoice.id, rates])
  for (const usdc of ['0.9', '2']) {
    await setRates({ ...TERMS.tokenRates, USDC: rate(usdc) })
    expect((await wrong()).length).toBeGreaterThan(0)
  }
  await setRates(TERMS.tokenRates)
  // The half on Solana leaves its chain: the shop is told, and the other stays where it is.
  await solana.reorganise(2, txid)
  await arbitrum.untilStatus(invoice.id, 'manual_review')
})

test('it expires only once Solana was read past its deadline as well', async () => {
  const onArbitrum = await watch('arbitrum-test')
  const onSolana = await watch('solana-test')
  const invoice = await open(onArbitrum, onSolana)
  await onSolana.stop()
  await arbitrum.endNow([invoice.id])
  await arbitrum.untilRead()
  expect(await arbitrum.statusOf(invoice.id)).toBe('awaiting_payment')
  await watch('solana-test')
  await arbitrum.untilStatus(invoice.id, 'expired')
})
