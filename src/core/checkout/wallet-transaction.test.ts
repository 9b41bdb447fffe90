import { expect, test } from 'vitest'
import { ASSET_IDS } from '../assets.ts'
import { walletTransaction } from './wallet-transaction.ts'

const ADDRESS = '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B'
const request = (asset: (typeof ASSET_IDS)[number], changes: object = {}) => ({
  asset,
  livemode: true,
  address: ADDRESS,
  amount: 25_000_000n,
  ...changes,
})

test('ether is sent to the address itself, on the chain of its network', () => {
  expect(walletTransaction(request('ETH'))).toEqual({
    chainId: '0x1',
    to: ADDRESS,
    value: '0x17d7840',
    data: '',
  })
  expect(walletTransaction(request('ETH_BASE'))).toMatchObject({ chainId: '0x2105', to: ADDRESS })
})

test('USDC is sent by a call of its contract, which carries address and amount, and no ether', () => {
  expect(walletTransaction(request('USDC_BASE'))).toEqual({
    chainId: '0x2105',
    to: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    value: '0x0',
    data: `0xa9059cbb${'0'.repeat(24)}ab5801a7d398351b8be11c439e05c5b3259aec9b${'0'.repeat(57)}17d7840`,
  })
})

test('an amount of any size is carried whole', () => {
  for (let amount = 1n; amount < 2n ** 128n; amount *= 977n) {
    expect(BigInt(walletTransaction(request('ETH', { amount }))?.value ?? '')).toBe(amount)
    const data = walletTransaction(request('USDC_BASE', { amount }))?.data ?? ''
    expect(data).toMatch(/^0xa9059cbb[0-9a-f]{128}$/)
    expect(BigInt(`0x${data.slice(-64)}`)).toBe(amount)
  }
})

test('a test payment never names a live chain or contract, and a sandbox names its own', () => {
  for (const asset of ['ETH', 'ETH_BASE', 'USDC_BASE'] as const) {
    const sent = walletTransaction(request(asset, { livemode: false }))
    expect(['0x1', '0x2105']).not.toContain(sent?.chainId)
    expect(sent?.to.toLowerCase()).not.toContain('0x8335')
  }
  const identity = { chainId: 31_338, tokenContracts: { USDC: '0x5FbDB2315678afecb367f032d93F642f64180aa3' } }
  expect(walletTransaction(request('USDC_BASE', { livemode: false, identity }))).toMatchObject({
    chainId: '0x7a6a',
    to: identity.tokenContracts.USDC,
  })
})

test('the other coins have no such wallets', () => {
  const others = ASSET_IDS.filter((asset) => walletTransaction(request(asset)) === null)
  expect(others).toEqual(['BTC', 'LTC', 'SOL', 'USDC_SOLANA', 'USDT_SOLANA', 'PYUSD_SOLANA'])
})
