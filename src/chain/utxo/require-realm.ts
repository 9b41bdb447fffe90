import type { Realm } from '../../core/chain/realm.ts'
import { isInRealm, UTXO_PARAMETERS, type UtxoParameters } from '../../core/chain/utxo-parameters.ts'
import { ChainHalted } from '../adapter.ts'

/** The parameters of a chain where a network of this realm is on it. Throws `ChainHalted` where it may not be. */
export function requireRealm(
  known: UtxoParameters,
  asked: { readonly realm: Realm; readonly setting: string; readonly who: string },
): UtxoParameters {
  const { realm, setting, who } = asked
  const found = UTXO_PARAMETERS.find(
    (each) => each.chain === known.chain && each.genesisHash === known.genesisHash && isInRealm(each, realm),
  )
  if (found !== undefined && known.name !== 'staging') return found
  throw new ChainHalted(`${setting} is ${FOR[realm](`its ${who} is on the`, known.name)}`)
}

const FOR: { readonly [realm in Realm]: (place: string, name: string) => string } = {
  live: (place, name) => `for live money and ${place} chain "${name}": point it to one on "main"`,
  test: (place, name) => `for tests and ${place} live chain "${name}": point it to a test chain`,
  staging: (place, name) =>
    `for staging and ${place} chain "${name}": point it to a private chain ("regtest")`,
}
