import { describe, expect, test } from 'vitest'
import { ASSET_IDS, ASSETS } from '../assets.ts'
import { paymentUri } from './payment-uri.ts'

const EVM = '0x52908400098527886E0F7030069857D2E4169EE7'

describe('a payment URI', () => {
  test.each([
    [
      'BTC',
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
      51_234n,
      'bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.00051234',
    ],
    [
      'LTC',
      'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
      41_230_000n,
      'litecoin:ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9?amount=0.4123',
    ],
    ['ETH', EVM, 12_345_678_900_000_000n, `ethereum:${EVM}@1?value=12345678900000000`],
    ['ETH_BASE', EVM, 12_345_678_900_000_000n, `ethereum:${EVM}@8453?value=12345678900000000`],
    [
      'USDC_BASE',
      EVM,
      49_990_000n,
      `ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=${EVM}&uint256=49990000`,
    ],
    [
      'SOL',
      '7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv',
      312_345_678n,
      'solana:7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv?amount=0.312345678',
    ],
    [
      'PYUSD_SOLANA',
      '7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv',
      49_990_000n,
      'solana:7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv?amount=49.99&spl-token=2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo',
    ],
  ] as const)('of %s has the form that wallets read', (asset, address, amount, uri) => {
    expect(paymentUri({ asset, livemode: true, address, amount })).toBe(uri)
  })

  test('keeps bech32 in lower case, because several wallets refuse upper case', () => {
    const address = 'LTC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KGMN4N9'
    expect(paymentUri({ asset: 'LTC', livemode: true, address, amount: 1n })).toBe(
      `litecoin:${address.toLowerCase()}?amount=0.00000001`,
    )
  })

  test('writes amounts without exponent, leading zero or trailing zero at every size', () => {
    for (const asset of ASSET_IDS) {
      for (let amount = 1n; amount < 10n ** 24n; amount *= 7n) {
        const uri = paymentUri({ asset, livemode: true, address: EVM, amount })
        const written = /(?:amount|value|uint256)=([^&]*)/.exec(uri)?.[1] ?? ''
        expect(written).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/)
        if (ASSETS[asset].keyFamily === 'evm') expect(BigInt(written)).toBe(amount)
      }
    }
  })

  test('names no amount where nothing is left to send', () => {
    expect(paymentUri({ asset: 'BTC', livemode: true, address: 'bc1q', amount: 0n })).toBe('bitcoin:bc1q')
    expect(paymentUri({ asset: 'ETH', livemode: true, address: EVM, amount: 0n })).toBe(`ethereum:${EVM}@1`)
    expect(paymentUri({ asset: 'USDC_BASE', livemode: true, address: EVM, amount: 0n })).toMatch(
      /\/transfer\?address=0x[0-9A-F]{40}$/i,
    )
    expect(paymentUri({ asset: 'USDC_SOLANA', livemode: true, address: 'So1', amount: 0n })).toBe(
      'solana:So1?spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    )
  })

  test('of a test invoice never names a live EVM chain or contract', () => {
    for (const asset of ['ETH', 'ETH_BASE', 'USDC_BASE'] as const) {
      const uri = paymentUri({ asset, livemode: false, address: EVM, amount: 5n })
      expect(uri).not.toMatch(/@(1|8453)[?/]|0x8335/)
    }
    const identity = {
      chainId: 31_337,
      tokenContracts: { USDC: '0x5FbDB2315678afecb367f032d93F642f64180aa3' },
    }
    expect(paymentUri({ asset: 'USDC_BASE', livemode: false, address: EVM, amount: 5n, identity })).toBe(
      `ethereum:${identity.tokenContracts.USDC}@31337/transfer?address=${EVM}&uint256=5`,
    )
  })
})

test('a token without a mint on a test network is asked for by its address alone, not as SOL', () => {
  const request = { asset: 'USDT_SOLANA', livemode: false, address: 'So1', amount: 5n } as const
  expect(paymentUri(request)).toBe('solana:So1')
})

test('a token without a contract on a test network is asked for by its address alone', () => {
  const request = { asset: 'USDT_ETHEREUM', livemode: false, address: EVM, amount: 5n } as const
  expect(paymentUri(request)).toBe(`ethereum:${EVM}@11155111`)
  const identity = { chainId: 31_337, tokenContracts: { USDT: '0x5FbDB2315678afecb367f032d93F642f64180aa3' } }
  expect(paymentUri({ ...request, identity })).toBe(
    `ethereum:${identity.tokenContracts.USDT}@31337/transfer?address=${EVM}&uint256=5`,
  )
})
