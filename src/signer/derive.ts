import { HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToEntropy, mnemonicToSeed } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { receiveEvmAddresses } from '../chain/evm/receive-addresses.ts'
import { receiveAddresses } from '../chain/utxo/receive-addresses.ts'
import type { KeyFamily, Keyspace } from '../core/assets.ts'
import { AddressIssuer } from './issue-addresses.ts'
import { SOLANA_KEYSPACES, SOLANA_PATH, SolanaKeys } from './solana-addresses.ts'

/** The public side of an account. */
export type Account = {
  readonly keyspace: Keyspace
  readonly path: string
  /** Extended public key (BIP32); null where derivation is hardened only. */
  readonly xpub: string | null
  /** By which the signer signs batches of its addresses. */
  readonly batchKey: Uint8Array
}

const WORDS = 24

/**
 * The account of each keyspace: purpose, coin type (SLIP-44) and account, the last being 0 for live and 1 for
 * test, so that no test address is ever a live one. Solana has no public derivation: see solana-addresses.
 */
export const ACCOUNT_PATHS: readonly { readonly keyspace: Keyspace; readonly path: string }[] = [
  { keyspace: 'bitcoin-live', path: "m/84'/0'/0'" },
  { keyspace: 'bitcoin-test', path: "m/84'/0'/1'" },
  { keyspace: 'litecoin-live', path: "m/84'/2'/0'" },
  { keyspace: 'litecoin-test', path: "m/84'/2'/1'" },
  { keyspace: 'evm-live', path: "m/44'/60'/0'" },
  { keyspace: 'evm-test', path: "m/44'/60'/1'" },
]

/** The 24 words of 32 bytes of entropy (BIP39, English): what a stock wallet restores from. */
export function wordsOf(entropy: Uint8Array): string {
  return entropyToMnemonic(entropy, wordlist)
}

/**
 * The 32 bytes that 24 words (BIP39, English) stand for, whatever spaces and capitals a person typed; null where
 * a word is wrong or the checksum is.
 */
export function entropyOf(words: string): Uint8Array | null {
  const typed = words.trim().toLowerCase().split(/\s+/)
  if (typed.length !== WORDS) return null
  try {
    return mnemonicToEntropy(typed.join(' '), wordlist)
  } catch {
    // The library's message repeats the word, which must stay secret: the error only says that something is wrong.
    return null
  }
}

/** The node at `path` below the master of a BIP32 seed. It holds a private key. */
export function deriveNode(seed: Uint8Array, path: string): HDKey {
  return HDKey.fromMasterSeed(seed).derive(path)
}

/** The public side of every account below these words (no BIP39 passphrase), and the objects that keep deriving. */
export async function openAccountsOf(words: string): Promise<{
  readonly accounts: Account[]
  readonly issuer: AddressIssuer
  readonly solana: SolanaKeys
  /** With their private keys, for payouts. */
  readonly spenders: ReadonlyMap<Keyspace, HDKey>
}> {
  const seed = await mnemonicToSeed(words)
  try {
    const solana = new SolanaKeys(seed)
    const spenders = new Map(ACCOUNT_PATHS.map(({ keyspace, path }) => [keyspace, deriveNode(seed, path)]))
    const issuer = new AddressIssuer(seed, [
      ...[...spenders].map(([keyspace, node]) => ({
        keyspace,
        batchPath: batchPathOf(keyspace),
        addressAt: addressesBelow(keyspace, node.publicExtendedKey),
      })),
      ...SOLANA_KEYSPACES.map((keyspace) => ({
        keyspace,
        batchPath: batchPathOf(keyspace),
        addressAt: (index: number) => solana.ownerAt(keyspace, index),
      })),
    ])
    const published = [
      ...ACCOUNT_PATHS.map((one) => ({
        ...one,
        xpub: spenders.get(one.keyspace)?.publicExtendedKey ?? null,
      })),
      ...SOLANA_KEYSPACES.map((keyspace) => ({ keyspace, path: SOLANA_PATH, xpub: null })),
    ]
    const accounts = published.map((one) => ({ ...one, batchKey: issuer.batchKey(one.keyspace) }))
    return { accounts, issuer, solana, spenders }
  } finally {
    seed.fill(0)
  }
}

/** Coin types of SLIP-44. */
const COIN_TYPES: { readonly [family in KeyFamily]: number } = {
  bitcoin: 0,
  litecoin: 2,
  evm: 60,
  solana: 501,
}

function batchPathOf(keyspace: Keyspace): [coin: number, mode: number] {
  const [family, mode] = keyspace.split('-') as [KeyFamily, 'live' | 'test']
  return [COIN_TYPES[family], mode === 'live' ? 0 : 1]
}

const addressesBelow = (keyspace: Keyspace, xpub: string): ((index: number) => Uint8Array) =>
  keyspace.startsWith('evm-') ? receiveEvmAddresses(xpub) : receiveAddresses(xpub)
