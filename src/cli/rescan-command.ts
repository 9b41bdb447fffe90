import { type BlockHistory, type ChainAdapter, ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import type { AddressSet } from '../chain/address-set.ts'
import { encodeEvmAddress } from '../chain/evm/address.ts'
import { EvmAdapter } from '../chain/evm/evm-adapter.ts'
import { receiveEvmAddresses } from '../chain/evm/receive-addresses.ts'
import { SolanaAdapter } from '../chain/solana/solana-adapter.ts'
import { WatchedOwners } from '../chain/solana/watched-owners.ts'
import { encodeAddress } from '../chain/utxo/address.ts'
import { historyOf } from '../chain/utxo/block-source.ts'
import { openBlocks } from '../chain/utxo/open-provider.ts'
import { receiveAddresses } from '../chain/utxo/receive-addresses.ts'
import type { Config } from '../config/config.ts'
import { COINS, type Keyspace, keyspaceOfNetwork, type PaymentAsset } from '../core/assets.ts'
import { utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import { formatCoinAmount } from '../core/money.ts'
import { loadAccountKey } from '../db/addresses/account-keys.ts'
import { loadNetworkState } from '../db/chain/network-state.ts'
import { listMissingIndexes, listOpenAddresses, streamAddresses } from '../db/chain/watched-addresses.ts'
import {
  configuredNodes,
  type EvmChainNode,
  isEvmNode,
  isSolanaNode,
  isUtxoNode,
  type SolanaChainNode,
  type UtxoNode,
} from '../nodes/chain-nodes.ts'
import { watchedOf } from '../nodes/open-providers.ts'
import { openSandboxNodes } from '../nodes/open-sandbox-nodes.ts'
import { loadSolanaSignerAccounts } from '../payouts/store/solana-accounts.ts'
import { createNotifier } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { type RescanReport, requireSameChain, rescanBlocks } from '../watcher/rescan.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { createProgress, type ProgressStream } from './progress-bar.ts'
import { UsageError } from './usage-error.ts'

const AHEAD_MAX = 100_000

export type RescanArguments = {
  readonly network: string
  readonly from: string
  readonly to?: string | undefined
  readonly ahead?: string | undefined
  readonly json: boolean
}

/**
 * `paylink rescan`: reads blocks again that the watcher has passed, against every address ever issued, and records
 * what was missed. Exit code 1 where it could not be done, or where money lies on addresses that nobody knows of.
 */
export async function rescanCommand(
  given: RescanArguments,
  output: Output,
  stream: ProgressStream = process.stderr,
): Promise<number> {
  const range = {
    from: wholeNumber('--from', given.from),
    to: given.to === undefined ? null : wholeNumber('--to', given.to),
    ahead: given.ahead === undefined ? null : wholeNumber('--ahead', given.ahead),
  }
  if (range.from < 1) throw new UsageError('--from must be 1 or more: the first block pays nobody')
  if (range.to !== null && range.to < range.from) throw new UsageError('--to must not be below --from')
  if (range.ahead !== null && range.ahead > AHEAD_MAX)
    throw new UsageError(`--ahead must be at most ${AHEAD_MAX}`)
  return withOwnerPool(async (pool, config) =>
    withNode(config, given.network, async (node) => {
      if (isSolanaNode(node) && range.ahead !== null) {
        throw new UsageError(
          '--ahead is not for Solana: its addresses can be derived by the signer alone. Leave it out',
        )
      }
      const { report, end } = await rescan(pool, node, range, stream)
      if (report === null) {
        output.problem(end)
        return 1
      }
      if (given.json) output.line(JSON.stringify(toJson(node, report)))
      else print(node, report, end, output)
      return report.unknownAddresses.length === 0 ? 0 : 1
    }),
  )
}

async function withNode(
  config: Config,
  network: string,
  work: (node: ReadNode) => Promise<number>,
): Promise<number> {
  const log = createLogger('error', 'stderr')
  const configured = configuredNodes(config)
  const isConfigured = configured.some((node) => node.network === network)
  const sandboxes = isConfigured ? [] : await openSandboxNodes(config, { clock: systemClock, log })
  const nodes = [...configured, ...sandboxes].flatMap((node): ReadNode[] =>
    isUtxoNode(node) || isEvmNode(node) || isSolanaNode(node) ? [node] : [],
  )
  try {
    const node = nodes.find((each) => each.network === network)
    if (node === undefined) {
      throw new UsageError(`--network must be one of ${nodes.map((each) => each.network).join(', ')}`)
    }
    return await work(node)
  } finally {
    for (const { sandbox } of sandboxes) await sandbox?.stop()
  }
}

/** A node whose blocks can be read again one by one. */
type ReadNode = UtxoNode | EvmChainNode | SolanaChainNode

type Source = {
  readonly blocks: BlockHistory
  readonly readTwice: readonly PaymentAsset[]
  close(): Promise<void>
}

async function openSource(pool: Pool, node: ReadNode, watched: AddressSet | WatchedOwners): Promise<Source> {
  if (isSolanaNode(node) || watched instanceof WatchedOwners) {
    if (!(watched instanceof WatchedOwners)) throw new Error('Solana is matched by its owners')
    const { livemode, privateChain = null, rpcUrl, rpcSetting, network, tokenContracts } = node
    const feePayer = async () => (await loadSolanaSignerAccounts(pool, network))?.feePayer ?? null
    const reached = { livemode, privateChain, rpcUrl, rpcSetting, tokenContracts }
    const options = { ...reached, watched, feePayer, isPatient: true }
    const adapter = new SolanaAdapter({ ...options, clock: systemClock })
    return connected(adapter, [])
  }
  if (isUtxoNode(node)) {
    const provider = openBlocks(node, watched)
    const asset = node.chain === 'bitcoin' ? 'BTC' : 'LTC'
    return { blocks: historyOf(provider.blocks, asset), readTwice: [], close: () => provider.close() }
  }
  const {
    chain,
    livemode,
    privateChain = null,
    rpcUrl: url,
    rpcSetting: setting,
    tokenContracts,
    network,
  } = node
  const keyspace = keyspaceOfNetwork(network)
  const openAddresses = (at: Date, fromHeight: number | null = null) =>
    listOpenAddresses(pool, { network, keyspace, now: at, fromHeight })
  const options = { chain, livemode, privateChain, url, setting, tokenContracts, watched, openAddresses }
  const adapter = new EvmAdapter({ ...options, clock: systemClock })
  return connected(adapter, adapter.tokens.assets)
}

/** An adapter whose node is of the right chain. */
async function connected(
  adapter: ChainAdapter & BlockHistory,
  readTwice: readonly PaymentAsset[],
): Promise<Source> {
  try {
    await adapter.connect()
  } catch (error) {
    await adapter.close()
    throw error
  }
  return { blocks: adapter, readTwice, close: () => adapter.close() }
}

type Range = { readonly from: number; readonly to: number | null; readonly ahead: number | null }
type UnknownAddress = RescanReport['unknownAddresses'][number] & { readonly address: string }
type RescanFindings = Omit<RescanReport, 'unknownAddresses'> & {
  readonly unknownAddresses: readonly UnknownAddress[]
}

/** The report and the last height; or no report, and why. */
async function rescan(
  pool: Pool,
  node: ReadNode,
  range: Range,
  stream: ProgressStream,
): Promise<{ report: RescanFindings; end: string } | { report: null; end: string }> {
  const { network } = node
  const state = await loadNetworkState(pool, network)
  if (state === null || state.height === null || state.hash === null || state.parameters === null) {
    return { report: null, end: `${network} was never followed: start the watcher role first` }
  }
  const checkpoint = { height: state.height, hash: state.hash }
  const to = Math.min(range.to ?? checkpoint.height, checkpoint.height)
  if (range.from > to) {
    return {
      report: null,
      end: `${network} was read to block ${checkpoint.height}, and what lies above is the watcher's`,
    }
  }
  const keyspace = keyspaceOfNetwork(node.network)
  const watched = watchedOf(node)
  for await (const { addresses } of streamAddresses(pool, keyspace, -1)) watched.add(addresses)
  const unknown = range.ahead === null ? [] : await findUnknownAddresses(pool, keyspace, range.ahead)
  watched.add(unknown.map(({ addressBytes }) => addressBytes))
  const unknownAddresses = new Map(
    unknown.map(({ index, addressBytes }) => [Buffer.from(addressBytes).toString('hex'), index]),
  )
  const notifier = createNotifier(pool)
  const progress = createProgress(stream, to - range.from + 1)
  let next = range.from
  let source: Source | null = null
  try {
    source = await openSource(pool, node, watched)
    await requireSameChain(source.blocks, checkpoint)
    const report = await rescanBlocks({
      pool,
      clock: systemClock,
      network,
      blocks: source.blocks,
      readTwice: source.readTwice,
      from: range.from,
      to,
      checkpoint,
      // A chain's own word is the watcher's to hear.
      mustAgree: node.furtherUrls.length > 0 || !isUtxoNode(node),
      unknownAddresses,
      notifier,
      onBatch: ({ height, recorded }) => {
        next = height + 1
        progress.update(next - range.from, `block ${height} of ${to}, ${recorded} recorded`)
      },
    })
    return { report: withAddresses(report, unknown, node, state.parameters), end: String(to) }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    const goOn = next === range.from ? '' : `; go on with --from ${next}`
    return { report: null, end: `${network}: ${error.message}${goOn}` }
  } finally {
    progress.end()
    await notifier.close()
    await source?.close()
  }
}

/** Addresses of indexes that no address row has: lost ones, and so many beyond the last that was taken. */
async function findUnknownAddresses(
  pool: Pool,
  keyspace: Keyspace,
  ahead: number,
): Promise<{ index: number; addressBytes: Uint8Array }[]> {
  const account = await loadAccountKey(pool, keyspace)
  if (account === null || account.xpub === null) return []
  const addressAt = keyspace.startsWith('evm-')
    ? receiveEvmAddresses(account.xpub)
    : receiveAddresses(account.xpub)
  const indexes = await listMissingIndexes(pool, keyspace, account.nextIndex + ahead, AHEAD_MAX)
  return indexes.map((index) => ({ index, addressBytes: addressAt(index) }))
}

function withAddresses(
  report: RescanReport,
  unknown: readonly { index: number; addressBytes: Uint8Array }[],
  node: ReadNode,
  parameters: string,
): RescanFindings {
  const addressOf = encoderOf(node, parameters)
  const addressBytesOf = new Map(unknown.map(({ index, addressBytes }) => [index, addressBytes]))
  return {
    ...report,
    unknownAddresses: report.unknownAddresses.map((found) => {
      const addressBytes = addressBytesOf.get(found.index)
      if (addressBytes === undefined) throw new Error(`index ${found.index} was found and not looked for`)
      return { ...found, address: addressOf(addressBytes) }
    }),
  }
}

function encoderOf(node: ReadNode, parameters: string): (addressBytes: Uint8Array) => string {
  if (!isUtxoNode(node)) return encodeEvmAddress
  const hrp = utxoParametersOf(node.chain, parameters)?.hrp
  if (hrp === undefined) throw new Error(`the chain ${parameters} of ${node.network} is not known`)
  return (addressBytes) => encodeAddress(hrp, addressBytes)
}

function print(node: ReadNode, report: RescanFindings, end: string, output: Output): void {
  output.line(
    `${node.network}: ${report.blocks} blocks to ${end} read again, ${report.transfers} payments in them, ${report.recorded} of them were missing and are recorded now.`,
  )
  for (const { index, address, txid, outputIndex, asset, amount, height } of report.unknownAddresses) {
    output.line(
      `✗ ${formatCoinAmount(amount, COINS[asset].decimals)} ${COINS[asset].symbol} in block ${height} (${txid}:${outputIndex}) at ${address}, index ${index}, which no invoice has`,
    )
  }
}

function toJson(node: ReadNode, report: RescanFindings): object {
  return {
    network: node.network,
    blocks: report.blocks,
    transfers: report.transfers,
    recorded: report.recorded,
    unknown_addresses: report.unknownAddresses.map(
      ({ index, address, txid, outputIndex, amount, height }) => ({
        index,
        address,
        txid,
        output_index: outputIndex,
        amount_units: amount.toString(),
        height,
      }),
    ),
  }
}

function wholeNumber(option: string, text: string): number {
  if (!/^(0|[1-9][0-9]{0,8})$/.test(text)) throw new UsageError(`${option} must be a whole number`)
  return Number(text)
}
