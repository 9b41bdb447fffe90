import { randomBytes } from 'node:crypto'
import { p2wpkh, Transaction } from '@scure/btc-signer'
import { pubECDSA } from '@scure/btc-signer/utils.js'
import { address as solanaAddress } from '@solana/kit'
import type { BlockHistory, ChainProvider } from '../../src/chain/adapter.ts'
import { AddressSet } from '../../src/chain/address-set.ts'
import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { SolanaAdapter, type WayOfWatching } from '../../src/chain/solana/solana-adapter.ts'
import { WatchedOwners } from '../../src/chain/solana/watched-owners.ts'
import { historyOf } from '../../src/chain/utxo/block-source.ts'
import { openBlocks } from '../../src/chain/utxo/open-provider.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { ASSETS, type AssetId, isToken } from '../../src/core/assets.ts'
import { type EvmChain, evmNetworkOf } from '../../src/core/chain/evm-networks.ts'
import { UTXO_PARAMETERS } from '../../src/core/chain/utxo-parameters.ts'
import { type ChainNode, rpcSettingOf } from '../../src/nodes/chain-nodes.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { SANDBOX_MINTS } from '../../src/sandbox/solana/sandbox-mints.ts'
import { CHAIN_PARAMETERS } from '../../src/sandbox/utxo/chain-parameters.ts'
import { hex } from './anvil.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import { bytecodeOf, callData } from './evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from './evm-driver.ts'
import type { Random } from './random.ts'
import type { Lie, RpcProxy } from './rpc-proxy.ts'
import { type DrivenSandbox, sandboxDriver } from './sandbox-driver.ts'
import { type DrivenSolana, solanaDriver } from './solana-driver.ts'
import { utxoAdapterOptions } from './utxo-driver.ts'

const MINTS_GAS = 10_000_000
const TOKENS_TOGETHER = 20
const ANSWER_MS_MAX = 2_000
const DEVNET = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxkrZBG'
const LITECOIN_TESTNET = UTXO_PARAMETERS.find(({ chain, name }) => chain === 'litecoin' && name === 'test')

type Recipient = { readonly address: string; readonly addressBytes: Buffer }
type ProviderParts = {
  readonly url: string
  readonly clock: Clock
  readonly random: Random
  /** Addresses of checkouts that are open. */
  readonly openAddresses: (at: Date) => Promise<readonly Uint8Array[]>
}

/** What histories of readings need to know of a family of chains. */
export type ReadingFamily<Driven extends DrivenChain = DrivenChain> = {
  readonly driver: ChainDriver<Driven>
  readonly auditNode: (chain: Driven) => Pick<ChainNode, 'chain' | 'rpcSetting' | 'tokenContracts'>
  /** Two providers that match against one set of addresses. */
  readonly providers: (
    chain: Driven,
    first: ProviderParts,
    second: ProviderParts,
  ) => readonly [ChainProvider, ChainProvider]
  /** A reader of blocks of its own, that the watcher knows nothing of. */
  readonly history: (
    chain: Driven,
    addresses: readonly Buffer[],
  ) => { history: BlockHistory; close(): Promise<void> }
  /** Makes a private chain look public, where a head that stands still is not believed. */
  readonly disguise: (proxy: RpcProxy) => void
  /** Methods that may hang while all others answer. */
  readonly stalls: readonly string[]
  /** From now on the node cannot say what is in a block, or which block has a height. */
  readonly forgetBlocks: (proxy: RpcProxy) => void
  /** From now on the node has other blocks than everybody else. */
  readonly disagree: (proxy: RpcProxy) => void
  /** One transaction that pays so often. */
  readonly payOften: (chain: Driven, to: Recipient, amounts: readonly bigint[]) => Promise<void>
  /** What is no dust, and an amount that is dust even sixty times; null where nobody can be paid as little. */
  readonly unit: bigint
  readonly dust: bigint | null
}

const unanswered: Lie = () => {
  throw new Error('not available')
}
const elsewhere = () => randomBytes(32).toString('hex')

const litecoin: ReadingFamily<DrivenSandbox> = {
  driver: sandboxDriver,
  auditNode: () => ({ chain: 'litecoin', rpcSetting: 'TEST_LITECOIN_RPC_URL', tokenContracts: {} }),
  providers: (_chain, first, second) => {
    const watched = new AddressSet()
    const open = ({ url, clock }: ProviderParts) =>
      new UtxoAdapter({ ...utxoAdapterOptions('litecoin', url), clock, watched })
    return [open(first), open(second)]
  },
  history: ({ url }, addresses) => {
    const watched = new AddressSet()
    watched.add(addresses)
    const provider = openBlocks(
      { chain: 'litecoin', livemode: false, rpcUrl: url, rpcSetting: 'TEST_LITECOIN_RPC_URL' },
      watched,
    )
    return { history: historyOf(provider.blocks, 'LTC'), close: () => provider.close() }
  },
  disguise: (proxy) => {
    proxy.lie('getblockchaininfo', (told) => ({ ...(told as object), chain: 'test' }))
    proxy.lie(
      'getblockhash',
      genesisOr((told) => told),
    )
    proxy.lie('getnetworkinfo', (told) => ({ ...(told as object), connections: 8 }))
  },
  stalls: [],
  forgetBlocks: (proxy) => proxy.lie('getblockhash', genesisOr(unanswered)),
  disagree: (proxy) => proxy.lie('getblockhash', genesisOr(elsewhere)),
  payOften: payLitecoinOften,
  unit: 3_000n,
  dust: 1n,
}

const genesisOr =
  (lie: Lie): Lie =>
  (told, call) =>
    call.params[0] === 0 ? LITECOIN_TESTNET?.genesisHash : lie(told, call)

/** Through a coin of our own: the sandbox's wallet pays one address at a time. */
async function payLitecoinOften(
  chain: DrivenSandbox,
  { addressBytes }: Recipient,
  amounts: readonly bigint[],
): Promise<void> {
  const key = randomBytes(32)
  const { script } = p2wpkh(pubECDSA(key))
  const { bech32Prefix, coin } = { bech32Prefix: CHAIN_PARAMETERS.litecoin.hrp, coin: 10_000_000n }
  const own = p2wpkh(pubECDSA(key), { bech32: bech32Prefix, pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef })
  const txid = await chain.pay(own.address ?? '', coin)
  const transaction = new Transaction()
  transaction.addInput({ txid, index: 0, witnessUtxo: { script, amount: coin } })
  const to = Buffer.concat([Buffer.of(0, addressBytes.length), addressBytes])
  for (const amount of amounts) transaction.addOutput({ script: to, amount })
  transaction.sign(key)
  transaction.finalize()
  await chain.send(transaction.hex)
}

const payers = new WeakMap<DrivenAnvil, Promise<string>>()

/** Of an asset of an EVM network. */
export function evmFamily(asset: AssetId, chain: EvmChain): ReadingFamily<DrivenAnvil> {
  const { testnet } = evmNetworkOf(chain)
  const { dustBelow } = ASSETS[asset]
  const unit = isToken(asset) ? dustBelow : 10n * dustBelow
  const logs = isToken(asset) ? ['eth_getLogs'] : []
  return {
    driver: { ...evmDriver(asset, { answerMsMax: ANSWER_MS_MAX }), amount: 1_000n * unit },
    auditNode: ({ recipe }) => ({
      chain,
      rpcSetting: rpcSettingOf(`${chain}-test`),
      tokenContracts: (recipe.options as EvmAdapterOptions).tokenContracts ?? {},
    }),
    providers: (chain, first, second) => {
      const watched = new AddressSet()
      const options = chain.recipe.options as EvmAdapterOptions
      return [
        new EvmAdapter({ ...options, ...pick(first), watched }),
        new EvmAdapter({ ...options, ...pick(second), watched }),
      ]
    },
    history: ({ recipe }, addresses) => {
      const watched = new AddressSet()
      watched.add(addresses)
      const options = recipe.options as EvmAdapterOptions
      const adapter = new EvmAdapter({ ...options, clock: systemClock, watched, nativeMode: 'traces' })
      return { history: adapter, close: () => adapter.close() }
    },
    disguise: (proxy) => proxy.lie('eth_chainId', () => hex(BigInt(testnet.chainId))),
    stalls: ['debug_traceBlockByHash', ...logs],
    forgetBlocks: (proxy) => {
      for (const method of ['debug_traceBlockByHash', 'eth_getBlockReceipts', 'eth_getBalance', ...logs])
        proxy.lie(method, unanswered)
    },
    disagree: (proxy) =>
      proxy.lie(
        'eth_getBlockByNumber',
        withHash('hash', () => `0x${elsewhere()}`),
      ),
    payOften: async (chain, { address }, amounts) => {
      const to = amounts.map(() => address)
      if (isToken(asset)) {
        const data = callData('mintMany(address[],uint256[])', to, amounts)
        await chain.anvil.send({ to: chain.token.contract, data, gas: MINTS_GAS })
        return
      }
      const deploying = payers.get(chain) ?? bytecodeOf('BatchPayer').then((code) => chain.anvil.deploy(code))
      payers.set(chain, deploying)
      const value = amounts.reduce((sum, amount) => sum + amount, 0n)
      const data = callData('pay(address[],uint256[])', to, amounts)
      await chain.anvil.send({ to: await deploying, value, data })
    },
    unit,
    dust: 1n,
  }
}

const pick = ({ url, clock, openAddresses }: ProviderParts) => ({ url, clock, openAddresses })

const withHash =
  (name: string, other: () => string): Lie =>
  (told) =>
    told === null ? null : { ...(told as object), [name]: other() }

/** Below all that a history reorganises. */
const BLOCKS_KEPT = 20

/** Of an asset of Solana. */
export const solanaFamily = (asset: AssetId): ReadingFamily<DrivenSolana> => ({
  driver: {
    ...solanaDriver('blocks', asset),
    start: async () => {
      const chain = await solanaDriver('blocks', asset).start()
      chain.payer.lifetimeDepth = BLOCKS_KEPT
      return chain
    },
  },
  auditNode: () => ({ chain: 'solana', rpcSetting: 'TEST_SOLANA_RPC_URL', tokenContracts: SANDBOX_MINTS }),
  providers: (chain, first, second) => {
    const watched = new WatchedOwners()
    const open = (parts: ProviderParts) =>
      new SolanaAdapter({
        ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
        ...{ clock: parts.clock, openAddresses: parts.openAddresses, rpcUrl: parts.url },
        way: parts.random.pick<WayOfWatching>(['blocks', 'accounts']),
        watched,
      })
    return [open(first), open(second)]
  },
  history: (chain, addresses) => {
    const watched = new WatchedOwners()
    watched.add(addresses)
    const options = chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]
    const adapter = new SolanaAdapter({ ...options, clock: systemClock, watched })
    return { history: adapter, close: () => adapter.close() }
  },
  disguise: (proxy) => proxy.lie('getGenesisHash', () => DEVNET),
  stalls: [],
  forgetBlocks: (proxy) => proxy.lie('getBlock', unanswered),
  disagree: (proxy) =>
    proxy.lie(
      'getBlock',
      withHash('blockhash', () => DEVNET),
    ),
  payOften: async ({ payer }, { address }, amounts) => {
    const to = solanaAddress(address)
    if (!isToken(asset)) {
      await payer.send(amounts.map((amount) => payer.transfer(to, amount)))
      return
    }
    // Fewer fit, beside what makes the account.
    for (let at = 0; at < amounts.length; at += TOKENS_TOGETHER) {
      const some = await Promise.all(
        amounts.slice(at, at + TOKENS_TOGETHER).map((amount) => payer.tokens(asset, to, amount)),
      )
      await payer.send([...(some[0] ?? []).slice(0, 1), ...some.flatMap((made) => made.slice(1))])
    }
  },
  unit: isToken(asset) ? 10_000n : 900_000n,
  dust: isToken(asset) ? 1n : null,
})

export const READING_FAMILIES = {
  litecoin,
  ethereum: evmFamily('ETH', 'ethereum'),
  solana: solanaFamily('SOL'),
}
