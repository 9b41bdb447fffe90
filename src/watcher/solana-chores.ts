import { SolanaCallFailed, type SolanaRpc } from '../chain/solana/solana-rpc.ts'
import { ownerOf } from '../chain/solana/watched-owners.ts'
import type { Clock } from '../clock.ts'
import { keyspaceOfNetwork, type Network } from '../core/assets.ts'
import { LAMPORTS_PER_SIGNATURE } from '../core/payout/solana-fee.ts'
import type { Pool } from '../db/pool.ts'
import {
  endSolanaChore,
  insertSolanaChore,
  listOpenChores,
  listSweepCandidates,
  listSweepNeeds,
  type OpenChore,
  type SignedChore,
  type SweepSource,
} from '../db/queries/solana-chores.ts'
import type { SolanaHouse, SolanaReading } from '../db/queries/solana-house.ts'
import type { Tenant } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import { newId } from '../new-id.ts'

/** Chores that have not ended, at most. */
const OPEN_MAX = 50
/** Deposit addresses looked at in one turn: one call's worth. */
const CANDIDATES_MAX = 100
/** A packet holds so many sources beside the fee payer. */
const SOURCES_MAX = 9

type Parts = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly rpc: SolanaRpc
}

/**
 * What has to happen between the signer's own accounts so that payouts can be signed: accounts of nonces, and deposits
 * swept into the vault. It is asked for here and sent from here; the signer signs it. Done twice it does no harm.
 */
export class SolanaChores {
  readonly #parts: Parts
  /** Addresses that hold less than the books say, of which an alarm was raised. */
  readonly #told = new Set<string>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async carry(
    house: SolanaHouse,
    reading: SolanaReading,
    nonces: ReadonlyMap<string, string>,
  ): Promise<void> {
    const { pool, network } = this.#parts
    await this.#send(await listOpenChores(pool, network, OPEN_MAX))
    const open = await listOpenChores(pool, network, OPEN_MAX)
    await this.#askForNonces(house, reading, { nonces, open })
    await this.#askForSweeps(reading)
  }

  /** Sends what is signed, ends what is final, and what was not taken in time. */
  async #send(open: readonly OpenChore[]): Promise<void> {
    const signed = open.flatMap(({ chore, signed: each }) =>
      each === null ? [] : [{ id: chore.id, ...each }],
    )
    if (signed.length === 0) return
    const { rpc } = this.#parts
    // Before the statuses: what is in no final block by then, and is too old for any later one, is in none.
    const height = await rpc.blockHeight('finalized')
    const statuses = await rpc.statuses(signed.map(({ txid }) => txid))
    for (const chore of signed) {
      const status = statuses.get(chore.txid)
      if (status?.isFinal === true) await this.#end(chore.id, !status.failed)
      else if (status === undefined && height > chore.lastValidHeight) await this.#end(chore.id, false)
      else if (status === undefined) await this.#offer(chore)
    }
  }

  async #offer({ id, raw }: SignedChore & { readonly id: string }): Promise<void> {
    try {
      await this.#parts.rpc.sendTransaction(raw)
    } catch (error) {
      if (!(error instanceof SolanaCallFailed)) throw error
      // It is offered again until its blockhash is too old, and asked for anew then.
      this.#parts.log.debug({ err: error, chore: id }, 'a node does not take what keeps payouts going')
    }
  }

  async #end(id: string, landed: boolean): Promise<void> {
    const { pool, network, clock } = this.#parts
    await endSolanaChore(pool, network, id, { landed, now: clock() })
  }

  /** One account at a time, as long as the fee payer can make it. */
  async #askForNonces(
    { nonceAccounts }: SolanaHouse,
    reading: SolanaReading,
    known: { readonly nonces: ReadonlyMap<string, string>; readonly open: readonly OpenChore[] },
  ): Promise<void> {
    const { pool, network, clock } = this.#parts
    if (known.open.some(({ chore }) => chore.kind === 'nonce')) return
    const place = nonceAccounts.findIndex((account) => !known.nonces.has(account))
    if (place === -1) return
    // The vault's own part, so that it exists whatever goes out of it.
    const vaultLamports =
      reading.vaultLamports < reading.rentExempt ? reading.rentExempt - reading.vaultLamports : 0n
    const costs = reading.nonceRentExempt + vaultLamports + LAMPORTS_PER_SIGNATURE + reading.rentExempt
    if (reading.feePayerLamports < costs) return
    const now = clock()
    await insertSolanaChore(
      pool,
      network,
      { kind: 'nonce', id: newId('chore', now), place, vaultLamports },
      now,
    )
  }

  /** As much as each merchant's payouts need and the vault does not hold, from the richest addresses, all that lies on each. */
  async #askForSweeps(reading: SolanaReading): Promise<void> {
    const { pool, network, clock } = this.#parts
    const keyspace = keyspaceOfNetwork(network)
    let payable = reading.feePayerLamports - reading.rentExempt
    for (const need of await listSweepNeeds(pool, { network, keyspace })) {
      let { missing } = need
      const sources: SweepSource[] = []
      for (const source of await this.#ready(need.tenant)) {
        if (missing <= 0n) break
        sources.push(source)
        missing -= source.lamports
      }
      for (let at = 0; at < sources.length; at += SOURCES_MAX) {
        const some = sources.slice(at, at + SOURCES_MAX)
        payable -= LAMPORTS_PER_SIGNATURE * BigInt(some.length + 1)
        if (payable < 0n) return
        const now = clock()
        await insertSolanaChore(pool, network, { kind: 'sweep', id: newId('chore', now), sources: some }, now)
      }
    }
  }

  /**
   * Addresses that hold exactly what the books say. More is a payment that was not recorded yet, and is left alone until
   * it is: an address that was emptied would no longer tell of it.
   */
  async #ready(tenant: Tenant): Promise<SweepSource[]> {
    const { pool, network, rpc, log } = this.#parts
    const place = { network, keyspace: keyspaceOfNetwork(network), limit: CANDIDATES_MAX }
    const candidates = await listSweepCandidates(pool, tenant, place)
    if (candidates.length === 0) return []
    const addresses = candidates.map(({ program }) => ownerOf(program))
    const accounts = await rpc.finalizedAccounts(addresses)
    return candidates.flatMap(({ index, expected }, at): SweepSource[] => {
      const lamports = accounts[at]?.lamports ?? 0n
      if (lamports === expected) return [{ index, lamports }]
      const owner = addresses[at] ?? ''
      if (lamports < expected && !this.#told.has(owner)) {
        this.#told.add(owner)
        log.error(
          { network, owner, lamports: lamports.toString(), expected: expected.toString() },
          'a deposit address holds less than was paid to it',
        )
      }
      return []
    })
  }
}
