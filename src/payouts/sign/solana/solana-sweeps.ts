import { createHash } from 'node:crypto'
import type { Instruction } from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import { type AssetId, isToken, type Network, networkOf } from '../../../core/assets.ts'
import { SWEEP_SOURCES_MAX, TOKEN_SWEEP_SOURCES_MAX } from '../../../core/payout/solana-fee.ts'
import { isDepositIndex, solanaKeyspace } from '../../../signer/solana-addresses.ts'
import { listSweptSources, type SweptSource } from '../../store/deposit-owners.ts'
import type { SolanaReading } from '../../store/solana-accounts.ts'
import type { SignedRequest } from '../../store/solana-requests.ts'
import type { TokenSource } from '../../store/solana-token-sweeps.ts'
import { alert } from '../alert.ts'
import { isVaultSweepEntry, type VaultSweepEntry } from '../journal-lines.ts'
import { isSweepId } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import { unlessFailing } from '../unless-failing.ts'
import { type SolanaSignerAccountKeys, signerOf, signWithBlockhash } from './solana-accounts.ts'
import { createAccount, readTokenTerms, transfer } from './token-instructions.ts'

/** What is asked for: whose addresses, by their indexes, and how much of each; base units. */
type AskedSweep = {
  readonly id: string
  readonly asset: AssetId
  readonly sources: readonly TokenSource[]
}

/** What the chain's programs hold an amount in. */
const U64_MAX = 2n ** 64n - 1n

type VaultSweepTask = {
  readonly network: Network
  readonly keys: SolanaSignerAccountKeys
  readonly sweep: AskedSweep
  readonly reading: SolanaReading
}

/**
 * Moves deposits of one merchant into the vault, whatever the sweep says; the journal has it before anybody else. Null where
 * it is not worth what the books say lies there, or its token's issuer lets nothing be moved.
 */
export async function signVaultSweep(
  signer: SigningContext,
  task: VaultSweepTask,
): Promise<SignedRequest | null> {
  const { network, keys, sweep, reading } = task
  const { id, asset, sources } = sweep
  const before = signer.journal.entriesOf(id).find(isVaultSweepEntry)
  if (before !== undefined) return signedMaintenanceOf(before)
  const merchantId = isSweepId(id) ? await merchantOf(signer, network, sweep) : null
  if (merchantId === null) {
    alert(signer, { id }, 'a sweep was asked for that is not of deposits of one merchant')
    return null
  }
  const build = async () => {
    const moves = await movesOf(signer, task)
    return moves === null ? null : signWithBlockhash(keys.feePayer, moves, reading)
  }
  const built = await unlessFailing(signer, { id }, build, null)
  if (built === null) return null
  const signed = { ...built, lastValidHeight: reading.lastValidHeight }
  const nowMs = signer.clock().getTime()
  const entry = vaultSweepEntryOf({ id, network, asset, merchantId, sources, signed, nowMs })
  await signer.reached?.('before_journal')
  await signer.journal.append(entry)
  await signer.reached?.('after_journal')
  return signed
}

/** Where the vault's account of a token is missing, its first sweep creates it. */
async function movesOf(
  signer: SigningContext,
  { network, keys, sweep }: VaultSweepTask,
): Promise<Instruction[] | null> {
  const { asset, sources } = sweep
  const { feePayer, vault } = keys
  const token = isToken(asset) ? await readTokenTerms(signer, network, asset) : null
  if (isToken(asset) && token === null) return null
  const keyspace = solanaKeyspace(network)
  const moves = await Promise.all(
    sources.map(async ({ index, amount }) => {
      const from = await signerOf(signer.solana.keyAt(keyspace, index))
      return token === null
        ? getTransferSolInstruction({ source: from, destination: vault.address, amount })
        : transfer(token, { from, to: vault.address, amount })
    }),
  )
  return token === null ? moves : [createAccount(feePayer, vault.address, token), ...moves]
}

const signedMaintenanceOf = (entry: VaultSweepEntry): SignedRequest => ({
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
  { asset, sources }: AskedSweep,
): Promise<string | null> {
  if (!sources.every(({ index }) => isDepositIndex(index))) return null
  const most = isToken(asset) ? TOKEN_SWEEP_SOURCES_MAX : SWEEP_SOURCES_MAX
  if (
    sources.length === 0 ||
    sources.length > most ||
    networkOf(asset, network.endsWith('-live')) !== network
  )
    return null
  const keyspace = solanaKeyspace(network)
  const addresses = sources.map(({ index }) => Buffer.from(solana.ownerAt(keyspace, index)))
  const held = new Map<number, SweptSource>()
  for (const one of await listSweptSources(pool, { network, keyspace, asset }, addresses))
    held.set(one.index, one)
  const merchants = new Set([...held.values()].map(({ merchantId }) => merchantId))
  const isHeld = ({ index, amount }: TokenSource) =>
    amount > 0n && amount <= U64_MAX && (held.get(index)?.expected ?? 0n) >= amount
  const [merchantId] = merchants
  const isOfOne = merchants.size === 1 && held.size === sources.length && sources.every(isHeld)
  return isOfOne && merchantId !== undefined ? merchantId : null
}

/** The line of the journal about a sweep; `raw` is signed. */
export function vaultSweepEntryOf(sweep: {
  readonly id: string
  readonly network: Network
  readonly asset: AssetId
  readonly merchantId: string
  readonly sources: readonly TokenSource[]
  readonly signed: SignedRequest
  readonly nowMs: number
}): VaultSweepEntry {
  const { id, network, asset, merchantId, signed, nowMs } = sweep
  const total = sweep.sources.reduce((sum, { amount }) => sum + amount, 0n)
  const sources = sweep.sources.map(({ index, amount }) => ({ key_index: index, amount: amount.toString() }))
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
      asset,
      amount: total.toString(),
      sources,
    },
  }
}
