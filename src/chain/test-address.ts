import { hash } from 'node:crypto'
import { base58 } from '@scure/base'
import { ASSETS, type AssetId } from '../core/assets.ts'
import { utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import { encodeEvmAddress } from './evm/address.ts'
import { encodeAddress } from './utxo/address.ts'

/** Of no known key: what is sent there is lost, which test coins may be. */
const OWNER = hash('sha256', 'paylink/test-address', 'buffer')
const SHORT_BYTES = 20

/** An address of the sandbox chain that an asset is on, to try a payout with. The same on every installation. */
export function testAddressOf(asset: AssetId): string {
  const { keyFamily } = ASSETS[asset]
  switch (keyFamily) {
    case 'bitcoin':
    case 'litecoin': {
      const parameters = utxoParametersOf(keyFamily, 'regtest')
      if (parameters === null) throw new Error(`${keyFamily} has no regtest`)
      return encodeAddress(parameters.hrp, OWNER.subarray(0, SHORT_BYTES))
    }
    case 'evm':
      return encodeEvmAddress(OWNER.subarray(0, SHORT_BYTES))
    case 'solana':
      return base58.encode(OWNER)
  }
}
