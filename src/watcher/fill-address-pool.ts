import { setImmediate } from 'node:timers/promises'
import { encodeEvmAddress } from '../chain/evm/address.ts'
import { receiveEvmPrograms } from '../chain/evm/receive-programs.ts'
import { RECEIVE_INDEX_MAX } from '../chain/receive-keys.ts'
import { encodeAddress } from '../chain/utxo/address.ts'
import { receivePrograms } from '../chain/utxo/receive-programs.ts'
import type { Clock } from '../clock.ts'
import type { KeyFamily } from '../core/assets.ts'
import { type UtxoChain, utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import type { Pool } from '../db/pool.ts'
import { loadAccountKey } from '../db/queries/account-keys.ts'
import {
  addPoolAddresses,
  countPool,
  type DerivedAddress,
  deleteForeignPoolAddresses,
} from '../db/queries/address-pool.ts'

/** Keyspaces whose addresses come from an extended public key. */
export type DerivedKeyspace = `${Exclude<KeyFamily, 'solana'>}-${'live' | 'test'}`

type FillOptions = {
  readonly pool: Pool
  readonly keyspace: DerivedKeyspace
  /** How the addresses are written (`addressFormOf`). */
  readonly form: string
  /** How many addresses a full pool holds. */
  readonly target?: number
  readonly clock: Clock
}

type Filled =
  | { readonly kind: 'filled'; readonly added: number; readonly discarded: number }
  /** The signer has not published this account yet. */
  | { readonly kind: 'no_account_key' }

const POOL_TARGET = 200
/** Filling begins when the pool has fallen to half. */
const REFILL_DIVISOR = 2
const BATCH_MAX = 50
/** Batches lost to other fillers before this one leaves the filling to them. */
const ATTEMPTS_MAX = 20
/** Derivations, about a millisecond each, between two turns of the event loop. */
const SLICE = 4

/**
 * Fills a keyspace's pool of unassigned addresses up to `target` once it has fallen to half of that. Any number of
 * fillers may run at once, in any process: an index and its address are taken in one statement, so a filler that
 * stops in between has taken nothing. No address is handed out before the watchers say that they match it.
 */
export async function fillAddressPool(options: FillOptions): Promise<Filled> {
  const { pool, keyspace, form } = options
  const target = options.target ?? POOL_TARGET
  const account = await loadAccountKey(pool, keyspace)
  if (account === null || account.xpub === null) return { kind: 'no_account_key' }
  const addressAt = derivation(keyspace, form, account.xpub)
  const discarded = await deleteForeignPoolAddresses(pool, keyspace, form)
  const waiting = await countPool(pool, keyspace, form, target)
  if (waiting * REFILL_DIVISOR > target) return { kind: 'filled', added: 0, discarded }
  const wanted = target - waiting
  let added = 0
  for (let attempt = 0; attempt < ATTEMPTS_MAX && added < wanted; attempt++) {
    const count = Math.min(BATCH_MAX, wanted - added)
    if (await addBatch(options, addressAt, count)) added += count
  }
  return { kind: 'filled', added, discarded }
}

/** False where another filler took these indexes first. */
async function addBatch(
  { pool, keyspace, form, clock }: FillOptions,
  addressAt: (index: number) => DerivedAddress,
  count: number,
): Promise<boolean> {
  const account = await loadAccountKey(pool, keyspace)
  if (account === null) throw new Error(`the account key of ${keyspace} is gone`)
  const first = account.nextIndex
  if (first + count > RECEIVE_INDEX_MAX) throw new Error(`${keyspace} has no index left`)
  const addresses: DerivedAddress[] = []
  for (let index = first; index < first + count; index++) {
    if (addresses.length % SLICE === 0) await setImmediate()
    addresses.push(addressAt(index))
  }
  return addPoolAddresses(pool, { keyspace, form, first }, addresses, clock())
}

/** Derives a keyspace's addresses from its account key. Throws for a form that belongs to the other mode's chains. */
function derivation(
  keyspace: DerivedKeyspace,
  form: string,
  xpub: string,
): (index: number) => DerivedAddress {
  const [family = '', mode] = keyspace.split('-')
  if (family === 'evm') {
    const programAt = receiveEvmPrograms(xpub)
    return (index) => withText(programAt(index), encodeEvmAddress)
  }
  const parameters = isUtxoChain(family) ? utxoParametersOf(family, form) : null
  if (parameters === null || parameters.livemode !== (mode === 'live')) {
    throw new Error(`addresses of ${keyspace} cannot be made for the chain ${form}`)
  }
  const programAt = receivePrograms(xpub)
  return (index) => withText(programAt(index), (program) => encodeAddress(parameters.hrp, program))
}

const isUtxoChain = (family: string): family is UtxoChain => family === 'bitcoin' || family === 'litecoin'

const withText = (program: Uint8Array, encode: (program: Uint8Array) => string): DerivedAddress => ({
  program,
  address: encode(program),
})
