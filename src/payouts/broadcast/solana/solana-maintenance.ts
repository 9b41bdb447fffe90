import { LAMPORTS_PER_SIGNATURE } from '../../../core/payout/solana-fee.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import { newId } from '../../../runtime/new-id.ts'
import { insertFoundBytes, listSweepsWithoutBytes } from '../../store/found-sweeps.ts'
import { listUnsealedVaultSweeps } from '../../store/outcome-seals.ts'
import type { SolanaReading, SolanaSignerAccounts } from '../../store/solana-accounts.ts'
import {
  insertMaintenance,
  type MaintenanceTransaction,
  type OpenMaintenance,
} from '../../store/solana-maintenance.ts'
import { endRequest, endUnsignedRequests } from '../../store/solana-requests.ts'
import { UnsealedPages } from '../outcome-sealer.ts'
import { unlessRefused } from '../unless-refused.ts'
import { sendUntilFinal } from './signed-transactions.ts'
import type { SolanaParts } from './solana-parts.ts'
import { VaultSweeps } from './vault-sweeps.ts'
import type { ReadVaultToken } from './vault-tokens.ts'

/** A request left unsigned this long is made again if still needed: the signer may have refused it. */
const UNSIGNED_MS = 3_600_000
/** Sweeps found on the chain whose bytes are fetched in one turn. */
const BYTES_PER_TURN = 5

type Ending = Pick<MaintenanceTransaction, 'id' | 'kind'> & { readonly txid: string }

type Known = { readonly nonces: ReadonlyMap<string, string>; readonly open: readonly OpenMaintenance[] }

/**
 * What has to happen between the signer's own accounts so that payouts can be signed: accounts of nonces, and deposits
 * swept into the vault. It is asked for here and sent from here; the signer signs it. Done twice it does no harm.
 */
export class SolanaMaintenance {
  readonly #parts: SolanaParts
  readonly sweeps: VaultSweeps
  readonly #unsealed: UnsealedPages<{ readonly id: string; readonly txid: string }>
  /** The found sweep after which the next turn fetches bytes. */
  #keptTo = ''
  readonly #alerts = new DeduplicatedLog()

  constructor(parts: SolanaParts) {
    this.#parts = parts
    this.sweeps = new VaultSweeps(parts)
    const { pool, network } = parts
    this.#unsealed = new UnsealedPages(
      (page) => listUnsealedVaultSweeps(pool, network, page),
      ({ id }) => id,
    )
  }

  /** Asks for what payouts under way need. */
  async ask(
    signerAccounts: SolanaSignerAccounts,
    reading: SolanaReading,
    known: Known & { readonly vaultTokens: readonly ReadVaultToken[] },
  ): Promise<void> {
    await this.#requestNonces(signerAccounts, reading, known)
    // What keeps the vault in being comes with its first nonce and before anybody's money: later nobody could tell them apart.
    if (reading.vaultLamports >= reading.rentExempt)
      await this.sweeps.request(signerAccounts, reading, known.vaultTokens)
    await this.#keepFoundBytes()
  }

  /** By its signature in them the signer knows again what its journal has lost; some a turn, those that no node has too. */
  async #keepFoundBytes(): Promise<void> {
    const { pool, network, clock, providers } = this.#parts
    const page = { after: this.#keptTo, limit: BYTES_PER_TURN }
    const found = await listSweepsWithoutBytes(pool, network, page)
    for (const txid of found) {
      const fetched = () => providers.current.transactionBytes(txid)
      const raw = await unlessRefused(this.#parts, { about: txid, alerts: this.#alerts }, fetched)
      if (raw != null) await insertFoundBytes(pool, network, { txid, raw, now: clock() })
    }
    this.#keptTo = found.length < BYTES_PER_TURN ? '' : (found.at(-1) ?? '')
  }

  /** Sends what is signed, ends what is final, and what was not taken in time. */
  async send(open: readonly OpenMaintenance[]): Promise<void> {
    const unsignedBefore = new Date(this.#parts.clock().getTime() - UNSIGNED_MS)
    await this.#endUnsigned(open, unsignedBefore)
    await this.sweeps.sendTokens(unsignedBefore)
    const signed = open.flatMap(({ maintenance, signed: each }) =>
      each === null ? [] : [{ id: maintenance.id, kind: maintenance.kind, ...each }],
    )
    await sendUntilFinal(this.#parts, signed, (maintenance, landed) => this.#end(maintenance, landed))
  }

  async #endUnsigned(open: readonly OpenMaintenance[], requestedBefore: Date): Promise<void> {
    const { pool, network, clock } = this.#parts
    if (open.every(({ signed }) => signed !== null)) return
    await endUnsignedRequests(pool, { table: 'solana_chore', network }, { requestedBefore, now: clock() })
  }

  /** The chain is asked again about what is called landed and nobody sealed. */
  async sealUnsealed(): Promise<void> {
    const { network, clock, providers, sealer, log } = this.#parts
    // One at a time: a name that is none makes a node refuse the whole question.
    for (const { txid } of (await this.#unsealed.next(clock().getTime())) ?? []) {
      const fetched = () => providers.current.statuses([txid])
      const statuses = await unlessRefused(this.#parts, { about: txid, alerts: this.#alerts }, fetched)
      const status = statuses?.get(txid)
      if (status?.isFinal === true && !status.failed) await sealer.landed(txid)
      else if (this.#alerts.isNew(txid, 'unsealed'))
        log.warn({ network, txid }, 'a sweep is called done, and the chain does not have it')
    }
  }

  async #end({ id, kind, txid }: Ending, landed: boolean): Promise<void> {
    const { pool, network, clock, sealer } = this.#parts
    if (landed) await sealer.landed(txid)
    // Without that the signer takes it for taken back.
    else if (kind === 'reclaim') await sealer.failed(id, [txid])
    await endRequest(pool, { table: 'solana_chore', network, id }, { landed, now: clock() })
  }

  /** One account at a time, as long as the fee payer can make it. */
  async #requestNonces(
    { nonceAccounts }: SolanaSignerAccounts,
    reading: SolanaReading,
    known: Known,
  ): Promise<void> {
    const { pool, network, clock } = this.#parts
    if (known.open.some(({ maintenance }) => maintenance.kind === 'nonce')) return
    const place = nonceAccounts.findIndex((account) => !known.nonces.has(account))
    if (place === -1) return
    // The vault's own part, so that it exists whatever goes out of it.
    const vaultLamports =
      reading.vaultLamports < reading.rentExempt ? reading.rentExempt - reading.vaultLamports : 0n
    const costs = reading.nonceRentExempt + vaultLamports + LAMPORTS_PER_SIGNATURE + reading.rentExempt
    if (reading.feePayerLamports < costs) return
    const now = clock()
    await insertMaintenance(
      pool,
      network,
      { kind: 'nonce', id: newId('maintenance', now), place, vaultLamports },
      now,
    )
  }
}
