import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type OpenInvoice, WatchedChain } from '../support/watched-chain.ts'
import type { Watching } from '../support/watched-network.ts'

/** One invoice in USDC that Base and Ethereum may pay, at one address on two real nodes. */
const TERMS = {
  asset: 'USDC_BASE',
  alsoAccepts: ['USDC_ETHEREUM'],
  amount: 25_000_000n,
  confirmations: { USDC_BASE: 1, USDC_ETHEREUM: 2 },
} as const

let base: WatchedChain<DrivenAnvil>
let ethereum: DrivenAnvil
beforeAll(async () => {
  base = await WatchedChain.open(evmDriver('USDC_BASE'))
  ethereum = await evmDriver('USDC_ETHEREUM').start()
})
afterEach(() => base.stopWatchers())
afterAll(async () => {
  await base.close()
  await ethereum.remove()
})

const readAt = async (network: string): Promise<number> => {
  const { rows } = await base.database.owner.query<{ read_at: Date | null }>(
    'select read_at from network_state where network = $1',
    [network],
  )
  return rows[0]?.read_at?.getTime() ?? 0
}

async function watch(network: 'base-test' | 'ethereum-test'): Promise<Watching> {
  const startedAt = Date.now()
  const watching = base.watch(network === 'base-test' ? {} : { adapter: ethereum.adapter() })
  await until(async () => (await readAt(network)) >= startedAt, { what: `${network} is read to its tip` })
  return watching
}

async function open(watching: readonly Watching[], changes = {}): Promise<OpenInvoice> {
  const tenant = await seedMerchant(base.database)
  return base.openInvoice(watching, { ...TERMS, ...changes }, tenant)
}

async function balancesOf(invoiceId: string) {
  const { rows } = await base.database.owner.query<{ asset: string; account: string; amount: bigint }>(
    `select b.asset, b.account, b.balance as amount from ledger_balance b join invoice i using (merchant_id)
     where i.id = $1 and b.account <> 'chain' and b.balance <> 0 order by b.asset, b.account`,
    [invoiceId],
  )
  return rows.map(({ asset, account, amount }) => `${account} ${amount} ${asset}`)
}

test('half on Base and half on Ethereum is paid once, and one half that leaves its chain is told', async () => {
  const watching = [await watch('base-test'), await watch('ethereum-test')]
  const invoice = await open(watching)
  await base.chain.pay(invoice.address, 10_000_000n)
  await base.chain.mine(1)
  await base.untilStatus(invoice.id, 'partially_paid')
  const txid = await ethereum.pay(invoice.address, 15_000_000n)
  await ethereum.mine(2)
  await base.untilStatus(invoice.id, 'paid')
  expect(await base.eventsOf(invoice.id)).toEqual([
    ...['payment_detected', 'confirming', 'partially_paid', 'confirming', 'paid'],
  ])
  expect(await balancesOf(invoice.id)).toEqual([
    'available 10000000 USDC_BASE',
    'available 15000000 USDC_ETHEREUM',
  ])
  const wrong = (await runAudit(base.database.owner, [])).filter(({ findings }) => findings.length > 0)
  expect(wrong).toEqual([])
  await ethereum.reorganise(2, txid)
  await base.untilStatus(invoice.id, 'manual_review')
  expect((await balancesOf(invoice.id))[0]).toBe('available 10000000 USDC_BASE')
})

test('the whole on the other network pays, and more on this one waits for the merchant', async () => {
  const watching = [await watch('base-test'), await watch('ethereum-test')]
  const invoice = await open(watching)
  await ethereum.pay(invoice.address, 25_000_000n)
  await ethereum.mine(2)
  await base.untilStatus(invoice.id, 'paid')
  await base.chain.pay(invoice.address, 25_000_000n)
  await base.chain.mine(1)
  await until(async () => (await base.eventsOf(invoice.id)).includes('manual_review'), {
    what: 'it is told of the second',
  })
  expect(await base.statusOf(invoice.id)).toBe('paid')
  await until(async () => (await balancesOf(invoice.id))[0] === 'suspense 25000000 USDC_BASE', {
    what: 'the second is final',
  })
  expect((await balancesOf(invoice.id)).slice(1)).toEqual(['available 25000000 USDC_ETHEREUM'])
})

test('it expires once every network was read past its deadline, and holds up no other', async () => {
  const onBase = await watch('base-test')
  const onEthereum = await watch('ethereum-test')
  await onEthereum.stop()
  const both = await open([onBase])
  const alone = await open([onBase], { alsoAccepts: [] })
  await base.endNow([both.id, alone.id])
  await base.untilStatus(alone.id, 'expired')
  await base.untilRead()
  expect(await base.statusOf(both.id)).toBe('awaiting_payment')
  await watch('ethereum-test')
  await base.untilStatus(both.id, 'expired')
  const { rows } = await base.database.owner.query(
    `select expiry_reading ->> 'network' as own, expiry_reading -> 'others' -> 0 ->> 'network' as other
     from invoice where id = $1`,
    [both.id],
  )
  expect(rows).toEqual([{ own: 'base-test', other: 'ethereum-test' }])
})
