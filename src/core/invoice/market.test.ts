import { expect, test } from 'vitest'
import { assetFault, supportIn } from './market.ts'

const state = { parameters: 'sepolia', status: 'ok', isStalled: false, isWatched: true, minimum: null }
const own = { chainId: 31_337, tokenContracts: { USDT: '0x5FbDB2315678afecb367f032d93F642f64180aa3' } }
const supportWith = (livemode: boolean, evm?: typeof own) =>
  supportIn({ stateOf: () => state, networkFacts: { tipHeightOf: () => 1, identityOf: () => evm } }, livemode)

test('a token whose issuer has none on a test network is unavailable there, and says why', () => {
  expect(supportWith(false)('USDT_ETHEREUM')).toMatchObject({ parameters: null, lacksContract: true })
  expect(supportWith(false)('USDC_ETHEREUM')).toMatchObject({ parameters: 'sepolia', lacksContract: false })
  expect(supportWith(false, own)('USDT_ETHEREUM')).toMatchObject({ lacksContract: false })
  expect(supportWith(true)('USDT_ETHEREUM')).toMatchObject({ lacksContract: false })
  const market = { supportOf: supportWith(false) } as Parameters<typeof assetFault>[0]
  expect(assetFault(market, 'USDT_ETHEREUM')).toMatchObject({
    code: 'asset_unavailable',
    reason: expect.stringContaining('no contract on this test network'),
  })
})
