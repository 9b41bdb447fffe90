import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { ASSETS, type AssetId, isToken } from '../../src/core/assets.ts'
import { isEvmChain } from '../../src/core/chain/evm-networks.ts'
import type { TokenContracts } from '../../src/core/chain/evm-parameters.ts'
import { rpcSettingOf } from '../../src/nodes/chain-nodes.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, type AnvilOptions, newEvmAddress, startAnvil } from './anvil.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import { deployTestToken, type TestToken } from './evm-contracts.ts'
import { evmLies } from './evm-lies.ts'

export type DrivenAnvil = DrivenChain & { readonly anvil: Anvil; readonly token: TestToken }

/** Drives an anvil as Ethereum or Base, paid in one of its assets. */
export function evmDriver(
  asset: AssetId,
  changes: Partial<EvmAdapterOptions> = {},
  node: AnvilOptions = {},
  makeAddress: () => ReturnType<typeof newEvmAddress> = newEvmAddress,
): ChainDriver<DrivenAnvil> {
  const { chain } = ASSETS[asset]
  if (!isEvmChain(chain)) throw new Error(`${chain} has no anvil`)
  const network = `${chain}-test` as const
  const how = changes.nativeMode === 'balances' ? ', without traces' : ''
  return {
    title: `${asset} on anvil${how}`,
    network,
    asset,
    amount: isToken(asset) ? 10_000_000n : 10n ** 16n,
    seesWaiting: false,
    settlesLater: true,
    start: async () => {
      const anvil = await startAnvil(node)
      const token = await deployTestToken(anvil)
      const tokenContracts = { [isToken(asset) ? ASSETS[asset].symbol : 'USDC']: token.contract }
      const options = {
        chain,
        livemode: false,
        setting: rpcSettingOf(network),
        // Beside another token there is USDC too: on what looks like a public chain it would be missed.
        tokenContracts: { USDC: await usdcBeside(anvil, tokenContracts), ...tokenContracts },
        probeIntervalMs: 30,
        ...changes,
      }
      return driveAnvil({ anvil, token, asset, options, makeAddress })
    },
  }
}

const usdcBeside = async (anvil: Anvil, contracts: TokenContracts): Promise<string> =>
  contracts.USDC ?? (await deployTestToken(anvil)).contract

function driveAnvil(parts: {
  anvil: Anvil
  token: TestToken
  asset: AssetId
  options: Omit<EvmAdapterOptions, 'url' | 'clock'>
  makeAddress: () => ReturnType<typeof newEvmAddress>
}): DrivenAnvil {
  const { anvil, token, asset, options, makeAddress } = parts
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
      const made = makeAddress()
      issued.push(made.addressBytes)
      return made
    },
    pay: (address, amount) =>
      isToken(asset) ? anvil.send(token.mint(address, amount)) : anvil.send({ to: address, value: amount }),
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
