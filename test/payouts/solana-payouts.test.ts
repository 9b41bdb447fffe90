import { afterAll, beforeAll, expect, test } from 'vitest'
import { SOLANA_FEE_MIN } from '../../src/core/payout/solana-fee.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const SOL = 1_000_000_000n

let world: SolanaPayoutWorld
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
}, 60_000)
afterAll(() => world?.close())

test('before its nonces stand nothing can be asked for, and an operator is told that the fee payer is empty', async () => {
  const tenant = await world.openShop([SOL])
  const refused = await world.ask(tenant, { asset: 'SOL', amount: '0.5', address: world.newAddress() })
  expect(refused.kind).toBe('unavailable')
  await world.turn()
  expect(world.logged.join('')).toContain('the fee payer of payouts in SOL runs low')
  await world.prepare()
  expect((await world.house()).reading?.vaultLamports).toBe((await world.house()).reading?.rentExempt)
})

test('what twelve buyers paid is swept into the vault and paid out whole, once; the fee payer is paid back', async () => {
  const amounts = Array.from({ length: 12 }, (_, index) => SOL / 10n + BigInt(index))
  const tenant = await world.openShop(amounts)
  const total = amounts.reduce((sum, each) => sum + each, 0n)
  const payout = await world.payout(tenant, `1.${(total - SOL).toString().padStart(9, '0')}`)
  expect(payout).toMatchObject({ amount: total, networkFee: SOLANA_FEE_MIN })
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds(payout.destination)).toBe(total - SOLANA_FEE_MIN)
  expect(done.networkFee).toBe(SOLANA_FEE_MIN)
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  const { vault, reading } = await world.house()
  expect(await world.holds(vault)).toBe(reading?.rentExempt)
  expect((await world.signedOf(payout.id)).map(({ txid }) => txid)).toEqual([done.txid])
})
