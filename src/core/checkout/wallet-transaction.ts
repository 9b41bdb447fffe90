import { chainIdOf, type PaymentRequest, usdcContractOf } from './payment-uri.ts'

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
  switch (asset) {
    case 'ETH':
    case 'ETH_BASE':
      return { chainId: quantity(BigInt(chainIdOf(request))), to: address, value: quantity(amount), data: '' }
    case 'USDC_BASE':
      return {
        chainId: quantity(BigInt(chainIdOf(request))),
        to: usdcContractOf(request),
        value: quantity(0n),
        data: tokenTransferCall(address, amount),
      }
    default:
      return null
  }
}

/** The call of a token's contract that sends `amount` of its base units to `address` (ERC-20, Solidity's ABI). */
export const tokenTransferCall = (address: string, amount: bigint): string =>
  `${TRANSFER_SELECTOR}${word(address.slice(2))}${word(amount.toString(16))}`

/** Chains that a wallet may not have yet, as `wallet_addEthereumChain` takes them (EIP-3085), by their ids. */
const ETHER = { name: 'Ether', symbol: 'ETH', decimals: 18 }
const ADDABLE_CHAINS: { readonly [chainId: string]: object } = {
  '0x2105': {
    chainName: 'Base',
    nativeCurrency: ETHER,
    rpcUrls: ['https://mainnet.base.org'],
    blockExplorerUrls: ['https://basescan.org'],
  },
  '0x14a34': {
    chainName: 'Base Sepolia',
    nativeCurrency: ETHER,
    rpcUrls: ['https://sepolia.base.org'],
    blockExplorerUrls: ['https://sepolia.basescan.org'],
  },
}

/** What adds a chain to a wallet that has it not; null for chains that every wallet has, or that are nobody else's. */
export function walletChain(chainId: string): object | null {
  const chain = ADDABLE_CHAINS[chainId]
  return chain === undefined ? null : { chainId, ...chain }
}

const quantity = (value: bigint): string => `0x${value.toString(16)}`

/** 32 bytes, filled up on the left. */
const word = (hex: string): string => hex.toLowerCase().padStart(WORD_DIGITS, '0')
