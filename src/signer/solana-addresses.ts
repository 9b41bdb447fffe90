import { HDKey } from 'micro-key-producer/slip10.js'
import { keyspaceOfNetwork, type Network } from '../core/assets.ts'

export type SolanaKeyspace = 'solana-live' | 'solana-test'
export const SOLANA_KEYSPACES: readonly SolanaKeyspace[] = ['solana-live', 'solana-test']

export function solanaKeyspace(network: Network): SolanaKeyspace {
  const keyspace = keyspaceOfNetwork(network)
  if (keyspace === 'solana-live' || keyspace === 'solana-test') return keyspace
  throw new Error(`${network} is no network of Solana`)
}

/** BIP44 purpose and Solana's coin type (SLIP-44); every level is hardened (SLIP-10). */
export const SOLANA_PATH = "m/44'/501'"
/** No test address is ever a live one: the accounts of test mode are the upper half. */
const TEST_ACCOUNTS_FROM = 0x4000_0000
const ACCOUNTS_MAX = 0x4000_0000
/** m/44'/501'/0'/branch': deposit addresses are all in branch 0. */
const HOUSE_BRANCHES = { fee_payer: 1, vault: 2, x402_fee_payer: 3 } as const

/** Whether a keyspace has this index: whoever asks for a sweep may write any number. */
export const isDepositIndex = (index: number): boolean =>
  Number.isInteger(index) && index >= 0 && index < ACCOUNTS_MAX

/** Derives Solana's keys. Holds private ones: it never leaves the signer. */
export class SolanaKeys {
  readonly #coin: HDKey

  /** Below a BIP39 seed. */
  constructor(seed: Uint8Array) {
    this.#coin = HDKey.fromMasterSeed(seed).derive(SOLANA_PATH)
  }

  /** The owner at m/44'/501'/index'/0', as wallets derive it. */
  ownerAt(keyspace: SolanaKeyspace, index: number): Uint8Array {
    return this.#nodeAt(keyspace, index, 0).publicKeyRaw
  }

  /** That owner's private key, 32 bytes of the caller's own. */
  keyAt(keyspace: SolanaKeyspace, index: number): Uint8Array {
    return Uint8Array.from(this.#nodeAt(keyspace, index, 0).privateKey)
  }

  /** The private key of an account of the signer's own, 32 bytes of the caller's own: beside the first deposit address. */
  signerAccountKey(keyspace: SolanaKeyspace, account: keyof typeof HOUSE_BRANCHES): Uint8Array {
    return Uint8Array.from(this.#nodeAt(keyspace, 0, HOUSE_BRANCHES[account]).privateKey)
  }

  #nodeAt(keyspace: SolanaKeyspace, index: number, branch: number): HDKey {
    if (!isDepositIndex(index)) throw new Error(`${keyspace} has no index ${index}`)
    const account = keyspace === 'solana-test' ? TEST_ACCOUNTS_FROM + index : index
    return this.#coin.derive(`m/${account}'/${branch}'`)
  }
}
