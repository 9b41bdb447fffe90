import { HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToEntropy, mnemonicToSeed } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import type { Keyspace } from '../core/assets.ts'
import { SOLANA_KEYSPACES, SOLANA_PATH, SolanaIssuer } from './solana-addresses.ts'

/** An account whose addresses anybody with its extended public key can derive, and nobody can spend from. */
export type AccountKey = {
  readonly keyspace: Keyspace
  readonly path: string
  readonly xpub: string
  readonly batchKey: null
}

/** An account whose addresses only the signer derives; it signs batches of them. */
export type IssuedAccount = {
  readonly keyspace: Keyspace
  readonly path: string
  readonly xpub: null
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
    // The library's message repeats the word; whoever typed it wrongly learns only that something is wrong.
    return null
  }
}

/** The node at `path` below the master of a BIP32 seed. It holds a private key. */
export function deriveNode(seed: Uint8Array, path: string): HDKey {
  return HDKey.fromMasterSeed(seed).derive(path)
}

/** The extended public keys (BIP32) of every account below these words, without a BIP39 passphrase. */
export async function accountKeysOf(words: string): Promise<AccountKey[]> {
  return (await openAccountsOf(words)).derived
}

/** The public side of every account, and what goes on deriving Solana's addresses. */
export async function openAccountsOf(words: string): Promise<{
  readonly derived: AccountKey[]
  readonly issued: IssuedAccount[]
  readonly issuer: SolanaIssuer
  /** With their private keys, for payouts. */
  readonly spenders: ReadonlyMap<Keyspace, HDKey>
}> {
  const seed = await mnemonicToSeed(words)
  try {
    const issuer = new SolanaIssuer(seed)
    const issued = SOLANA_KEYSPACES.map(
      (keyspace): IssuedAccount => ({
        keyspace,
        path: SOLANA_PATH,
        xpub: null,
        batchKey: issuer.batchKey(keyspace),
      }),
    )
    const spenders = new Map<Keyspace, HDKey>()
    const derived = ACCOUNT_PATHS.map(({ keyspace, path }): AccountKey => {
      const node = deriveNode(seed, path)
      const xpub = node.publicExtendedKey
      spenders.set(keyspace, node)
      return { keyspace, path, xpub, batchKey: null }
    })
    return { derived, issued, issuer, spenders }
  } finally {
    seed.fill(0)
  }
}
