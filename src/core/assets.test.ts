import { expect, test } from 'vitest'
import { ASSETS, CHAINS, COINS } from './assets.ts'
import { readableAmount } from './money.ts'
import { TOKEN_SYMBOLS } from './token-symbols.ts'
import { isX402Asset } from './x402/x402-assets.ts'

const tokens = Object.values(ASSETS).flatMap(({ id, chain, token }) =>
  token === null ? [] : [{ id, chain, index: token.outputIndex }],
)

test('each token of a chain is credited at an output of its own', () => {
  for (const chain of CHAINS) {
    const indices = tokens.filter((token) => token.chain === chain).map(({ index }) => index)
    expect(new Set(indices).size, chain).toBe(indices.length)
    expect(indices.every((index) => Number.isInteger(index) && index > 0)).toBe(true)
  }
})

test('every token has a ticker that a request may name without its network', () => {
  const symbols = tokens.map(({ id }) => ASSETS[id].symbol)
  expect(new Set(symbols)).toEqual(new Set(TOKEN_SYMBOLS))
})

test('programs pay by x402 in one token of a chain at most', () => {
  for (const chain of CHAINS) {
    const payable = Object.values(ASSETS).filter(({ id, chain: own }) => own === chain && isX402Asset(id))
    expect(payable.length, chain).toBeLessThan(2)
  }
})

test('a token that was ever paid in keeps its output, which ids of transfers hold', () => {
  const indices = Object.fromEntries(tokens.map(({ id, index }) => [id, index]))
  expect(indices).toMatchObject({ USDC_BASE: 1, USDC_ETHEREUM: 1 })
})

test('each asset has a place of its own among the sums of a block, and keeps it', () => {
  const sums = Object.fromEntries(Object.values(COINS).map(({ id, sumIndex }) => [id, sumIndex]))
  const places = Object.values(sums)
  expect(new Set(places).size).toBe(places.length)
  // Those of dust begin a thousand below.
  expect(places.every((place) => Number.isInteger(place) && place < 0 && place > -1_000)).toBe(true)
  expect(sums).toMatchObject({
    BTC: -1,
    LTC: -2,
    ETH: -3,
    ETH_BASE: -4,
    USDC_BASE: -5,
    SOL: -6,
    USDC_ETHEREUM: -7,
    WSOL: -8,
  })
})

test('an amount of every token reads as dollars do, with two decimals at least', () => {
  for (const symbol of TOKEN_SYMBOLS) expect([symbol, readableAmount('5', symbol)]).toEqual([symbol, '5.00'])
  expect(readableAmount('5', 'LTC')).toBe('5')
})
