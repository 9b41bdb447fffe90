import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ASSET_IDS } from '../../core/assets.ts'
import { outpointKey } from '../../core/chain/outpoint.ts'

const hex = z.string().regex(/^(?:[0-9a-f]{2})+$/)
const units = z.string().regex(/^[0-9]{1,60}$/)
const outpoint = z.object({ txid: hex, output_index: z.int().nonnegative() })

/** What a signature is for, as far as a restored database must know it. */
const intent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('payout'),
    merchant_id: z.string(),
    asset: z.enum(ASSET_IDS),
    amount: units,
    network_fee_max: units,
    destination: z.string(),
    source: z.enum(['available', 'fees']),
  }),
  z.object({
    kind: z.literal('sweep'),
    merchant_id: z.string(),
    asset: z.enum(ASSET_IDS),
    amount: units,
    /** For whose sake. */
    payout_id: z.string(),
    address: hex,
    key_index: z.int().nonnegative(),
    nonce: z.int().nonnegative().nullable(),
    /** Missing where the sweep delegates nothing. */
    delegation_nonce: z.int().nonnegative().optional(),
  }),
  z.object({
    kind: z.literal('vault_sweep'),
    merchant_id: z.string(),
    asset: z.enum(ASSET_IDS),
    amount: units,
    sources: z.array(z.object({ key_index: z.int().nonnegative(), amount: units })).min(1),
  }),
])
export type SignedIntent = z.infer<typeof intent>

/**
 * Fields of every signature, on any chain. Unknown fields of a newer release are ignored and stay in the file, so that
 * the journal does not look damaged after a downgrade.
 */
const common = {
  /** Of the payout, or of the sweep for its sake. */
  payout_id: z.string(),
  number: z.int().positive(),
  network: z.string(),
  /** SHA-256 of what was approved. */
  digest: hex,
  raw: hex,
  /** What the payout pays for it, in units of its asset. */
  network_fee: units,
  from_height: z.int().nonnegative(),
  signed_at: z.int(),
  /** Missing in lines of older releases. */
  intent: intent.optional(),
  /** The byte at which its writer meant the line to begin; missing in lines of older releases. */
  at: z.int().nonnegative().optional(),
}

const utxoLine = z.object({
  ...common,
  txid: hex,
  inputs: z.array(outpoint).min(1),
  change: outpoint.extend({ amount: units, change_index: z.int().nonnegative() }).nullable(),
})
/** A signature over coins (Bitcoin, Litecoin). */
export type UtxoEntry = z.infer<typeof utxoLine>

const evmLine = z.object({
  ...common,
  txid: z.string().regex(/^0x[0-9a-f]{64}$/),
  /** The account that sends, 20 bytes. */
  sender: z.string().regex(/^[0-9a-f]{40}$/),
  nonce: z.int().nonnegative(),
  gas: units,
  /** Wei for a unit of gas (EIP-1559). */
  max_fee: units,
  tip: units,
})
/** A signature of an account (Ethereum, Base). */
export type EvmEntry = z.infer<typeof evmLine>

const base58 = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,88}$/)
const solanaLine = z.object({
  ...common,
  txid: base58,
  /** The durable nonce, and the value of it that the signature is over. */
  durable_nonce: z.object({ account: base58, value: base58 }),
  /** It creates its destination's token account, at the fee payer's cost. */
  creates_account: z.literal(true).optional(),
})
/** A signature over a durable nonce (Solana). */
export type SolanaEntry = z.infer<typeof solanaLine>

const vaultSweepLine = z.object({
  ...common,
  txid: base58,
  /** The height of the last block that may include it. */
  last_valid_height: z.int().nonnegative(),
})
/** A signature that moves deposits into the vault (Solana). */
export type VaultSweepEntry = z.infer<typeof vaultSweepLine>

/** An older release reads it as a sweep of no intent, which moves nothing in its books. */
const x402SolanaLine = vaultSweepLine.extend({
  /** What creates the recipient's token account. */
  creation: z.object({ txid: base58, raw: hex }),
})
/** A signature under what a payer signed (Solana). */
export type X402SolanaEntry = z.infer<typeof x402SolanaLine>

export const lineSchema = z.union([utxoLine, evmLine, solanaLine, x402SolanaLine, vaultSweepLine])

/** One signature: written, and on the disk, before anybody else learns of the transaction. */
export type JournalEntry = z.infer<typeof lineSchema>

/** What the journal could not be read again with. */
export class UnreadableLine extends Error {
  override name = 'UnreadableLine'
}

/** Throws `UnreadableLine`: part of what goes into a line comes from rows, whose writers may write any number. */
export function requireReadable(entry: JournalEntry): void {
  const { error } = lineSchema.safeParse(entry)
  if (error !== undefined)
    throw new UnreadableLine(`no journal can hold what was signed for ${entry.payout_id}`, { cause: error })
}

export const isUtxoEntry = (entry: JournalEntry): entry is UtxoEntry => 'inputs' in entry

export const isVaultSweepEntry = (entry: JournalEntry): entry is VaultSweepEntry =>
  'last_valid_height' in entry && !('creation' in entry)

export const isEvmEntry = (entry: JournalEntry): entry is EvmEntry => 'nonce' in entry

/** The name of what a transaction with this nonce uses up. */
export const nonceClaim = (of: {
  readonly network: string
  /** 20 bytes, hex. */
  readonly sender: string
  readonly nonce: number
}): string => `${of.network}:${of.sender}:${of.nonce}`

/** The name of what a transaction over this value of a durable nonce (Solana) uses up. */
export const durableNonceClaim = (
  network: string,
  nonce: { readonly account: string; readonly value: string },
): string => `${network}:${nonce.account}:${nonce.value}`

/** What a transaction uses up: of two that share one of these, only one can happen. */
export function claimsOf(entry: JournalEntry): readonly string[] {
  if (isEvmEntry(entry)) return [nonceClaim(entry)]
  if ('durable_nonce' in entry) return [durableNonceClaim(entry.network, entry.durable_nonce)]
  // Of two over the same deposits the second finds nothing to move, and fails; a payer's is signed once.
  if ('last_valid_height' in entry) return []
  return entry.inputs.map((input) => outpointKey({ txid: input.txid, outputIndex: input.output_index }))
}

/** Whether each of these signatures is over this digest. */
export const areSignedOver = (entries: readonly { readonly digest: string }[], digest: Uint8Array): boolean =>
  entries.every((entry) => isSameDigest(Buffer.from(entry.digest, 'hex'), digest))

export const isSameDigest = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
