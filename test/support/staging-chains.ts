import { createHash, randomBytes } from 'node:crypto'
import { address } from '@solana/kit'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { ASSETS, type AssetId, isToken, tokensOf } from '../../src/core/assets.ts'
import { EVM_CHAINS, type EvmChain, evmNetworkOf } from '../../src/core/chain/evm-networks.ts'
import { tokenTransferCall } from '../../src/core/checkout/wallet-transaction.ts'
import { parseCoinAmount } from '../../src/core/money.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { TEST_USDT_BYTECODE } from '../../src/sandbox/evm/test-usdt.ts'
import { startSolanaChain } from '../../src/sandbox/solana/start-solana-chain.ts'
import { type Anvil, startAnvil } from './anvil.ts'
import { tokenCode } from './evm-payout-world.ts'
import { startNode } from './litecoind.ts'
import { temporaryFolder } from './sandbox-state.ts'
import { SolanaPayer } from './solana-payer.ts'

/** Of a private chain, which is neither public nor the sandbox's. */
const chainIdOf = (chain: EvmChain): number => 10_000 + evmNetworkOf(chain).sandboxChainId

/** Private chains of every kind, as an operator rehearses on, and who pays on them. */
export type StagingChains = {
  /** What names them to Paylink. */
  readonly environment: { readonly [name: string]: string }
  pay(asset: AssetId, to: string, amount: string): Promise<void>
  /** An address that is nobody's of Paylink. */
  strangersAddress(asset: AssetId): Promise<string>
  /** What such an address holds, in base units. */
  holds(asset: AssetId, at: string): Promise<bigint>
  /** A block on every chain. */
  mine(): Promise<void>
  close(): Promise<void>
}

export async function startStagingChains(): Promise<StagingChains> {
  const closing: (() => Promise<void>)[] = []
  const started = async <Thing>(thing: Promise<Thing>, close: (thing: Thing) => Promise<void>) => {
    const opened = await thing
    closing.unshift(() => close(opened))
    return opened
  }
  const remove = (one: { remove(): Promise<void> }) => one.remove()
  const bitcoin = await started(startNode('bitcoin'), remove)
  const litecoin = await started(startNode('litecoin'), remove)
  const anvils = new Map<EvmChain, Anvil>()
  for (const chain of EVM_CHAINS)
    anvils.set(chain, await started(startAnvil({ chainId: chainIdOf(chain) }), remove))
  const anvilOf = (asset: AssetId): Anvil => {
    const anvil = [...anvils].find(([chain]) => chain === ASSETS[asset].chain)?.[1]
    if (anvil === undefined) throw new Error(`${asset} is on no anvil`)
    return anvil
  }
  const holder = (await anvilOf('ETH').rpc<string[]>('eth_accounts')).at(-1) ?? ''
  const tokens = new Map<AssetId, string>()
  for (const asset of EVM_CHAINS.flatMap(tokensOf)) {
    const code = ASSETS[asset].symbol === 'USDT' ? tokenCode(holder, TEST_USDT_BYTECODE) : tokenCode(holder)
    tokens.set(asset, await anvilOf(asset).deploy(code))
  }
  const folder = await started(temporaryFolder(), remove)
  const log = createLogger('silent')
  const solana = await started(startSolanaChain({ dataDir: folder.path, clock: systemClock, log }), (one) =>
    one.stop(),
  )
  const payer = await SolanaPayer.fund(solana.rpcUrl)
  const nodes = { BTC: bitcoin, LTC: litecoin }
  const genesisOf = async (anvil: Anvil) =>
    (await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])).hash

  const ofEvm: [string, string][] = []
  for (const [chain, anvil] of anvils) {
    const name = `LIVE_${chain.toUpperCase()}`
    ofEvm.push([`${name}_RPC_URL`, anvil.url], [`${name}_GENESIS`, await genesisOf(anvil)])
    ofEvm.push([`${name}_CHAIN_ID`, String(chainIdOf(chain))])
    for (const asset of tokensOf(chain))
      ofEvm.push([`${name}_${ASSETS[asset].symbol}_ADDRESS`, tokens.get(asset) ?? ''])
  }

  return {
    environment: {
      STAGING: '1',
      LIVE_BITCOIN_RPC_URL: bitcoin.rpcUrl,
      LIVE_BITCOIN_GENESIS: await bitcoin.rpc<string>('getblockhash', [0]),
      LIVE_LITECOIN_RPC_URL: litecoin.rpcUrl,
      LIVE_LITECOIN_GENESIS: await litecoin.rpc<string>('getblockhash', [0]),
      ...Object.fromEntries(ofEvm),
      LIVE_SOLANA_RPC_URL: solana.rpcUrl,
      LIVE_SOLANA_GENESIS: await payer.client.getGenesisHash().send(),
    },
    pay: async (asset, to, amount) => {
      const units = parseCoinAmount(amount, ASSETS[asset].decimals)
      if (units === null) throw new Error(`no amount: ${amount}`)
      if (asset === 'BTC' || asset === 'LTC') await nodes[asset].pay(to, amount)
      else if (asset === 'SOL') await payer.pay(address(to), units)
      else if (!isToken(asset)) await anvilOf(asset).send({ to, value: units })
      else {
        const data = tokenTransferCall(to, units)
        await anvilOf(asset).rpc('eth_sendTransaction', [{ from: holder, to: tokens.get(asset), data }])
      }
    },
    strangersAddress: async (asset) => {
      if (asset === 'BTC' || asset === 'LTC') return nodes[asset].newAddress()
      if (asset === 'SOL') return (await SolanaPayer.fund(solana.rpcUrl, 1_000_000_000n)).signer.address
      return encodeEvmAddress(createHash('sha256').update(randomBytes(20)).digest().subarray(0, 20))
    },
    holds: async (asset, at) => {
      if (asset === 'BTC' || asset === 'LTC')
        return (
          parseCoinAmount((await nodes[asset].rpc<number>('getreceivedbyaddress', [at, 0])).toFixed(8), 8) ??
          0n
        )
      if (asset === 'SOL') return (await payer.client.getBalance(address(at)).send()).value
      const anvil = anvilOf(asset)
      if (!isToken(asset)) return BigInt(await anvil.rpc<string>('eth_getBalance', [at, 'latest']))
      const data = `0x70a08231${at.slice(2).toLowerCase().padStart(64, '0')}`
      return BigInt(await anvil.rpc<string>('eth_call', [{ to: tokens.get(asset), data }, 'latest']))
    },
    mine: async () => {
      await Promise.all([bitcoin, litecoin, ...anvils.values()].map((chain) => chain.mine(1)))
    },
    close: async () => {
      for (const close of closing) await close()
    },
  }
}
