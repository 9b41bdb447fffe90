import { BlockPruned, ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import { AddressSet } from '../chain/address-set.ts'
import type { BlockSource } from '../chain/utxo/block-source.ts'
import { openBlocks } from '../chain/utxo/open-provider.ts'
import { keyspaceOfNetwork } from '../core/assets.ts'
import type { NetworkState } from '../db/chain/network-state.ts'
import {
  type BlockWithTransfers,
  type BookedCoin,
  type Finding,
  firstDepositAt,
  type HeldMoney,
  listBlocksWithTransfers,
  listBookedCoins,
  listSpentCoins,
  listTransfersInBlocks,
  type SpentCoin,
  streamDepositAddresses,
  type TransferOnChain,
} from '../db/ledger/audit.ts'
import { type ChainNode, isEvmNode, isSolanaNode, isUtxoNode } from '../nodes/chain-nodes.ts'
import { openProviderOf, watchedOf } from '../nodes/open-providers.ts'
import type { Tx } from '../postgres/transaction.ts'
import { systemClock } from '../runtime/clock.ts'
import { listHeld } from './audit-balances.ts'
import type { ChainAudit } from './chain-audit.ts'
import { closeAtStop } from './close-at-stop.ts'

/** The newest blocks are read again in full; below them only the blocks that hold a transfer of ours are asked for. */
const BLOCKS_READ_MAX = 500

/** What the database says of a network's chain, at the moment of the audit. */
export type ChainRecord = {
  readonly state: NetworkState | null
  readonly watched: AddressSet
  /** All that hold a transfer of ours. */
  readonly blocks: readonly BlockWithTransfers[]
  /** Of the newest blocks alone. */
  readonly transfers: readonly TransferOnChain[]
  readonly coins: readonly BookedCoin[]
  readonly spent: readonly SpentCoin[]
  readonly held: readonly HeldMoney[]
  /** When the first address was given out: nothing of ours is on chain before. */
  readonly since: Date | null
}

/** Reads what `auditChain` compares, so that no node is asked inside the transaction. */
export async function readChainRecord(
  tx: Tx,
  node: ChainNode,
  state: NetworkState | null,
): Promise<ChainRecord> {
  const { network } = node
  const keyspace = keyspaceOfNetwork(network)
  const height = state?.height ?? 0
  const watched = new AddressSet()
  const isUtxo = isUtxoNode(node)
  if (isUtxo) for await (const addresses of streamDepositAddresses(tx, keyspace)) watched.add(addresses)
  return {
    state,
    watched,
    blocks: await listBlocksWithTransfers(tx, network, height),
    transfers: isUtxo
      ? await listTransfersInBlocks(tx, network, { from: height - BLOCKS_READ_MAX + 1, to: height })
      : [],
    coins: isUtxo ? await listBookedCoins(tx, network) : [],
    spent: isUtxo ? await listSpentCoins(tx, network) : [],
    held: isEvmNode(node) || isSolanaNode(node) ? await listHeld(tx, node) : [],
    since: await firstDepositAt(tx, keyspace),
  }
}

/**
 * One network's chain against the transfers: every transfer stands in a block of the node's best chain, and
 * every output in the newest blocks that pays one of our addresses is a transfer, with its amount, once. Blocks
 * above the checkpoint are the watcher's to read and not ours to judge.
 */
export async function auditChain(
  node: ChainNode,
  record: ChainRecord,
  stop: AbortSignal,
): Promise<ChainAudit> {
  const { state, transfers, watched } = record
  if (!isUtxoNode(node)) {
    return auditPlaces(node, record, stop)
  }
  if (state === null || state.height === null || state.hash === null) {
    return { kind: 'not_checked', reason: 'the watcher has not read this network yet' }
  }
  const provider = openBlocks(node, watched)
  const chain = provider.blocks
  const close = closeAtStop(provider, stop)
  try {
    if ((await chain.hashAt(state.height)) !== state.hash) {
      return {
        kind: 'not_checked',
        reason: 'the chain is being reorganised: run the audit again in a moment',
      }
    }
    const from = Math.max(1, state.height - BLOCKS_READ_MAX + 1)
    const newest = await readNewest(chain, { from, to: state.height, since: record.since })
    const findings = [
      ...(await misplaced(chain, record.blocks)),
      ...unrecorded(node, transfers, newest.outputs),
      ...invented(transfers, newest),
    ]
    const unchecked = newest.isCut
      ? `the node has pruned its blocks below ${newest.from}: ${PLACES_ALONE}`
      : null
    return { kind: 'checked', blocksRead: newest.blocks, findings, unchecked }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return { kind: 'not_checked', reason: error.message }
  } finally {
    await close()
  }
}

/** Whether every transfer stands in a block of the node's chain. What else its blocks hold is the second reading's. */
async function auditPlaces(
  node: ChainNode,
  { state, blocks }: ChainRecord,
  stop: AbortSignal,
): Promise<ChainAudit> {
  const provider = openProviderOf(
    node,
    { url: node.rpcUrl, zmqUrl: null, watched: watchedOf(node) },
    { clock: systemClock },
  )
  const close = closeAtStop(provider, stop)
  const older = { count: 0, kept: 0 }
  const chain = {
    hashAt: async (height: number): Promise<string | null> => {
      const hash = await provider.hashAt(height)
      if (hash !== null) return hash
      // Asked after the block was not there, since a node puts its oldest away at any moment.
      if (height >= older.kept) older.kept = (await provider.firstKept?.()) ?? 0
      if (height >= older.kept) return 'none'
      older.count += 1
      return null
    },
  }
  try {
    // Some chains are asked only once the node has said which one it is on.
    await provider.connect()
    if (state?.height == null || (await provider.hashAt(state.height)) !== state.hash) {
      return {
        kind: 'not_checked',
        reason: 'the watcher and the node are not on the same block: run it again',
      }
    }
    const findings = await misplaced(chain, blocks)
    const { kept, count } = older
    const ones = count === 1 ? '1 older one with payments was' : `${count} older ones with payments were`
    const unchecked = count === 0 ? null : `the node keeps blocks from slot ${kept} on: ${ones} not checked`
    return { kind: 'checked', blocksRead: 0, findings, unchecked }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return { kind: 'not_checked', reason: error.message }
  } finally {
    await close()
  }
}

type Output = { readonly key: string; readonly amount: bigint; readonly height: number }
type Newest = {
  readonly from: number
  readonly blocks: number
  readonly outputs: readonly Output[]
  /** Whether the node has thrown those below away. */
  readonly isCut: boolean
}

const PLACES_ALONE = 'of payments there only the block was checked, and none was looked for'

/** From the newest block down, to the first that is older than our first address. */
async function readNewest(
  chain: BlockSource,
  range: { from: number; to: number; since: Date | null },
): Promise<Newest> {
  const outputs: Output[] = []
  // A block's time may be up to two hours off.
  const oldestMs = range.since === null ? Number.POSITIVE_INFINITY : range.since.getTime() - 2 * 3_600_000
  let height = range.to
  let isCut = false
  for (; height >= range.from; height--) {
    const block = await unlessPruned(chain.readBlock(await chain.hashAt(height)))
    isCut = block === null
    if (block === null || block.timeMs < oldestMs) break
    for (const found of block.outputs) {
      outputs.push({ key: `${found.txid}:${found.outputIndex}`, amount: found.amount, height })
    }
  }
  return { from: height + 1, blocks: range.to - height, outputs, isCut }
}

async function unlessPruned<Block>(read: Promise<Block>): Promise<Block | null> {
  try {
    return await read
  } catch (error) {
    if (error instanceof BlockPruned) return null
    throw error
  }
}

/** Nothing can be said of a block whose hash is null. */
async function misplaced(
  chain: { hashAt(height: number): Promise<string | null> },
  blocks: readonly BlockWithTransfers[],
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { height, hash, transfers, merchantId, id } of blocks) {
    const found = await chain.hashAt(height)
    if (found === null || found === hash) continue
    const others = transfers === 1 ? '' : `, as ${transfers - 1} more do`
    findings.push({
      merchantId,
      subject: id,
      detail: `stands in block ${hash}${others}, which is not on the node's chain`,
    })
  }
  return findings
}

function unrecorded(
  node: ChainNode,
  recorded: readonly TransferOnChain[],
  outputs: readonly Output[],
): Finding[] {
  const amounts = new Map(
    recorded.map((transfer) => [`${transfer.txid}:${transfer.outputIndex}`, transfer.amount]),
  )
  return outputs.flatMap(({ key, amount, height }): Finding[] => {
    const known = amounts.get(key)
    if (known === amount) return []
    const detail =
      known === undefined
        ? `${amount} in block ${height} pays an address of ours and is not recorded`
        : `is recorded with ${known} and the chain says ${amount}`
    return [{ merchantId: null, subject: `${node.network} ${key}`, detail }]
  })
}

function invented(recorded: readonly TransferOnChain[], newest: Newest): Finding[] {
  const onChain = new Set(newest.outputs.map(({ key }) => key))
  return recorded
    .filter(
      ({ height, txid, outputIndex }) => height >= newest.from && !onChain.has(`${txid}:${outputIndex}`),
    )
    .map(({ merchantId, id, height }) => ({
      merchantId,
      subject: id,
      detail: `is recorded in block ${height}, which does not hold it`,
    }))
}
