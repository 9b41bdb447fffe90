import {
  type Address,
  getAddressEncoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type ReadonlyUint8Array,
  type Transaction,
  verifySignature,
} from '@solana/kit'
import {
  getTransferSolInstructionDataDecoder,
  SYSTEM_PROGRAM_ADDRESS,
  TRANSFER_SOL_DISCRIMINATOR,
} from '@solana-program/system'
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import type { AssetId, Network } from '../../../core/assets.ts'
import { ID_PREFIXES } from '../../../core/ids.ts'
import { solanaKeyspace } from '../../../signer/solana-addresses.ts'
import { listSweptSources } from '../../store/deposit-owners.ts'
import { listFoundBytes } from '../../store/found-sweeps.ts'
import type { SignedRequest } from '../../store/solana-requests.ts'
import type { TokenSource } from '../../store/solana-token-sweeps.ts'
import { listSignedSweeps } from '../../store/vault-sweeps.ts'
import { isSweepId, type PayoutJournal } from '../payout-journal.ts'
import type { SigningContext } from '../signing-context.ts'
import { unlessFailing } from '../unless-failing.ts'
import type { SolanaSignerAccountKeys } from './solana-accounts.ts'
import { vaultSweepEntryOf } from './solana-sweeps.ts'
import { accountOf, amountMovedBy, listTokens, type TokenTerms } from './token-instructions.ts'

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
  { id, ...row }: SignedRequest & { readonly id: string },
): Promise<void> {
  const read = async () => readOwnSweep(row.raw, keys, await listTokens(signer, network))
  const own = await unlessFailing(signer, { id }, read, null)
  if (own === null || own.txid !== row.txid || signer.journal.entriesOf(id).length > 0) return
  const { asset } = own
  const addresses = own.moves.map(({ from }) => Buffer.from(getAddressEncoder().encode(from)))
  const place = { network, keyspace: solanaKeyspace(network), asset }
  const owners = await listSweptSources(signer.pool, place, addresses)
  const sources = own.moves.flatMap(({ amount }, at): TokenSource[] => {
    const owner = owners.find(({ addressBytes }) => addressBytes.equals(addresses[at] ?? Buffer.alloc(0)))
    return owner === undefined ? [] : [{ index: owner.index, amount }]
  })
  const [first] = owners
  if (first === undefined || sources.length < own.moves.length) return
  if (owners.some(({ merchantId }) => merchantId !== first.merchantId)) return
  const { merchantId } = first
  const nowMs = signer.clock().getTime()
  await signer.journal.append(
    vaultSweepEntryOf({ id, network, asset, merchantId, sources, signed: row, nowMs }),
  )
}

type Move = { readonly asset: AssetId; readonly from: Address; readonly amount: bigint }
type OwnSweep = { readonly txid: string; readonly asset: AssetId; readonly moves: readonly Move[] }

/** What a transaction moves into the vault; null where it is not signed by the fee payer, or does anything else. */
async function readOwnSweep(
  raw: Buffer,
  { feePayer, vault }: SolanaSignerAccountKeys,
  tokens: readonly TokenTerms[],
): Promise<OwnSweep | null> {
  const wire = decodedOf(raw)
  if (wire === null) return null
  const { messageBytes, signatures } = wire
  const signature = signatures[feePayer.address]
  if (signature == null || !(await verifySignature(feePayer.keyPair.publicKey, signature, messageBytes)))
    return null
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  if (!('staticAccounts' in message) || !('instructions' in message)) return null
  const instructions = message.instructions.map(
    ({ programAddressIndex, accountIndices, data }): Instruction => {
      const accounts = (accountIndices ?? []).map((index) => message.staticAccounts[index] ?? vault.address)
      return {
        program: message.staticAccounts[programAddressIndex],
        accounts,
        data: data ?? new Uint8Array(),
      }
    },
  )
  const isCreation = ({ program, accounts }: Instruction) =>
    program === ASSOCIATED_TOKEN_PROGRAM_ADDRESS &&
    tokens.some((token) => accounts[1] === accountOf(vault.address, token))
  const rest = instructions.filter((each) => !isCreation(each))
  const moves = rest.flatMap(
    (each) => lamportsMoved(each, vault.address) ?? tokensMoved(each, vault.address, tokens) ?? [],
  )
  const [first] = moves
  if (first === undefined || moves.length < rest.length) return null
  if (moves.some(({ asset }) => asset !== first.asset)) return null
  return { txid: getBase58Decoder().decode(signature), asset: first.asset, moves }
}

type Instruction = {
  readonly program: Address | undefined
  readonly accounts: readonly Address[]
  readonly data: ReadonlyUint8Array
}

function lamportsMoved({ program, accounts, data }: Instruction, vault: Address): Move | null {
  const [from, to] = accounts
  if (program !== SYSTEM_PROGRAM_ADDRESS || data.length !== TRANSFER.fixedSize) return null
  if (from === undefined || to !== vault) return null
  const { discriminator, amount } = TRANSFER.decode(data)
  return discriminator === TRANSFER_SOL_DISCRIMINATOR ? { asset: 'SOL', from, amount } : null
}

function tokensMoved(
  { program, accounts, data }: Instruction,
  vault: Address,
  tokens: readonly TokenTerms[],
): Move | null {
  const [, mint, to, from] = accounts
  const token = tokens.find((each) => each.program === program && each.mint === mint)
  if (token === undefined || from === undefined || to !== accountOf(vault, token)) return null
  const amount = amountMovedBy(token, data)
  return amount === null ? null : { asset: token.asset, from, amount }
}

/** Null where the bytes are no transaction: a watcher's login may write any. */
function decodedOf(raw: Buffer): Transaction | null {
  try {
    return getTransactionDecoder().decode(raw)
  } catch {
    return null
  }
}
