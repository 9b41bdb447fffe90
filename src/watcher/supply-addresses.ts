import { addressWriter } from '../chain/address-text.ts'
import { addressesOf } from '../core/address-batch.ts'
import { addressFormOf, type Keyspace, keyspaceOfNetwork, type Network } from '../core/assets.ts'
import { findNetworksWithAddresses } from '../db/addresses/address-availability.ts'
import { nextBatch, refuseBatch, takeBatch } from '../db/addresses/address-batches.ts'
import { deleteForeignPoolAddresses } from '../db/addresses/address-pool.ts'
import { loadNetworkStates } from '../db/chain/network-state.ts'
import { isConstraintViolation } from '../postgres/constraint-violation.ts'
import { notifyActivity } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Pause } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless, repeat } from '../runtime/repeat.ts'
import { isBatchSigned } from '../secrets/batch-signature.ts'

const INTERVAL_MS = 500
/** A pool is empty for a moment when a network is followed for the first time; that is not worth an alarm. */
const DRY_ROUNDS_MAX = 20

type SupplyOptions = {
  readonly pool: Pool
  readonly networks: readonly Network[]
  readonly clock: Clock
  readonly log: Log
  readonly pause?: Pause
}

/**
 * Keeps the pools of these networks' keyspaces filled, and raises an alarm for each network that has no address to
 * give out. Needs no leadership: any number of processes may do it.
 */
export function supplyAddresses(options: SupplyOptions): { stop(): Promise<void> } {
  const { pause = pauseUnless } = options
  const dry = new Map<Network, number>()
  return repeat(
    async () => {
      await fillAll(options)
      await reportDryPools(options, dry)
    },
    {
      everyMs: INTERVAL_MS,
      // Requests that wait for addresses are not delayed by a rest.
      pause: (stop, ms) => (dry.size > 0 ? pauseUnless : pause)(stop, ms),
      onError: (error) => options.log.error({ err: error }, 'the address pools could not be filled'),
    },
  )
}

async function fillAll({ pool, networks, clock, log }: SupplyOptions): Promise<void> {
  const parametersOf = new Map(
    (await loadNetworkStates(pool)).map(({ network, parameters }) => [network, parameters]),
  )
  const forms = new Map<Keyspace, string>()
  for (const network of networks) {
    const keyspace = keyspaceOfNetwork(network)
    const parameters = parametersOf.get(network) ?? null
    // Its node must first say which chain it is.
    if (parameters !== null) forms.set(keyspace, addressFormOf(keyspace, parameters))
  }
  for (const [keyspace, form] of forms) {
    try {
      await deleteForeignPoolAddresses(pool, keyspace, form)
      const { added } = await takeAddressBatches({ pool, keyspace, form, clock, log })
      // Who follows a network has to load them before they are given out.
      if (added > 0) await notifyActivity(pool)
    } catch (error) {
      log.error({ err: error, keyspace }, 'an address pool could not be filled')
    }
  }
}

/** Logs an error when a network's pool runs dry, and when it has addresses again. */
async function reportDryPools(
  { pool, networks, log }: SupplyOptions,
  dry: Map<Network, number>,
): Promise<void> {
  const ready = await findNetworksWithAddresses(pool)
  for (const network of networks) {
    const rounds = (dry.get(network) ?? 0) + 1
    if (!ready.has(network)) {
      dry.set(network, rounds)
      if (rounds === DRY_ROUNDS_MAX) {
        log.error(
          { network },
          'no deposit address is ready: invoices on this network are refused until one is',
        )
      }
    } else if (dry.delete(network) && rounds > DRY_ROUNDS_MAX) {
      log.info({ network }, 'there are deposit addresses again')
    }
  }
}

/** More never wait: the signer issues none while the pool is full. */
const BATCHES_PER_ROUND = 20

/**
 * Puts the batches that the signer issued into the pool, after checking that it did: an address that somebody wrote
 * into the table would send buyers' money to him. Returns how many addresses came and how many batches were refused.
 */
export async function takeAddressBatches(options: {
  readonly pool: Pool
  readonly keyspace: Keyspace
  readonly form: string
  readonly clock: Clock
  readonly log: Log
}): Promise<{ readonly added: number; readonly refused: number }> {
  const { pool, keyspace, form, clock, log } = options
  const write = addressWriter(keyspace, form)
  let added = 0
  let refused = 0
  for (let round = 0; round < BATCHES_PER_ROUND; round++) {
    const batch = await nextBatch(pool, keyspace)
    if (batch === null) break
    if (batch.batchKey === null || !isBatchSigned(batch, batch.batchKey)) {
      await refuseBatch(pool, keyspace, batch.first, clock())
      refused += 1
      log.error(
        { keyspace, first: batch.first },
        'a batch of addresses is not signed by the signer and was refused: somebody else wrote to the database',
      )
      continue
    }
    const addresses = addressesOf(batch).map((addressBytes) => ({
      addressBytes,
      address: write(addressBytes),
    }))
    try {
      if (await takeBatch(pool, { keyspace, form, first: batch.first }, addresses, clock()))
        added += addresses.length
    } catch (error) {
      if (!isConstraintViolation(error)) throw error
      // It would conflict every time, and block every later batch.
      await refuseBatch(pool, keyspace, batch.first, clock())
      refused += 1
      log.error(
        { err: error, keyspace, first: batch.first },
        'a batch of addresses contradicts what the database holds and was refused: somebody else wrote to the database',
      )
    }
  }
  return { added, refused }
}
