import { expect, test } from 'vitest'
import { ASSET_IDS } from '../core/assets.ts'
import { checkPayoutAddress } from './payout-address.ts'
import { testAddressOf } from './test-address.ts'

test.each(ASSET_IDS)('the test address of %s is one that payouts on its sandbox chain may go to', (asset) => {
  const address = testAddressOf(asset)
  const where = { asset, livemode: false, parameters: 'regtest' }
  expect(checkPayoutAddress(address, where)).toEqual({ kind: 'valid', address })
  // Not every chain's address says which network it is for.
  expect(checkPayoutAddress(address, { ...where, livemode: true }).kind).toBe('invalid')
})
