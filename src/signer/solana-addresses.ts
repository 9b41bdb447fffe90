import { setImmediate } from 'node:timers/promises'
import { HDKey } from 'micro-key-producer/slip10.js'
import type { Clock } from '../clock.ts'
import { addressBatchMessage } from '../core/address-batch.ts'
import type { Pool } from '../db/pool.ts'
import { loadAccountKey } from '../db/queries/account-keys.ts'
import { countUnassigned, issueBatch } from '../db/queries/address-batches.ts'

export type SolanaKeyspace = 'solana-live' | 'solana-test'
export const SOLANA_KEYSPACES: readonly SolanaKeyspace[] = ['solana-live', 'solana-test']

/** BIP44 purpose and Solana's coin type (SLIP-44); every level is hardened (SLIP-10). */
export const SOLANA_PATH = "m/44'/501'"
/** No test address is ever a live one: the accounts of test mode are the upper half. */
const TEST_ACCOUNTS_FROM = 0x4000_0000
const ACCOUNTS_MAX = 0x4000_0000
/** m/44'/501'/0'/branch': deposit addresses are all in branch 0. */
const HOUSE_BRANCHES = { fee_payer: 1, vault: 2 } as const
/** Apart from every coin's purpose: what signs batches can never be what holds money. */
const BATCH_KEY_PATH = "m/7561'/501'"

/** How many addresses a full pool holds; it is filled again at a fifth of that. */
export const ISSUED_TARGET = 200
const REFILL_DIVISOR = 5
const BATCH_MAX = 50

/** Derives Solana's addresses and signs batches of them. Holds private keys: it never leaves the signer. */
export class SolanaIssuer {
  readonly #coin: HDKey
  readonly #batchKeys: { readonly [keyspace in SolanaKeyspace]: HDKey }

  /** Below a BIP39 seed. */
  constructor(seed: Uint8Array) {
    const master = HDKey.fromMasterSeed(seed)
    this.#coin = master.derive(SOLANA_PATH)
    this.#batchKeys = {
      'solana-live': master.derive(`${BATCH_KEY_PATH}/0'`),
      'solana-test': master.derive(`${BATCH_KEY_PATH}/1'`),
    }
  }

  /** Ed25519, 32 bytes: published, so that others know what the signer signed. */
  batchKey(keyspace: SolanaKeyspace): Uint8Array {
    return this.#batchKeys[keyspace].publicKeyRaw
  }

  /** The owner at m/44'/501'/index'/0', as wallets derive it. */
  ownerAt(keyspace: SolanaKeyspace, index: number): Uint8Array {
    return this.#nodeAt(keyspace, index, 0).publicKeyRaw
  }

  /** That owner's private key, 32 bytes of the caller's own. */
  keyAt(keyspace: SolanaKeyspace, index: number): Uint8Array {
    return Uint8Array.from(this.#nodeAt(keyspace, index, 0).privateKey)
  }

  /** The private key of an account of the signer's own, 32 bytes of the caller's own: beside the first deposit address. */
  houseKey(keyspace: SolanaKeyspace, account: keyof typeof HOUSE_BRANCHES): Uint8Array {
    return Uint8Array.from(this.#nodeAt(keyspace, 0, HOUSE_BRANCHES[account]).privateKey)
  }

  #nodeAt(keyspace: SolanaKeyspace, index: number, branch: number): HDKey {
    if (index >= ACCOUNTS_MAX) throw new Error(`${keyspace} has no index left`)
    const account = keyspace === 'solana-test' ? TEST_ACCOUNTS_FROM + index : index
    return this.#coin.derive(`m/${account}'/${branch}'`)
  }

  sign(keyspace: SolanaKeyspace, first: number, programs: Uint8Array): Uint8Array {
    return this.#batchKeys[keyspace].sign(addressBatchMessage({ keyspace, first, programs }))
  }
}

/**
 * Issues batches where fewer addresses wait than a fifth of the target. Indexes are taken with the batch, so that
 * whoever stops in between has taken none.
 */
export async function issueAddresses(
  pool: Pool,
  issuer: SolanaIssuer,
  clock: Clock,
  target = ISSUED_TARGET,
): Promise<number> {
  let issued = 0
  for (const keyspace of SOLANA_KEYSPACES) {
    const waiting = await countUnassigned(pool, keyspace)
    if (waiting * REFILL_DIVISOR > target) continue
    for (let added = 0; waiting + added < target; added += BATCH_MAX) {
      const account = await loadAccountKey(pool, keyspace)
      if (account === null) throw new Error(`the account key of ${keyspace} is gone`)
      const count = Math.min(BATCH_MAX, target - waiting - added)
      const first = account.nextIndex
      const owners: Uint8Array[] = []
      for (let place = 0; place < count; place++) {
        // Each takes about a millisecond, and the signer has its lock to look after.
        await setImmediate()
        owners.push(issuer.ownerAt(keyspace, first + place))
      }
      const programs = Buffer.concat(owners)
      const signature = issuer.sign(keyspace, first, programs)
      if (await issueBatch(pool, { keyspace, first, programs, signature }, count, clock())) issued += count
    }
  }
  return issued
}
