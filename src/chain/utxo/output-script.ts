import { Address, OutScript } from '@scure/btc-signer'
import {
  isInRealm,
  UTXO_PARAMETERS,
  type UtxoChain,
  type UtxoParameters,
} from '../../core/chain/utxo-parameters.ts'

/** Version bytes of base58 addresses (chainparams.cpp of Bitcoin Core and Litecoin Core). */
const BASE58_VERSIONS = {
  bitcoin: { live: { pubKeyHash: 0x00, scriptHash: 0x05 }, test: { pubKeyHash: 0x6f, scriptHash: 0xc4 } },
  // Litecoin's older scripts begin with Bitcoin's own byte and read as Bitcoin addresses: they are not taken.
  litecoin: { live: { pubKeyHash: 0x30, scriptHash: 0x32 }, test: { pubKeyHash: 0x6f, scriptHash: 0x3a } },
} as const
/** Of private keys in text, which are no addresses; the decoder asks for a byte all the same. */
const WIF = 0xef
const ADDRESS_LENGTH_MAX = 90

type OutputScript = {
  /** The address in its one canonical spelling. */
  readonly address: string
  readonly script: Uint8Array
}

/**
 * The script that an address of a chain's given parameters stands for: P2PKH, P2SH, and segwit of versions 0 and 1 (BIP173,
 * BIP350), checksum verified. Null for anything else, addresses of other networks included.
 */
export function outputScriptOf(
  address: string,
  chain: UtxoChain,
  parameters: Pick<UtxoParameters, 'hrp' | 'name'>,
): OutputScript | null {
  if (address.length > ADDRESS_LENGTH_MAX) return null
  // Bech32 may be written all in upper case (BIP173); base58 may not.
  const isUpper = address === address.toUpperCase() && address.toLowerCase().startsWith(`${parameters.hrp}1`)
  const canonical = isUpper ? address.toLowerCase() : address
  const versions = BASE58_VERSIONS[chain][parameters.name === 'main' ? 'live' : 'test']
  try {
    const decoded = Address({ bech32: parameters.hrp, ...versions, wif: WIF }).decode(canonical)
    return { address: canonical, script: OutScript.encode(decoded) }
  } catch {
    // The decoder throws on a wrong address; to the caller that is a result.
    return null
  }
}

/** The same where a network's parameters are not known yet: whichever of its public chains takes the address. */
export function outputScriptOnAny(address: string, chain: UtxoChain, livemode: boolean): OutputScript | null {
  for (const parameters of UTXO_PARAMETERS) {
    if (parameters.chain !== chain || !isInRealm(parameters, livemode ? 'live' : 'test')) continue
    const found = outputScriptOf(address, chain, parameters)
    if (found !== null) return found
  }
  return null
}
