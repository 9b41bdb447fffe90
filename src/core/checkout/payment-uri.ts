import { ASSETS, type AssetId, type Network, networkOf } from '../assets.ts'
import { formatCoinAmount } from '../money.ts'

/** EIP-155 chain ids; the test ones are Sepolia and Base Sepolia. */
const EVM_CHAIN_IDS: { readonly [network in Network]?: number } = {
  'ethereum-live': 1,
  'base-live': 8453,
  'ethereum-test': 11_155_111,
  'base-test': 84_532,
}

/** Circle's USDC contracts. A test network with a token of its own says so in the request. */
const USDC_CONTRACTS: { readonly [network in Network]?: string } = {
  'base-live': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'base-test': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
}

/** What a wallet must be told of a test network that is not the public one. */
export type EvmIdentity = { readonly chainId: number; readonly usdcContract: string | null }

export type PaymentRequest = {
  readonly asset: AssetId
  readonly livemode: boolean
  readonly address: string
  /** Base units still to send; zero makes a URI that names no amount. */
  readonly amount: bigint
  /** In place of the network's own values, where a sandbox runs under others. */
  readonly evm?: EvmIdentity | undefined
}

/**
 * The URI that opens a wallet with address and amount filled in: BIP 21 for Bitcoin and Litecoin, EIP-681 for
 * Ether and USDC, Solana Pay's transfer request for Solana. Bech32 stays in lower case because several wallets
 * refuse the upper case that would make a smaller QR code.
 */
export function paymentUri(request: PaymentRequest): string {
  const { asset, address, amount } = request
  switch (asset) {
    case 'BTC':
      return `bitcoin:${address.toLowerCase()}${decimalAmount(asset, amount)}`
    case 'LTC':
      return `litecoin:${address.toLowerCase()}${decimalAmount(asset, amount)}`
    case 'SOL':
      return `solana:${address}${decimalAmount(asset, amount)}`
    case 'ETH':
    case 'ETH_BASE':
      return `ethereum:${address}@${chainIdOf(request)}${amount === 0n ? '' : `?value=${amount}`}`
    case 'USDC_BASE': {
      const sum = amount === 0n ? '' : `&uint256=${amount}`
      return `ethereum:${usdcContractOf(request)}@${chainIdOf(request)}/transfer?address=${address}${sum}`
    }
    default:
      return unreachable(asset)
  }
}

function decimalAmount(asset: AssetId, amount: bigint): string {
  return amount === 0n ? '' : `?amount=${formatCoinAmount(amount, ASSETS[asset].decimals)}`
}

/** EIP-155 chain id of a request in an EVM asset. Throws for any other asset. */
export function chainIdOf(request: PaymentRequest): number {
  const network = networkOf(request.asset, request.livemode)
  const id = request.evm?.chainId ?? EVM_CHAIN_IDS[network]
  if (id === undefined) throw new Error(`${network} has no EVM chain id`)
  return id
}

/** The contract whose tokens a request in USDC is paid with. Throws for a network without one. */
export function usdcContractOf(request: PaymentRequest): string {
  const network = networkOf(request.asset, request.livemode)
  const contract = request.evm?.usdcContract ?? USDC_CONTRACTS[network]
  if (contract === undefined) throw new Error(`${network} has no USDC contract`)
  return contract
}

function unreachable(asset: never): never {
  throw new Error(`no payment URI for ${String(asset)}`)
}
