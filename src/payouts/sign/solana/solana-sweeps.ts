import { createHash } from 'node:crypto'
import { getTransferSolInstruction } from '@solana-program/system'
import type { Network } from '../../../core/assets.ts'
import { SWEEP_SOURCES_MAX } from '../../../core/payout/solana-fee.ts'
import { solanaKeyspace } from '../../../signer/solana-addresses.ts'
import { listSweptSources, type SweptSource } from '../../store/deposit-owners.ts'
import type { SolanaReading } from '../../store/solana-accounts.ts'
import type {
  MaintenanceTransaction,
  SignedMaintenance,
  SweepSource,
} from '../../store/solana-maintenance.ts'
import { alert } from '../alert.ts'
import { isVaultSweepEntry, type VaultSweepEntry } from '../journal-lines.ts'
import { isSweepId } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import { type SolanaSignerAccountKeys, signerOf, signWithBlockhash } from './solana-accounts.ts'

type VaultSweepTask = {
  readonly network: Network
  readonly keys: SolanaSignerAccountKeys
  readonly sweep: Extract<MaintenanceTransaction, { readonly kind: 'sweep' }>
  readonly reading: SolanaReading
}

/**
 * Moves deposits of one merchant into the vault, whatever the sweep says; the journal has it before anybody else. Null where
 * it is not worth what the books say lies there.
 */
export async function signVaultSweep(
  signer: SigningContext,
  task: VaultSweepTask,
): Promise<SignedMaintenance | null> {
  const { network, keys, sweep, reading } = task
  const before = signer.journal.entriesOf(sweep.id).find(isVaultSweepEntry)
  if (before !== undefined) return signedMaintenanceOf(before)
  const keyspace = solanaKeyspace(network)
  const merchantId = isSweepId(sweep.id) ? await merchantOf(signer, network, sweep.sources) : null
  if (merchantId === null) {
    alert(signer, { id: sweep.id }, 'a sweep was asked for that is not of deposits of one merchant')
    return null
  }
  const moves = await Promise.all(
    sweep.sources.map(async ({ index, lamports }) => {
      const source = await signerOf(signer.solana.keyAt(keyspace, index))
      return getTransferSolInstruction({ source, destination: keys.vault.address, amount: lamports })
    }),
  )
  const built = await signWithBlockhash(keys.feePayer, moves, reading)
  const signed = { ...built, lastValidHeight: reading.lastValidHeight }
  const { id, sources } = sweep
  const nowMs = signer.clock().getTime()
  const entry = vaultSweepEntryOf({ id, network, merchantId, sources, signed, nowMs })
  await signer.reached?.('before_journal')
  await signer.journal.append(entry)
  await signer.reached?.('after_journal')
  return signed
}

const signedMaintenanceOf = (entry: VaultSweepEntry): SignedMaintenance => ({
  txid: entry.txid,
  raw: Buffer.from(entry.raw, 'hex'),
  lastValidHeight: entry.last_valid_height,
})

/**
 * Whose deposits these are, by the addresses that the signer derives and who was given each, which nobody who asks for a
 * sweep can write. Null where they are not one merchant's, or hold less by the books than is to be moved.
 */
async function merchantOf(
  { pool, solana }: SigningContext,
  network: Network,
  sources: readonly SweepSource[],
): Promise<string | null> {
  if (sources.length === 0 || sources.length > SWEEP_SOURCES_MAX) return null
  const keyspace = solanaKeyspace(network)
  const addresses = sources.map(({ index }) => Buffer.from(solana.ownerAt(keyspace, index)))
  const held = new Map<number, SweptSource>()
  for (const one of await listSweptSources(pool, { network, keyspace, asset: 'SOL' }, addresses))
    held.set(one.index, one)
  const merchants = new Set([...held.values()].map(({ merchantId }) => merchantId))
  const isHeld = ({ index, lamports }: SweepSource) => (held.get(index)?.expected ?? 0n) >= lamports
  const [merchantId] = merchants
  const isOfOne = merchants.size === 1 && held.size === sources.length && sources.every(isHeld)
  return isOfOne && merchantId !== undefined ? merchantId : null
}

/** The line of the journal about a sweep; `raw` is signed. */
export function vaultSweepEntryOf(sweep: {
  readonly id: string
  readonly network: Network
  readonly merchantId: string
  readonly sources: readonly SweepSource[]
  readonly signed: SignedMaintenance
  readonly nowMs: number
}): VaultSweepEntry {
  const { id, network, merchantId, signed, nowMs } = sweep
  const amount = sweep.sources.reduce((sum, { lamports }) => sum + lamports, 0n)
  const sources = sweep.sources.map(({ index, lamports }) => ({
    key_index: index,
    amount: lamports.toString(),
  }))
  return {
    payout_id: id,
    number: 1,
    network,
    // Nobody approves a sweep: what was signed stands for it.
    digest: createHash('sha256').update(signed.raw).digest('hex'),
    txid: signed.txid,
    raw: signed.raw.toString('hex'),
    network_fee: '0',
    from_height: 0,
    last_valid_height: signed.lastValidHeight,
    signed_at: nowMs,
    intent: {
      kind: 'vault_sweep',
      merchant_id: merchantId,
      asset: 'SOL',
      amount: amount.toString(),
      sources,
    },
  }
}
