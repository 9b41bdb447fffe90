/**
 * Which chains a network may be on. `live`: live money's own. `test`: public test chains and private ones. `staging`:
 * private ones alone, in the place of live money's, while an operator rehearses.
 */
export type Realm = 'live' | 'test' | 'staging'

/** A private chain in the place of live money's, as the operator of a staging installation names it. */
export type PrivateChain = {
  /** Hash of its first block, as its nodes write it. */
  readonly genesis: string
  /** EIP-155; null on chains that have none. */
  readonly chainId: number | null
}

export function realmOf(of: {
  readonly livemode: boolean
  readonly privateChain?: PrivateChain | null | undefined
}): Realm {
  if (!of.livemode) return 'test'
  return of.privateChain == null ? 'live' : 'staging'
}

/** The realm of a mode's networks in this installation. */
export const realmOfMode = (livemode: boolean, staging: boolean): Realm =>
  livemode ? (staging ? 'staging' : 'live') : 'test'
