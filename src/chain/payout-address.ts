import { base58 } from '@scure/base'
import { ASSETS, type AssetId } from '../core/assets.ts'
import { utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import { encodeEvmAddress, parseEvmAddress } from './evm/address.ts'
import { isChainsOwnAddress } from './solana/chains-own-address.ts'
import { testAddressOf } from './test-address.ts'
import { outputScriptOf, outputScriptOnAny } from './utxo/output-script.ts'

const SOLANA_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const OWNER_BYTES = 32

type CheckedAddress =
  | { readonly kind: 'valid'; readonly address: string }
  /** A sentence for the person who typed it. */
  | { readonly kind: 'invalid'; readonly message: string }

/**
 * Whether money of an asset can be sent to this text in the given mode, and its canonical spelling. `parameters` is the
 * name of the network's chain (`main`, `regtest`); null where it is not known yet.
 */
export function checkPayoutAddress(
  text: string,
  where: { readonly asset: AssetId; readonly livemode: boolean; readonly parameters: string | null },
): CheckedAddress {
  const { asset, livemode, parameters: name } = where
  const { keyFamily, networkName } = ASSETS[asset]
  const wrong = (message: string): CheckedAddress => ({ kind: 'invalid', message })
  if (livemode && text === testAddressOf(asset))
    return wrong('This address is for test money: nobody has its key.')
  switch (keyFamily) {
    case 'bitcoin':
    case 'litecoin': {
      const parameters = name === null ? null : utxoParametersOf(keyFamily, name)
      const found =
        parameters === null
          ? outputScriptOnAny(text, keyFamily, livemode)
          : outputScriptOf(text, keyFamily, parameters)
      if (found !== null) return { kind: 'valid', address: found.address }
      return wrong(
        `This is no ${networkName} address of the ${livemode ? 'live' : 'test'} network, or it has a typing error.`,
      )
    }
    case 'evm': {
      const addressBytes = parseEvmAddress(text)
      if (addressBytes === null) {
        return wrong(`This is no ${networkName} address, or it has a typing error: its letters do not check.`)
      }
      if (addressBytes.every((byte) => byte === 0)) return wrong('What is sent to this address is burnt.')
      const address = encodeEvmAddress(addressBytes)
      // In lower case alone nothing reveals a typing error.
      if (address !== text) {
        return wrong(
          'Copy the address with its upper and lower case letters (EIP-55): they reveal typing errors.',
        )
      }
      return { kind: 'valid', address }
    }
    case 'solana': {
      const owner = SOLANA_ADDRESS.test(text) ? base58.decode(text) : null
      if (owner?.length !== OWNER_BYTES) return wrong('This is no Solana address.')
      // The address of 32 zeros is one of these.
      if (isChainsOwnAddress(text)) {
        return wrong('This address belongs to Solana itself: what is sent there is refused or burnt.')
      }
      return { kind: 'valid', address: text }
    }
  }
}
