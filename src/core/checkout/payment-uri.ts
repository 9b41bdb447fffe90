import { ASSETS, type AssetId, isToken } from '../assets.ts'
import { evmNetworkOf, isEvmChain } from '../chain/evm-networks.ts'
import type { TokenContracts } from '../chain/evm-parameters.ts'
import { formatCoinAmount } from '../money.ts'
import { unreachable } from '../unreachable.ts'

/** What a wallet must know of a test network that is not the public one; Solana's have no chain id. */
export type ChainIdentity = { readonly chainId: number | null; readonly tokenContracts: TokenContracts }

export type PaymentRequest = {
  readonly asset: AssetId
  readonly livemode: boolean
  readonly address: string
  /** Base units still to send; zero makes a URI that names no amount. */
  readonly amount: bigint
  /** In place of the network's own values, where a sandbox runs under others. */
  readonly identity?: ChainIdentity | undefined
}

/**
 * The URI that opens a wallet with address and amount filled in: BIP 21 for Bitcoin and Litecoin, EIP-681 for
 * Ether and USDC, Solana Pay's transfer request for Solana. Bech32 stays in lower case because several wallets
 * refuse the upper case that would make a smaller QR code.
 */
export function paymentUri(request: PaymentRequest): string {
  const { asset, address, amount } = request
  const { keyFamily } = ASSETS[asset]
  switch (keyFamily) {
    case 'bitcoin':
    case 'litecoin':
      return `${keyFamily}:${address.toLowerCase()}${decimalAmount(asset, amount)}`
    case 'solana':
      return solanaUri(request)
    case 'evm':
      return evmUri(request)
    default:
      return unreachable(keyFamily)
  }
}

function evmUri(request: PaymentRequest): string {
  const { asset, address, amount } = request
  const chainId = chainIdOf(request)
  if (!isToken(asset)) return `ethereum:${address}@${chainId}${amount === 0n ? '' : `?value=${amount}`}`
  const sum = amount === 0n ? '' : `&uint256=${amount}`
  const contract = contractOf(asset, request.livemode, request.identity)
  // A wallet that knows no contract is left with the address.
  if (contract === null) return `ethereum:${address}@${chainId}`
  return `ethereum:${contract}@${chainId}/transfer?address=${address}${sum}`
}

/** See docs.solanapay.com/spec: a token is named by its mint, and the amount is in whole tokens. */
function solanaUri(request: PaymentRequest): string {
  const { asset, address, amount } = request
  if (!isToken(asset)) return `solana:${address}${decimalAmount(asset, amount)}`
  const mint = contractOf(asset, request.livemode, request.identity)
  // A wallet that knows no mint is left with the address, and must not take the amount for SOL.
  if (mint === null) return `solana:${address}`
  const sum = decimalAmount(asset, amount)
  return `solana:${address}${sum === '' ? '?' : `${sum}&`}spl-token=${mint}`
}

function decimalAmount(asset: AssetId, amount: bigint): string {
  return amount === 0n ? '' : `?amount=${formatCoinAmount(amount, ASSETS[asset].decimals)}`
}

/** EIP-155 chain id of a request in an EVM asset. Throws for any other asset. */
export function chainIdOf(request: PaymentRequest): number {
  const { chain } = ASSETS[request.asset]
  if (!isEvmChain(chain)) throw new Error(`${chain} has no EVM chain id`)
  const { main, testnet } = evmNetworkOf(chain)
  return request.identity?.chainId ?? (request.livemode ? main : testnet).chainId
}

/** The contract or mint whose tokens are paid on a network; null where none is known there. Throws for a coin. */
export function contractOf(
  asset: AssetId,
  livemode: boolean,
  identity: ChainIdentity | undefined,
): string | null {
  const { token, symbol } = ASSETS[asset]
  if (token === null) throw new Error(`${asset} has no contract`)
  return identity?.tokenContracts[symbol] ?? (livemode ? token.contracts.live : token.contracts.test)
}
