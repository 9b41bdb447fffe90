import { setImmediate } from 'node:timers/promises'
import { HDKey } from 'micro-key-producer/slip10.js'
import { addressBatchMessage, type SignedBatch } from '../core/address-batch.ts'
import type { Keyspace } from '../core/assets.ts'
import { loadAccountKey } from '../db/addresses/account-keys.ts'
import {
  countUnassigned,
  insertTakenBatch,
  issueBatch,
  nextAddressIndex,
} from '../db/addresses/address-batches.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'

/** How many addresses a full pool holds at first; it is filled again at half of that. */
export const ISSUED_TARGET = 200
/** What is left then has to last until the signer looks again, which at rest takes 30 s, and watchers match what it issued. */
const REFILL_DIVISOR = 2
/** A pool that fell to that within a minute becomes twice as large, up to this. */
const TARGET_MAX = 6_400
const DEMAND_MS = 60_000
const BATCH_MAX = 50
/** A pool is filled in so many rounds: the signer has other work, and each address takes about a millisecond. */
const ROUNDS_TO_FILL = 4
/** Apart from every coin's purpose (BIP43): what signs batches can never be what holds money. */
const BATCH_PURPOSE = 7561

/** A keyspace whose addresses are issued. */
type IssuedKeyspace = {
  readonly keyspace: Keyspace
  /** Coin type (SLIP-44), and 0 for live, 1 for test. */
  readonly batchPath: readonly [coin: number, mode: number]
  /** The witness program, EVM address or Solana owner of an index. Throws beyond the last. */
  readonly addressAt: (index: number) => Uint8Array
}

type Issued = Omit<IssuedKeyspace, 'batchPath'> & {
  readonly batchKey: HDKey
  target: number
  isFilling: boolean
  filledAtMs: number
}

/**
 * Derives every keyspace's addresses and signs batches of them (Ed25519), so that any process that shows an address can
 * verify it is the signer's. Holds private keys: it never leaves the signer.
 */
export class AddressIssuer {
  readonly #keyspaces: ReadonlyMap<Keyspace, Issued>

  /** Below a BIP39 seed. */
  constructor(seed: Uint8Array, keyspaces: readonly IssuedKeyspace[]) {
    const master = HDKey.fromMasterSeed(seed)
    this.#keyspaces = new Map(
      keyspaces.map(({ keyspace, batchPath: [coin, mode], addressAt }) => {
        const batchKey = master.derive(`m/${BATCH_PURPOSE}'/${coin}'/${mode}'`)
        return [
          keyspace,
          { keyspace, addressAt, batchKey, target: ISSUED_TARGET, isFilling: false, filledAtMs: 0 },
        ]
      }),
    )
  }

  /** 32 bytes: published, so that others know what the signer signed. */
  batchKey(keyspace: Keyspace): Uint8Array {
    return this.#of(keyspace).batchKey.publicKeyRaw
  }

  /**
   * Issues a part of what is missing to each pool that has fallen to half of its target. Indexes are taken with the
   * batch, so that a process that stops in between has taken none. Returns how many addresses were issued.
   */
  async issue(pool: Pool, clock: Clock): Promise<number> {
    let count = 0
    for (const issued of this.#keyspaces.values()) {
      const waiting = await countUnassigned(pool, issued.keyspace, { withLeased: false })
      this.#judgeDemand(issued, waiting, clock().getTime())
      if (!issued.isFilling) continue
      const missing = issued.target - waiting
      const part = Math.min(missing, issued.target / ROUNDS_TO_FILL)
      issued.isFilling = part < missing
      for (let left = part; left > 0; left -= BATCH_MAX) {
        const size = Math.min(BATCH_MAX, left)
        const first = (await loadAccountKey(pool, issued.keyspace))?.nextIndex
        if (first === undefined) throw new Error(`the account key of ${issued.keyspace} is gone`)
        if (await issueBatch(pool, await this.#sign(issued, first, size), size, clock())) count += size
      }
    }
    return count
  }

  #judgeDemand(issued: Issued, waiting: number, nowMs: number): void {
    if (issued.isFilling || waiting * REFILL_DIVISOR > issued.target) return
    if (nowMs - issued.filledAtMs < DEMAND_MS) issued.target = Math.min(TARGET_MAX, issued.target * 2)
    issued.isFilling = true
    issued.filledAtMs = nowMs
  }

  /** Signs the addresses that a keyspace has from before they were signed, in the pool and given out. */
  async signExisting(pool: Pool, keyspace: Keyspace, clock: Clock): Promise<void> {
    let from = 0
    for (;;) {
      const first = await nextAddressIndex(pool, keyspace, from)
      if (first === null) return
      await insertTakenBatch(pool, await this.#sign(this.#of(keyspace), first, BATCH_MAX), clock())
      from = first + BATCH_MAX
    }
  }

  async #sign({ keyspace, addressAt, batchKey }: Issued, first: number, size: number): Promise<SignedBatch> {
    const addresses: Uint8Array[] = []
    for (let place = 0; place < size; place++) {
      // Each takes about a millisecond, and the signer has its lock to look after.
      await setImmediate()
      addresses.push(addressAt(first + place))
    }
    const batch = { keyspace, first, addresses: Buffer.concat(addresses) }
    return { ...batch, signature: batchKey.sign(addressBatchMessage(batch)) }
  }

  #of(keyspace: Keyspace): Issued {
    const issued = this.#keyspaces.get(keyspace)
    if (issued === undefined) throw new Error(`no addresses are issued in ${keyspace}`)
    return issued
  }
}
