import {
  type Address,
  getAddressEncoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Transaction,
  verifySignature,
} from '@solana/kit'
import {
  getTransferSolInstructionDataDecoder,
  SYSTEM_PROGRAM_ADDRESS,
  TRANSFER_SOL_DISCRIMINATOR,
} from '@solana-program/system'
import type { Network } from '../../../core/assets.ts'
import { ID_PREFIXES } from '../../../core/ids.ts'
import { solanaKeyspace } from '../../../signer/solana-addresses.ts'
import { listSweptSources } from '../../store/deposit-owners.ts'
import { listFoundBytes } from '../../store/found-sweeps.ts'
import { listSignedSweeps, type SignedMaintenance, type SweepSource } from '../../store/solana-maintenance.ts'
import { isSweepId, type PayoutJournal } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import type { SolanaSignerAccountKeys } from './solana-accounts.ts'
import { vaultSweepEntryOf } from './solana-sweeps.ts'

/** Sweeps read in one query. */
const BATCH_MAX = 500
const FOUND_PER_TURN = 20
const TRANSFER = getTransferSolInstructionDataDecoder()

const adopted = new WeakMap<PayoutJournal, Set<Network>>()

/**
 * Writes into the journal, once in a process, what was swept into the vault before the journal kept it. That a sweep was
 * signed its own bytes prove, and they say what it moved; the rest of its row counts for nothing.
 */
export async function adoptVaultSweeps(
  signer: SigningContext,
  network: Network,
  keys: SolanaSignerAccountKeys,
): Promise<void> {
  const { pool, journal } = signer
  const done = adopted.get(journal) ?? new Set<Network>()
  if (done.has(network)) return
  for (let after: string | null = ''; after !== null; ) {
    const batch: Awaited<ReturnType<typeof listSignedSweeps>> = await listSignedSweeps(pool, network, {
      after,
      limit: BATCH_MAX,
    })
    for (const sweep of batch)
      if (isSweepId(sweep.id) && !journal.isSwept(sweep.txid)) await adoptOne(signer, network, keys, sweep)
    after = batch.length === BATCH_MAX ? (batch.at(-1)?.id ?? null) : null
  }
  adopted.set(journal, done.add(network))
}

/** Where the next pass over found sweeps continues. */
const looked = new WeakMap<PayoutJournal, Map<Network, string>>()

/**
 * Writes into the journal what a watcher found on the chain that neither the database nor the journal knew, since both were
 * lost or set back: some a turn, by the signer's own signature in it.
 */
export async function adoptFoundSweeps(
  signer: SigningContext,
  network: Network,
  keys: SolanaSignerAccountKeys,
): Promise<void> {
  const { pool, journal } = signer
  const places = looked.get(journal) ?? new Map<Network, string>()
  looked.set(journal, places)
  const page = { after: places.get(network) ?? '', limit: FOUND_PER_TURN }
  const found = await listFoundBytes(pool, network, page)
  for (const { txid, raw } of found) {
    const sweep = { id: `${ID_PREFIXES.maintenance}_${txid}`, txid, raw, lastValidHeight: 0 }
    if (!journal.isSwept(txid)) await adoptOne(signer, network, keys, sweep)
  }
  places.set(network, found.length < FOUND_PER_TURN ? '' : (found.at(-1)?.txid ?? ''))
}

async function adoptOne(
  signer: SigningContext,
  network: Network,
  keys: SolanaSignerAccountKeys,
  { id, ...row }: SignedMaintenance & { readonly id: string },
): Promise<void> {
  const own = await readOwnSweep(row.raw, keys)
  if (own === null || own.txid !== row.txid || signer.journal.entriesOf(id).length > 0) return
  const addresses = own.moves.map(({ from }) => Buffer.from(getAddressEncoder().encode(from)))
  const place = { network, keyspace: solanaKeyspace(network), asset: 'SOL' } as const
  const owners = await listSweptSources(signer.pool, place, addresses)
  const sources = own.moves.flatMap(({ lamports }, at): SweepSource[] => {
    const owner = owners.find(({ addressBytes }) => addressBytes.equals(addresses[at] ?? Buffer.alloc(0)))
    return owner === undefined ? [] : [{ index: owner.index, lamports }]
  })
  const [first] = owners
  if (first === undefined || sources.length < own.moves.length) return
  if (owners.some(({ merchantId }) => merchantId !== first.merchantId)) return
  const { merchantId } = first
  const nowMs = signer.clock().getTime()
  await signer.journal.append(vaultSweepEntryOf({ id, network, merchantId, sources, signed: row, nowMs }))
}

type OwnSweep = {
  readonly txid: string
  readonly moves: readonly { readonly from: Address; readonly lamports: bigint }[]
}

/** What a transaction moves into the vault; null where it is not signed by the fee payer, or does anything else. */
async function readOwnSweep(
  raw: Buffer,
  { feePayer, vault }: SolanaSignerAccountKeys,
): Promise<OwnSweep | null> {
  const wire = decodedOf(raw)
  if (wire === null) return null
  const { messageBytes, signatures } = wire
  const signature = signatures[feePayer.address]
  if (signature == null || !(await verifySignature(feePayer.keyPair.publicKey, signature, messageBytes)))
    return null
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  if (!('staticAccounts' in message) || !('instructions' in message)) return null
  const moves = message.instructions.flatMap(({ programAddressIndex, accountIndices, data }) => {
    const [from, to] = (accountIndices ?? []).map((index) => message.staticAccounts[index])
    const isOfSystem = message.staticAccounts[programAddressIndex] === SYSTEM_PROGRAM_ADDRESS
    if (!isOfSystem || data?.length !== TRANSFER.fixedSize || from === undefined || to !== vault.address)
      return []
    const { discriminator, amount } = TRANSFER.decode(data)
    return discriminator === TRANSFER_SOL_DISCRIMINATOR ? [{ from, lamports: amount }] : []
  })
  if (moves.length === 0 || moves.length < message.instructions.length) return null
  return { txid: getBase58Decoder().decode(signature), moves }
}

/** Null where the bytes are no transaction: a watcher's login may write any. */
function decodedOf(raw: Buffer): Transaction | null {
  try {
    return getTransactionDecoder().decode(raw)
  } catch {
    return null
  }
}
