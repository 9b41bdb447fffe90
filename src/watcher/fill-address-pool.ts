import { setImmediate } from 'node:timers/promises'
import { encodeAddress } from '../chain/utxo/address.ts'
import { RECEIVE_INDEX_MAX, receivePrograms } from '../chain/utxo/receive-programs.ts'
import type { Clock } from '../clock.ts'
import type { Keyspace } from '../core/assets.ts'
import { type UtxoChain, type UtxoParameters, utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import type { Pool } from '../db/pool.ts'
import { loadAccountKey, takeIndexes } from '../db/queries/account-keys.ts'
import {
  countPool,
  type DerivedAddress,
  deleteForeignPoolAddresses,
  insertPoolAddresses,
} from '../db/queries/address-pool.ts'

export type FillOptions = {
  readonly pool: Pool
  readonly keyspace: Extract<Keyspace, `${UtxoChain}-${'live' | 'test'}`>
  /** Name of the chain's parameters, as its node tells it. */
  readonly parameters: string
  /** How many addresses a full pool holds. */
  readonly target?: number
  /** Told of every program before any transaction can hand it out: what is given out is watched. */
  readonly addToWatched: (programs: readonly Uint8Array[]) => void
  readonly clock: Clock
}

export type Filled =
  | { readonly kind: 'filled'; readonly added: number; readonly discarded: number }
  /** The signer has not published this account yet. */
  | { readonly kind: 'no_account_key' }

export const POOL_TARGET = 200
/** Filling begins when the pool has fallen to half. */
const REFILL_DIVISOR = 2
const BATCH_MAX = 50
/** Tries to take indexes while other fillers take theirs. */
const TAKE_ATTEMPTS_MAX = 20
/** Derivations, of about a millisecond each, between two turns of the event loop. */
const SLICE = 4

/**
 * Fills a keyspace's pool of unassigned addresses up to `target` when it has fallen to half of that. Indexes are
 * taken first and for good: whoever stops between the steps loses indexes, and never uses one twice. Any number
 * of fillers may run at once.
 */
export async function fillAddressPool(options: FillOptions): Promise<Filled> {
  const { pool, keyspace, parameters } = options
  const target = options.target ?? POOL_TARGET
  const known = parametersOf(keyspace, parameters)
  const account = await loadAccountKey(pool, keyspace)
  if (account === null || account.xpub === null) return { kind: 'no_account_key' }
  const discarded = await deleteForeignPoolAddresses(pool, keyspace, parameters)
  const waiting = await countPool(pool, keyspace, parameters, target)
  if (waiting * REFILL_DIVISOR > target) return { kind: 'filled', added: 0, discarded }
  const programAt = receivePrograms(account.xpub)
  const wanted = target - waiting
  for (let added = 0; added < wanted; added += BATCH_MAX) {
    const count = Math.min(BATCH_MAX, wanted - added)
    const first = await takeNextIndexes(options, count)
    const addresses = await deriveAddresses(programAt, known.hrp, first, count)
    options.addToWatched(addresses.map((derived) => derived.program))
    await insertPoolAddresses(pool, keyspace, parameters, addresses, options.clock())
  }
  return { kind: 'filled', added: wanted, discarded }
}

function parametersOf(keyspace: FillOptions['keyspace'], name: string): UtxoParameters {
  const chain = keyspace.startsWith('bitcoin-') ? 'bitcoin' : 'litecoin'
  const parameters = utxoParametersOf(chain, name)
  if (parameters === null || parameters.livemode !== keyspace.endsWith('-live')) {
    throw new Error(`addresses of ${keyspace} cannot be made for the chain ${name}`)
  }
  return parameters
}

async function takeNextIndexes(options: FillOptions, count: number): Promise<number> {
  for (let attempt = 0; attempt < TAKE_ATTEMPTS_MAX; attempt++) {
    const account = await loadAccountKey(options.pool, options.keyspace)
    if (account === null) throw new Error(`the account key of ${options.keyspace} is gone`)
    if (account.nextIndex + count > RECEIVE_INDEX_MAX)
      throw new Error(`${options.keyspace} has no index left`)
    if (await takeIndexes(options.pool, options.keyspace, account.nextIndex, count)) return account.nextIndex
  }
  throw new Error(`no index of ${options.keyspace} could be taken in ${TAKE_ATTEMPTS_MAX} attempts`)
}

async function deriveAddresses(
  programAt: (index: number) => Uint8Array,
  hrp: string,
  first: number,
  count: number,
): Promise<DerivedAddress[]> {
  const addresses: DerivedAddress[] = []
  for (let idx = first; idx < first + count; idx++) {
    if (addresses.length % SLICE === 0) await setImmediate()
    const program = programAt(idx)
    addresses.push({ idx, program, address: encodeAddress(hrp, program) })
  }
  return addresses
}
