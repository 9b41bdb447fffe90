import { createHash, randomBytes } from 'node:crypto'
import { address } from '@solana/kit'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { ASSETS, type AssetId } from '../../src/core/assets.ts'
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

const [ETHEREUM_ID, BASE_ID, ARBITRUM_ID] = [41_337, 41_338, 41_339]

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
  const ethereum = await started(startAnvil({ chainId: ETHEREUM_ID }), remove)
  const base = await started(startAnvil({ chainId: BASE_ID }), remove)
  const arbitrum = await started(startAnvil({ chainId: ARBITRUM_ID }), remove)
  const holder = (await base.rpc<string[]>('eth_accounts')).at(-1) ?? ''
  const tokens = {
    USDC_BASE: await base.deploy(tokenCode(holder)),
    USDC_ETHEREUM: await ethereum.deploy(tokenCode(holder)),
    USDC_ARBITRUM: await arbitrum.deploy(tokenCode(holder)),
    USDT_ETHEREUM: await ethereum.deploy(tokenCode(holder, TEST_USDT_BYTECODE)),
    USDT_ARBITRUM: await arbitrum.deploy(tokenCode(holder, TEST_USDT_BYTECODE)),
  }
  const isOfToken = (asset: AssetId): asset is keyof typeof tokens => Object.hasOwn(tokens, asset)
  const folder = await started(temporaryFolder(), remove)
  const log = createLogger('silent')
  const solana = await started(startSolanaChain({ dataDir: folder.path, clock: systemClock, log }), (one) =>
    one.stop(),
  )
  const payer = await SolanaPayer.fund(solana.rpcUrl)
  const evm = {
    ETH: ethereum,
    ETH_BASE: base,
    USDC_BASE: base,
    USDC_ETHEREUM: ethereum,
    ETH_ARBITRUM: arbitrum,
    USDC_ARBITRUM: arbitrum,
    USDT_ETHEREUM: ethereum,
    USDT_ARBITRUM: arbitrum,
  }
  const nodes = { BTC: bitcoin, LTC: litecoin }
  const genesisOf = async (anvil: Anvil) =>
    (await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])).hash

  return {
    environment: {
      STAGING: '1',
      LIVE_BITCOIN_RPC_URL: bitcoin.rpcUrl,
      LIVE_BITCOIN_GENESIS: await bitcoin.rpc<string>('getblockhash', [0]),
      LIVE_LITECOIN_RPC_URL: litecoin.rpcUrl,
      LIVE_LITECOIN_GENESIS: await litecoin.rpc<string>('getblockhash', [0]),
      LIVE_ETHEREUM_RPC_URL: ethereum.url,
      LIVE_ETHEREUM_GENESIS: await genesisOf(ethereum),
      LIVE_ETHEREUM_CHAIN_ID: String(ETHEREUM_ID),
      LIVE_BASE_RPC_URL: base.url,
      LIVE_BASE_GENESIS: await genesisOf(base),
      LIVE_BASE_CHAIN_ID: String(BASE_ID),
      LIVE_BASE_USDC_ADDRESS: tokens.USDC_BASE,
      LIVE_ETHEREUM_USDC_ADDRESS: tokens.USDC_ETHEREUM,
      LIVE_ETHEREUM_USDT_ADDRESS: tokens.USDT_ETHEREUM,
      LIVE_ARBITRUM_RPC_URL: arbitrum.url,
      LIVE_ARBITRUM_GENESIS: await genesisOf(arbitrum),
      LIVE_ARBITRUM_CHAIN_ID: String(ARBITRUM_ID),
      LIVE_ARBITRUM_USDC_ADDRESS: tokens.USDC_ARBITRUM,
      LIVE_ARBITRUM_USDT_ADDRESS: tokens.USDT_ARBITRUM,
      LIVE_SOLANA_RPC_URL: solana.rpcUrl,
      LIVE_SOLANA_GENESIS: await payer.client.getGenesisHash().send(),
    },
    pay: async (asset, to, amount) => {
      const units = parseCoinAmount(amount, ASSETS[asset].decimals)
      if (units === null) throw new Error(`no amount: ${amount}`)
      if (asset === 'BTC' || asset === 'LTC') await nodes[asset].pay(to, amount)
      else if (asset === 'SOL') await payer.pay(address(to), units)
      else if (!isOfToken(asset)) await evm[asset].send({ to, value: units })
      else {
        const data = tokenTransferCall(to, units)
        await evm[asset].rpc('eth_sendTransaction', [{ from: holder, to: tokens[asset], data }])
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
      if (!isOfToken(asset)) return BigInt(await evm[asset].rpc<string>('eth_getBalance', [at, 'latest']))
      const data = `0x70a08231${at.slice(2).toLowerCase().padStart(64, '0')}`
      return BigInt(await evm[asset].rpc<string>('eth_call', [{ to: tokens[asset], data }, 'latest']))
    },
    mine: async () => {
      await Promise.all([bitcoin, litecoin, ethereum, base, arbitrum].map((chain) => chain.mine(1)))
    },
    close: async () => {
      for (const close of closing) await close()
    },
  }
}
