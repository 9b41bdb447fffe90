import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { HARDENED_OFFSET, type HDKey } from '@scure/bip32'
import { evmAddressOf } from '../../../chain/evm/address.ts'
import { HOT_WALLET_CHAIN, HOT_WALLET_INDEX } from '../../../chain/evm/hot-wallet.ts'
import { sweeperOf } from '../../../chain/evm/sweeper.ts'
import {
  authorizationHashOf,
  authorizedCall,
  type EvmSignature,
  type TokenAuthorization,
  type TokenDomain,
} from '../../../chain/evm/token-authorization.ts'
import {
  type EvmTransaction,
  type SignedDelegation,
  signDelegation,
  signTransaction,
} from '../../../chain/evm/transaction.ts'

const DEPOSIT_CHAIN = 0

/** A key below an account, for as long as `work` takes; afterwards it is wiped. */
function withKey<Result>(
  account: HDKey,
  place: { readonly chain: number; readonly index: number },
  work: (key: Uint8Array, address: Uint8Array) => Result,
): Result {
  const { privateKey, publicKey } = account.deriveChild(place.chain).deriveChild(place.index)
  if (privateKey === null || publicKey === null) throw new Error('an account has no private key')
  try {
    return work(privateKey, evmAddressOf(publicKey))
  } finally {
    privateKey.fill(0)
  }
}

const HOT_WALLET = { chain: HOT_WALLET_CHAIN, index: HOT_WALLET_INDEX }

/** The 20 bytes of the account's hot wallet. */
export const hotWalletAddress = (account: HDKey): Uint8Array =>
  withKey(account, HOT_WALLET, (_key, address) => address)

/** The 20 bytes of a deposit address; none where the account has no such index, for rows may name any number. */
export const depositAddress = (account: HDKey, index: number): Uint8Array =>
  Number.isInteger(index) && index >= 0 && index < HARDENED_OFFSET
    ? withKey(account, { chain: DEPOSIT_CHAIN, index }, (_key, address) => address)
    : new Uint8Array()

/** A signature over 32 bytes: of the two possible ones, the one with the low `s`, which chains accept (EIP-2). */
function signHash(hash: Uint8Array, key: Uint8Array): EvmSignature {
  const bytes = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
  const { r, s, recovery } = secp256k1.Signature.fromBytes(bytes, 'recovered')
  if (recovery !== 0 && recovery !== 1) throw new Error('a signature whose point cannot be recovered')
  return { parity: recovery, r, s }
}

type Signed = { readonly txid: string; readonly raw: Buffer }

/** Signs a transaction of the hot wallet. */
export const signFromHotWallet = (account: HDKey, transaction: EvmTransaction): Signed =>
  withKey(account, HOT_WALLET, (key) => signTransaction(transaction, key))

/** Signs a transaction of a deposit address, which pays the account's own hot wallet and nobody else. */
export function signSweep(account: HDKey, index: number, terms: Omit<EvmTransaction, 'to' | 'data'>): Signed {
  const transaction = { ...terms, to: hotWalletAddress(account), data: new Uint8Array() }
  return withKey(account, { chain: DEPOSIT_CHAIN, index }, (key) => signTransaction(transaction, key))
}

/** A deposit address's signature that it runs the sweeper of the account's own hot wallet from now on, and nothing else's. */
export function signSweeperDelegation(
  account: HDKey,
  index: number,
  at: { readonly chainId: bigint; readonly nonce: bigint },
): SignedDelegation {
  const delegation = { ...at, to: sweeperOf(hotWalletAddress(account)) }
  // Chain 0 would stand for every chain.
  if (at.chainId === 0n) throw new Error('a delegation names its chain')
  return withKey(account, { chain: DEPOSIT_CHAIN, index }, (key) => signDelegation(delegation, key))
}

/**
 * The call by which the hot wallet takes tokens from a deposit address, with that address's signature (EIP-3009). Its
 * nonce is the hash of the sweep's id, so that no sweep happens twice whatever carries it.
 */
export function tokenSweepCall(
  account: HDKey,
  sweep: { readonly id: string; readonly index: number; readonly value: bigint },
  domain: TokenDomain,
): Uint8Array {
  const to = hotWalletAddress(account)
  return withKey(account, { chain: DEPOSIT_CHAIN, index: sweep.index }, (key, from) => {
    const nonce = keccak_256(utf8ToBytes(sweep.id))
    const authorization: TokenAuthorization = { from, to, value: sweep.value, nonce }
    return authorizedCall(authorization, signHash(authorizationHashOf(domain, authorization), key))
  })
}
