import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import type { AssetId, Network } from '../../src/core/assets.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, type AnvilOptions, newEvmAddress, startAnvil } from './anvil.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import { deployTestToken, type TestToken } from './evm-contracts.ts'
import { evmLies } from './evm-lies.ts'

export type DrivenAnvil = DrivenChain & { readonly anvil: Anvil; readonly token: TestToken }

const CHAINS: {
  readonly [asset in 'ETH' | 'ETH_BASE' | 'USDC_BASE']: { chain: 'ethereum' | 'base'; network: Network }
} = {
  ETH: { chain: 'ethereum', network: 'ethereum-test' },
  ETH_BASE: { chain: 'base', network: 'base-test' },
  USDC_BASE: { chain: 'base', network: 'base-test' },
}

/** Drives an anvil as Ethereum or Base, paid in one of its assets. */
export function evmDriver(
  asset: AssetId & keyof typeof CHAINS,
  changes: Partial<EvmAdapterOptions> = {},
  node: AnvilOptions = {},
): ChainDriver<DrivenAnvil> {
  const { chain, network } = CHAINS[asset]
  const how = changes.nativeMode === 'balances' ? ', without traces' : ''
  return {
    title: `${asset} on anvil${how}`,
    network,
    asset,
    amount: asset === 'USDC_BASE' ? 10_000_000n : 10n ** 16n,
    seesWaiting: false,
    settlesLater: true,
    start: async () => {
      const anvil = await startAnvil(node)
      const token = await deployTestToken(anvil)
      const options = {
        chain,
        livemode: false,
        setting: settingOf(network),
        usdcContract: token.contract,
        probeIntervalMs: 30,
        ...changes,
      }
      return driveAnvil({ anvil, token, asset, options })
    },
  }
}

const settingOf = (network: Network): string =>
  network === 'base-test' ? 'TEST_BASE_RPC_URL' : 'TEST_ETHEREUM_RPC_URL'

function driveAnvil(parts: {
  anvil: Anvil
  token: TestToken
  asset: AssetId
  options: Omit<EvmAdapterOptions, 'url' | 'clock'>
}): DrivenAnvil {
  const { anvil, token, asset, options } = parts
  /** Every address is that of an open checkout: nodes that do not trace are asked about all. */
  const issued: Buffer[] = []
  const waiting = new Map<string, string>()
  return {
    anvil,
    token,
    url: anvil.url,
    adapter: (url = anvil.url) =>
      new EvmAdapter({ ...options, url, clock: systemClock, openAddresses: async () => issued }),
    recipe: {
      module: 'chain/evm/evm-adapter.js',
      name: 'EvmAdapter',
      options: { ...options, url: anvil.url },
    },
    tipHash: async () => (await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['latest', false])).hash,
    newAddress: async () => {
      const made = newEvmAddress()
      issued.push(made.addressBytes)
      return made
    },
    pay: (address, amount) =>
      asset === 'USDC_BASE'
        ? anvil.send(token.mint(address, amount))
        : anvil.send({ to: address, value: amount }),
    replace: async () => {
      throw new Error('payments are not seen before they are in a block')
    },
    mine: async (blocks) => {
      for (const raw of waiting.values()) await anvil.rpc('eth_sendRawTransaction', [raw])
      waiting.clear()
      await anvil.mine(blocks)
    },
    reorganise: async (depth, left) => {
      if (left !== undefined)
        waiting.set(left, await anvil.rpc<string>('eth_getRawTransactionByHash', [left]))
      await anvil.reorganise(depth, (txid) => txid === left)
    },
    stop: () => anvil.stop(),
    startAgain: () => anvil.start(),
    remove: () => anvil.remove(),
    lies: evmLies(anvil, asset, options.nativeMode ?? 'traces'),
  }
}
