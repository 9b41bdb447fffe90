import { dirname, join } from 'node:path'
import { type Keyring, openKeyring } from './keyring.ts'
import { readSecretKey } from './secret-key.ts'
import { isSignedBy, openSigningKey, type SigningKey } from './signing-key.ts'

const PURPOSE = 'outcome_key/1'
const ALGORITHM = 'Ed25519'

/** Bytes of a watcher key. */
export const WATCHER_KEY_BYTES = 32

/**
 * The secret by which the watcher's process seals what it saw on a chain, derived from the installation's secret key: nothing
 * else follows from it, and no login of the database holds it.
 */
export const watcherKeyOf = (keyring: Keyring): Buffer => keyring.mac(PURPOSE, Buffer.from(ALGORITHM))

/** What the watcher seals outcomes with. */
export const openOutcomeKey = (watcherKey: Uint8Array): SigningKey => openSigningKey(watcherKey)

/** The same by the settings of a process: `WATCHER_KEY`, else the installation's secret key; null where it has neither. */
export async function findOutcomeKey(config: {
  readonly dataDir: string
  readonly secretKey: Uint8Array | null
  readonly watcherKey: Uint8Array | null
}): Promise<SigningKey | null> {
  if (config.watcherKey !== null) return openOutcomeKey(config.watcherKey)
  const secret = await readSecretKey(config.dataDir, config.secretKey)
  return secret === null ? null : openOutcomeKey(watcherKeyOf(openKeyring(secret)))
}

/** Where the API writes the public half for the signer: beside its key for approvals. */
export const outcomeKeyFileOf = (approvalKeyFile: string): string =>
  join(dirname(approvalKeyFile), 'outcome-key')

/** What a watcher saw on a chain: what became of something that the signer signed, or what is to be signed next. */
export type Outcome =
  /** A sweep's transaction is in a block, and did what it was to do. */
  | { readonly kind: 'landed'; readonly network: string; readonly txid: string }
  /** None of a payout's transactions, oldest first, pays any more. */
  | {
      readonly kind: 'failed'
      readonly network: string
      readonly payoutId: string
      readonly txids: readonly string[]
    }
  /** This nonce of a deposit address is its next, or was. `address`: hex. */
  | {
      readonly kind: 'next_nonce'
      readonly network: string
      readonly address: string
      readonly nonce: number
    }

function messageOf(outcome: Outcome): Buffer {
  const { kind, network } = outcome
  const about = kind === 'failed' ? [outcome.payoutId, ...outcome.txids] : [txidOf(outcome)]
  return Buffer.from(['paylink outcome 1', kind, network, ...about].join('\n'))
}

export const sealOutcome = (key: SigningKey, outcome: Outcome): Buffer => key.sign(messageOf(outcome))

export const isOutcomeSealed = (publicKey: Uint8Array, outcome: Outcome, seal: Uint8Array): boolean =>
  isSignedBy(publicKey, messageOf(outcome), seal)

/** The same of what the watcher read of a hot wallet, as `textOfHotWallet` writes it. */
const readingOf = (text: string): Buffer => Buffer.from(`paylink hot wallet 1\n${text}`)

export const sealReading = (key: SigningKey, text: string): Buffer => key.sign(readingOf(text))

export const isReadingSealed = (publicKey: Uint8Array, text: string, seal: Uint8Array): boolean =>
  isSignedBy(publicKey, readingOf(text), seal)

/** What an outcome is kept by: a transaction, of a payout's the newest, so that one signed later needs another seal; or a nonce. */
export function txidOf(outcome: Outcome): string {
  if (outcome.kind === 'next_nonce') return `${outcome.address}/${outcome.nonce}`
  return outcome.kind === 'landed' ? outcome.txid : (outcome.txids.at(-1) ?? '')
}
