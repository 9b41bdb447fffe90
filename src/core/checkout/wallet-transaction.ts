import { ASSETS, isToken } from '../assets.ts'
import { EVM_CHAINS, type EvmChain, evmNetworkOf } from '../chain/evm-networks.ts'
import { chainIdOf, contractOf, type PaymentRequest } from './payment-uri.ts'

/** A transaction as `eth_sendTransaction` takes it, but for its sender; numbers as hex quantities (EIP-1474). */
type WalletTransaction = {
  readonly chainId: string
  readonly to: string
  readonly value: string
  /** Empty where coins are sent and no contract is called. */
  readonly data: string
}

/** First four bytes of the hash of `transfer(address,uint256)` (ERC-20). */
const TRANSFER_SELECTOR = '0xa9059cbb'
const WORD_DIGITS = 64

/** What a wallet in the browser is asked to send; null for coins that such wallets do not have. */
export function walletTransaction(request: PaymentRequest): WalletTransaction | null {
  const { asset, address, amount } = request
  if (ASSETS[asset].keyFamily !== 'evm') return null
  const chainId = quantity(BigInt(chainIdOf(request)))
  if (!isToken(asset)) return { chainId, to: address, value: quantity(amount), data: '' }
  const to = contractOf(asset, request.livemode, request.identity)
  return to === null ? null : { chainId, to, value: quantity(0n), data: tokenTransferCall(address, amount) }
}

/** The call of a token's contract that sends `amount` of its base units to `address` (ERC-20, Solidity's ABI). */
export const tokenTransferCall = (address: string, amount: bigint): string =>
  `${TRANSFER_SELECTOR}${word(address.slice(2))}${word(amount.toString(16))}`

/** Every wallet has Ethereum and its test chain. */
const EVERY_WALLETS: EvmChain = 'ethereum'

/**
 * What adds a chain to a wallet that has it not, as `wallet_addEthereumChain` takes it (EIP-3085); null for chains that
 * every wallet has, or that are nobody else's.
 */
export function walletChain(chainId: string): object | null {
  for (const network of EVM_CHAINS.filter((chain) => chain !== EVERY_WALLETS).map(evmNetworkOf)) {
    const chain = [network.main, network.testnet].find((each) => quantity(BigInt(each.chainId)) === chainId)
    if (chain === undefined) continue
    const { title: chainName, rpcUrl, explorer } = chain
    const nativeCurrency = network.currency
    return { chainId, chainName, nativeCurrency, rpcUrls: [rpcUrl], blockExplorerUrls: [explorer] }
  }
  return null
}

const quantity = (value: bigint): string => `0x${value.toString(16)}`

/** 32 bytes, filled up on the left. */
const word = (hex: string): string => hex.toLowerCase().padStart(WORD_DIGITS, '0')
