import { createHash } from 'node:crypto'
import type { ChainProvider } from '../chain/adapter.ts'
import { EvmAdapter } from '../chain/evm/evm-adapter.ts'
import { EvmNode } from '../chain/evm/evm-node.ts'
import { SolanaAdapter } from '../chain/solana/solana-adapter.ts'
import { ownerOf } from '../chain/solana/watched-owners.ts'
import { nameProviders } from '../chain/utxo/open-provider.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import { type ChainNode, isEvmNode, isSolanaNode } from '../nodes/chain-nodes.ts'
import { openProviderOf, watchedOf } from '../nodes/open-providers.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fault, notice, ok } from './finding.ts'
import { isOutside } from './inspect-networks.ts'

/** An address that nobody has or pays: what is asked about open checkouts is asked about it. */
const PROBE = createHash('sha256').update('paylink doctor').digest()
const ADDRESS_LENGTHS = 20
const ADDRESS = `0x${PROBE.subarray(0, ADDRESS_LENGTHS).toString('hex')}`
/** Far enough below the tip that a provider of several machines has it on each. */
const BELOW_TIP = 3
/** Slots without a block that may follow one another. */
const SLOTS_SKIPPED_MAX = 50

/** A provider, and on chains like Ethereum its node by itself. */
type Opened = { readonly name: string; readonly chain: ChainProvider; readonly evm: EvmNode | null }
type Head = Opened & { readonly tip: BlockRef }

/** Every provider of every configured network: its chain, its newest block, the calls Paylink needs, and whether they agree. */
export async function inspectLiveNetworks(nodes: readonly ChainNode[], clock: Clock): Promise<Finding[]> {
  if (nodes.length === 0) return [notice('Networks: none is configured')]
  return (await Promise.all(nodes.map((node) => inspectNetwork(node, clock)))).flat()
}

async function inspectNetwork(node: ChainNode, clock: Clock): Promise<Finding[]> {
  const probe = isSolanaNode(node) ? PROBE : PROBE.subarray(0, ADDRESS_LENGTHS)
  const urls = [node.rpcUrl, ...node.furtherUrls]
  const nameOf = nameProviders(urls)
  const opened = urls.map((url) => ({
    name: nameOf(url),
    evm: isEvmNode(node) ? new EvmNode(url, node.rpcSetting) : null,
    chain: openProviderOf(
      node,
      { url, zmqUrl: null, watched: watchedOf(node) },
      { clock, openAddresses: async () => [probe] },
    ),
  }))
  try {
    const findings: Finding[] = []
    const heads: Head[] = []
    for (const provider of opened) {
      const found = await inspectProvider(`${node.network}: ${provider.name}`, provider, clock)
      findings.push(...found.findings)
      if (found.tip !== null) heads.push({ ...provider, tip: found.tip })
    }
    return [...findings, ...(await agreement(node, heads))]
  } finally {
    await Promise.all(opened.flatMap(({ chain, evm }) => [chain.close(), evm?.rpc.close()]))
  }
}

async function inspectProvider(
  who: string,
  opened: Opened,
  clock: Clock,
): Promise<{ findings: Finding[]; tip: BlockRef | null }> {
  const { chain } = opened
  try {
    const { parameters, health } = await chain.connect()
    if (health.status !== 'ok') return { findings: [fault(`${who}: ${health.reason}`)], tip: null }
    const tip = await chain.tip()
    const age = Math.round((clock().getTime() - tip.timeMs) / 1_000)
    const identity = await chain.identity()
    const chainName =
      identity === null || identity === parameters ? parameters : `${parameters} (${identity})`
    const head = ok(`${who}: chain ${chainName}, block ${tip.height}, ${age} s old`)
    return { findings: [head, ...(await inspectCalls(who, opened, tip))], tip }
  } catch (error) {
    if (!isOutside(error)) throw error
    return { findings: [fault(`${who}: ${error.message}`)], tip: null }
  }
}

type Call = { readonly name: string; ask(): Promise<unknown> }

/** Asks everything once that following the network asks. */
async function inspectCalls(who: string, opened: Opened, tip: BlockRef): Promise<Finding[]> {
  const { chain } = opened
  const failed: Finding[] = []
  const served: string[] = []
  const block = await blockAtOrBelow(chain, tip, tip.height - BELOW_TIP)
  const parent = block === null ? null : await blockAtOrBelow(chain, tip, block.height - 1)
  if (block === null || parent === null)
    return [notice(`${who}: the chain is too short to try the calls that Paylink needs`)]
  for (const { name, ask } of callsOf(opened, parent, block)) {
    try {
      if ((await ask()) === null) failed.push(fault(`${who}: ${name}: no answer about block ${block.height}`))
      else served.push(name)
    } catch (error) {
      if (!isOutside(error)) throw error
      failed.push(fault(`${who}: ${name}: ${error.message}`))
    }
  }
  return [...failed, ...(served.length === 0 ? [] : [ok(`${who}: serves ${served.join(', ')}`)])]
}

function callsOf({ chain, evm }: Opened, parent: BlockRef, block: BlockRef): Call[] {
  const owner = ownerOf(PROBE)
  return [
    { name: contentsOf(chain), ask: () => chain.nextUpdate(parent, 1) },
    // A tip that moves meanwhile is no fault: the reading is made again by the watcher.
    {
      name: hasMempool(chain) ? 'mempool' : 'a fresh tip',
      ask: async () => (await chain.readMempool()) ?? 'moved',
    },
    ...(evm === null
      ? []
      : [
          { name: 'token logs', ask: () => evm.logsOf(block.hash, [ADDRESS]) },
          { name: 'receipts', ask: async () => evm.receiptsOf(await evm.blockOf(block.hash)) },
        ]),
    ...(chain.readBlockTags === undefined
      ? []
      : [{ name: 'safe and finalized blocks', ask: async () => chain.readBlockTags?.(block) }]),
    ...(chain instanceof SolanaAdapter
      ? [
          { name: 'signatures of an address', ask: () => chain.rpc.signaturesFor(owner, null, 0) },
          { name: 'whole blocks', ask: () => chain.rpc.blockWithAccounts(block.height) },
        ]
      : []),
  ]
}

const hasMempool = (chain: ChainProvider): boolean =>
  !(chain instanceof EvmAdapter || chain instanceof SolanaAdapter)

function contentsOf(chain: ChainProvider): string {
  if (hasMempool(chain)) return 'blocks'
  return chain instanceof EvmAdapter && chain.nativeMode === 'traces' ? 'blocks with traces' : 'balances'
}

/** The block at this height, or on a chain with gaps the next one below. */
async function blockAtOrBelow(chain: ChainProvider, tip: BlockRef, from: number): Promise<BlockRef | null> {
  for (let height = from; height >= 0 && from - height <= SLOTS_SKIPPED_MAX; height--) {
    const hash = await chain.hashAt(height)
    if (hash !== null) return { height, hash, timeMs: tip.timeMs }
  }
  return null
}

/** Whether the providers have the same block where all of them have come to. */
async function agreement({ network, livemode }: ChainNode, heads: readonly Head[]): Promise<Finding[]> {
  const [first, ...others] = heads
  if (first === undefined) return []
  if (others.length === 0)
    return livemode ? [notice(`${network}: one provider answers, and nobody confirms what it says`)] : []
  const lowest = Math.min(...heads.map(({ tip }) => tip.height)) - BELOW_TIP
  try {
    const block = await blockAtOrBelow(first.chain, first.tip, lowest)
    if (block === null) return []
    const hashes = await Promise.all(others.map(({ chain }) => chain.hashAt(block.height)))
    const other = others.find((_, index) => hashes[index] !== block.hash)
    return other === undefined
      ? [ok(`${network}: ${heads.length} providers agree on block ${block.height}`)]
      : [
          fault(
            `${network}: ${first.name} and ${other.name} have different blocks at height ${block.height}: find out which one is right`,
          ),
        ]
  } catch (error) {
    if (!isOutside(error)) throw error
    return [fault(`${network}: ${error.message}`)]
  }
}
