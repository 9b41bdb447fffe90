import { expect, test } from 'vitest'
import { byToken, COIN_NAMES, COINS, coins, excess, networkName, plainName, sumOf } from './money.ts'

test("an amount of one coin never reads like another's: a coin on several chains names its chain", () => {
  const amounts = [...COIN_NAMES, 'WSOL' as const].map((coin) => coins('0.002', coin))
  expect(new Set(amounts).size).toBe(amounts.length)
  expect(amounts).toContain('0.002 ETH on Base')
  expect([coins('5', 'USDT_ETHEREUM'), COINS.USDT_ETHEREUM.name]).toEqual([
    '5.00 USDT on Ethereum',
    'USDT on Ethereum',
  ])
})

test('the networks of one coin stand beside each other in lists', () => {
  const symbols = COIN_NAMES.map((coin) => COINS[coin].symbol)
  const changes = symbols.filter((symbol, at) => symbol !== symbols[at - 1])
  expect(changes).toEqual([...new Set(symbols)])
})

test('a stablecoin has two decimals at least, and never fewer digits than the exact amount', () => {
  expect(['5.5', '20', '0', '-3.1', '5.123456'].map((amount) => coins(amount, 'USDC_ETHEREUM'))).toEqual([
    '5.50 USDC on Ethereum',
    '20.00 USDC on Ethereum',
    '0.00 USDC on Ethereum',
    '-3.10 USDC on Ethereum',
    '5.123456 USDC on Ethereum',
  ])
  expect(coins('0.5', 'LTC')).toBe('0.5 LTC')
})

test('an excess is exact to the last digit', () => {
  expect(excess('0.30000001', '0.1')).toBe('0.20000001')
  expect(excess('1000.000000000000000001', '1000')).toBe('0.000000000000000001')
  expect(excess('79.984', '49.99')).toBe('29.994')
})

test('the networks of one coin stand together, and add up to the last unit', () => {
  const rows = (['USDC_SOLANA', 'LTC', 'ETH_BASE', 'USDC_BASE', 'ETH', 'USDT_POLYGON'] as const).map(
    (asset) => ({
      asset,
    }),
  )
  const groups = byToken(rows).map((group) => group.map(({ asset }) => asset).sort())
  expect(groups).toHaveLength(4)
  expect(groups).toEqual(
    expect.arrayContaining([['LTC'], ['ETH', 'ETH_BASE'], ['USDC_BASE', 'USDC_SOLANA'], ['USDT_POLYGON']]),
  )
  expect(sumOf(['0.1', '0.2', '0.000000000000000001'])).toBe('0.300000000000000001')
  expect(sumOf([])).toBe('0')
  expect([plainName('ETH_BASE'), networkName('ETH_BASE')]).toEqual(['Ether', 'Base'])
})
