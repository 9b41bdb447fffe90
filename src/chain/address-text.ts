import type { KeyFamily, Keyspace } from '../core/assets.ts'
import { UTXO_PARAMETERS, type UtxoChain, utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import { encodeEvmAddress } from './evm/address.ts'
import { ownerOf } from './solana/watched-owners.ts'
import { encodeAddress } from './utxo/address.ts'

/**
 * How a keyspace's addresses are written on the chain that `form` names (`addressFormOf`). Throws for a form that
 * belongs to the other mode's chains.
 */
export function addressWriter(keyspace: Keyspace, form: string): (addressBytes: Uint8Array) => string {
  const { family, livemode } = partsOf(keyspace)
  if (!isUtxoChain(family)) return family === 'evm' ? encodeEvmAddress : ownerOf
  const parameters = utxoParametersOf(family, form)
  if (parameters === null || parameters.livemode !== livemode) {
    throw new Error(`addresses of ${keyspace} cannot be made for the chain ${form}`)
  }
  return (addressBytes) => encodeAddress(parameters.hrp, addressBytes)
}

/** Whether `address` pays `addressBytes` on one of the keyspace's chains, and is written as Paylink writes it. */
export function isAddressOf(keyspace: Keyspace, addressBytes: Uint8Array, address: string): boolean {
  const { family, livemode } = partsOf(keyspace)
  const forms = isUtxoChain(family)
    ? UTXO_PARAMETERS.filter((one) => one.chain === family && one.livemode === livemode).map(
        ({ name }) => name,
      )
    : [family]
  return forms.some((form) => addressWriter(keyspace, form)(addressBytes) === address)
}

function partsOf(keyspace: Keyspace): { family: KeyFamily; livemode: boolean } {
  const [family, mode] = keyspace.split('-') as [KeyFamily, 'live' | 'test']
  return { family, livemode: mode === 'live' }
}

const isUtxoChain = (family: KeyFamily): family is UtxoChain => family === 'bitcoin' || family === 'litecoin'
