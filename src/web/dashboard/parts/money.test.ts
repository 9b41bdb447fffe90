import { expect, test } from 'vitest'
import { COIN_NAMES, coins } from './money.ts'

test("an amount of one coin never reads like another's: a coin on several chains names its chain", () => {
  const amounts = [...COIN_NAMES, 'WSOL' as const].map((coin) => coins('0.002', coin))
  expect(new Set(amounts).size).toBe(amounts.length)
  expect(amounts).toContain('0.002 ETH on Base')
})
