import { type PrivateChain, type Realm, realmOf } from '../../core/chain/realm.ts'
import {
  isInRealm,
  UTXO_PARAMETERS,
  type UtxoChain,
  type UtxoParameters,
} from '../../core/chain/utxo-parameters.ts'
import { ChainHalted } from '../adapter.ts'

/** The parameters of a chain where a network of this realm is on it. Throws `ChainHalted` where it may not be. */
export function requireRealm(
  known: UtxoParameters,
  node: { readonly realm: Realm; readonly setting: string; readonly who: string },
): UtxoParameters {
  const { realm, setting, who } = node
  const found = UTXO_PARAMETERS.find(
    (each) => each.chain === known.chain && each.genesisHash === known.genesisHash && isInRealm(each, realm),
  )
  if (found !== undefined && known.name !== 'staging') return found
  throw new ChainHalted(`${setting} is ${FOR[realm](`its ${who} is on the`, known.name)}`)
}

/** The network that an Esplora server is asked about. */
export type EsploraNetwork = {
  readonly chain: UtxoChain
  readonly livemode: boolean
  /** Present where the network is on a private chain in the place of live money's. */
  readonly privateChain?: PrivateChain | null
  /** The name under which the operator configured the server. */
  readonly setting: string
}

/** The chain with this genesis block. Throws `ChainHalted` where it is unknown or may not be this network's. */
export function recognizeGenesis(network: EsploraNetwork, genesisHash: string): UtxoParameters {
  const { chain, privateChain, setting } = network
  const known = UTXO_PARAMETERS.find((each) => each.chain === chain && each.genesisHash === genesisHash)
  if (known === undefined || (privateChain != null && privateChain.genesis !== genesisHash)) {
    throw new ChainHalted(
      `the Esplora server's chain is no ${chain} that is known: its genesis block is ${genesisHash}; correct ${setting}`,
    )
  }
  return requireRealm(known, { realm: realmOf(network), setting, who: 'Esplora server' })
}

const FOR: { readonly [realm in Realm]: (place: string, name: string) => string } = {
  live: (place, name) => `for live money and ${place} chain "${name}": point it to one on "main"`,
  test: (place, name) => `for tests and ${place} live chain "${name}": point it to a test chain`,
  staging: (place, name) =>
    `for staging and ${place} chain "${name}": point it to a private chain ("regtest")`,
}
