import { z } from 'zod'
import { TOKEN_PROGRAMS } from '../../core/chain/solana-mints.ts'
import { allOf, isRecord, parsedBy } from '../parse-by-hand.ts'

/** Answers of a Solana node as kit hands them over: integers are bigints. */

export const plainAnswerSchema = z.object({ result: z.unknown().optional(), error: z.unknown().optional() })

const integer = z.union([z.bigint(), z.int()]).transform((value) => Number(value))
const LAMPORTS_MAX = 2n ** 64n - 1n
/** Long ones come as the digits that the node sent. Null for what is none. */
function lamportsOf(value: unknown): bigint | null {
  const isInteger =
    typeof value === 'string'
      ? /^[0-9]{16,20}$/.test(value)
      : typeof value === 'bigint' || Number.isSafeInteger(value)
  const amount = isInteger ? BigInt(value as string | number | bigint) : -1n
  return amount >= 0n && amount <= LAMPORTS_MAX ? amount : null
}
const lamports = parsedBy(lamportsOf)

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= 32 && value.length <= 88
const name = z.custom<string>(isName)

export const slotSchema = integer.refine((slot) => Number.isSafeInteger(slot) && slot >= 0)
export const slotsSchema = z.array(slotSchema)
export const lamportsSchema = lamports

export const blockHeadSchema = z.object({
  blockhash: name,
  previousBlockhash: name,
  parentSlot: slotSchema,
  blockTime: integer.nullable(),
})
export type BlockHead = z.output<typeof blockHeadSchema>

const tokenBalanceSchema = z.object({
  accountIndex: integer,
  mint: z.string(),
  owner: z.string().optional(),
  uiTokenAmount: z.object({ amount: z.string().regex(/^[0-9]+$/) }),
})
export type TokenBalance = z.output<typeof tokenBalanceSchema>

const metaSchema = z.object({
  err: z.unknown(),
  preBalances: z.array(lamports),
  postBalances: z.array(lamports),
  preTokenBalances: z.array(tokenBalanceSchema).nullish(),
  postTokenBalances: z.array(tokenBalanceSchema).nullish(),
  loadedAddresses: z.object({ writable: z.array(name), readonly: z.array(name) }).nullish(),
})

/** A transaction as both ways of reading show it. */
export type TransactionInBlock = {
  readonly signature: string
  readonly failed: boolean
  /** Static keys, then those that lookup tables load, writable ones first. */
  readonly accounts: readonly string[]
  readonly pre: readonly bigint[]
  readonly post: readonly bigint[]
  readonly preTokens: readonly TokenBalance[]
  readonly postTokens: readonly TokenBalance[]
}

const tokenBalanceOf = (value: unknown) => tokenBalanceSchema.safeParse(value).data ?? null
const nameOf = (value: unknown) => (isName(value) ? value : null)
const keyOf = (value: unknown) => (isRecord(value) ? nameOf(value.pubkey) : null)

/**
 * One of a block's transactions, null where something is missing of it. By hand: a block has thousands of them, which a
 * schema takes several times as long for.
 */
function readListed(value: unknown): TransactionInBlock | null {
  if (!isRecord(value) || !isRecord(value.transaction) || !isRecord(value.meta)) return null
  const { transaction, meta } = value
  const signatures = allOf(transaction.signatures, nameOf)
  const accounts = allOf(transaction.accountKeys, keyOf)
  const preBalances = allOf(meta.preBalances, lamportsOf)
  const postBalances = allOf(meta.postBalances, lamportsOf)
  const preTokenBalances = allOf(meta.preTokenBalances ?? [], tokenBalanceOf)
  const postTokenBalances = allOf(meta.postTokenBalances ?? [], tokenBalanceOf)
  if (signatures === null || accounts === null || preBalances === null || postBalances === null) return null
  if (preTokenBalances === null || postTokenBalances === null) return null
  // What is not said to have succeeded would be taken for failed, and a payment in it missed.
  if (meta.err === undefined) return null
  const balances = { err: meta.err, preBalances, postBalances, preTokenBalances, postTokenBalances }
  const read = readTransaction(signatures, accounts, balances)
  return isWhole(read) ? read : null
}

function readTransaction(
  signatures: readonly string[],
  accounts: readonly string[],
  meta: Omit<z.output<typeof metaSchema>, 'loadedAddresses'>,
): TransactionInBlock {
  return {
    signature: signatures[0] ?? '',
    failed: meta.err !== null,
    accounts,
    pre: meta.preBalances,
    post: meta.postBalances,
    preTokens: meta.preTokenBalances ?? [],
    postTokens: meta.postTokenBalances ?? [],
  }
}

/** Balances must be there for every account: a node that leaves some out hides payments. */
const isWhole = ({ accounts, pre, post, signature }: TransactionInBlock): boolean =>
  signature !== '' && accounts.length > 0 && pre.length === accounts.length && post.length === accounts.length

/** Lamports that a block gave, or took, outside of its transactions. */
const rewardSchema = z.object({
  pubkey: name,
  lamports: z
    .union([z.bigint(), z.int(), z.string().regex(/^-?[0-9]{16,20}$/)])
    .transform((value) => BigInt(value)),
})

export const blockWithAccountsSchema = blockHeadSchema.extend({
  rewards: z.array(rewardSchema).nullish(),
  transactions: z.array(parsedBy(readListed)),
})
export type BlockWithAccounts = z.output<typeof blockWithAccountsSchema>

export const transactionSchema = z
  .object({
    slot: slotSchema,
    transaction: z.object({
      message: z.object({ accountKeys: z.array(name), recentBlockhash: name.nullish() }),
      signatures: z.array(name).min(1),
    }),
    meta: metaSchema,
  })
  .transform(({ slot, transaction, meta }) => {
    const { writable = [], readonly = [] } = meta.loadedAddresses ?? {}
    const accounts = [...transaction.message.accountKeys, ...writable, ...readonly]
    const lifetime = transaction.message.recentBlockhash ?? null
    return { slot, lifetime, ...readTransaction(transaction.signatures, accounts, meta) }
  })
  .refine(isWhole)

/** A single transaction, with its slot and what it was signed over: a block's hash or the value of a durable nonce. */
export type TransactionAlone = z.output<typeof transactionSchema>

export const transactionBytesSchema = z
  .object({ transaction: z.tuple([z.string(), z.literal('base64')]) })
  .transform(({ transaction: [base64] }) => Buffer.from(base64, 'base64'))

const signatureEntrySchema = z.object({ signature: name, slot: slotSchema, err: z.unknown() })
export type SignatureEntry = z.output<typeof signatureEntrySchema>
export const signatureEntriesSchema = z.array(signatureEntrySchema)

export const statusesSchema = z.object({
  value: z.array(
    z
      .object({
        slot: slotSchema,
        err: z.unknown(),
        confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
      })
      .transform(({ slot, err, confirmationStatus: reached }) => ({
        slot,
        failed: err != null,
        isConfirmed: reached === 'confirmed' || reached === 'finalized',
        isFinal: reached === 'finalized',
      }))
      .nullable(),
  ),
})

/** Accounts with their bytes. */
export const accountBytesSchema = z.object({
  context: z.object({ slot: slotSchema }),
  value: z.array(
    z
      .object({ lamports, owner: name, data: z.tuple([z.string(), z.literal('base64')]) })
      .transform(({ data: [base64], ...rest }) => ({ ...rest, data: Buffer.from(base64, 'base64') }))
      .nullable(),
  ),
})
export type AccountBytes = NonNullable<z.output<typeof accountBytesSchema>['value'][number]>

/** Where every token account has its amount, with extensions or without: after its mint and its owner. */
export const TOKEN_AMOUNT = { offset: 64, length: 8 }

/** Accounts of whose bytes only those of `TOKEN_AMOUNT` were asked for. */
export const balancesSchema = accountBytesSchema.transform(({ context, value }) => ({
  context,
  value: value.map((account): Balance => {
    if (account === null) return { lamports: 0n, tokens: 0n }
    const { lamports, owner, data } = account
    const isHolder = TOKEN_PROGRAMS.has(owner) && data.length === TOKEN_AMOUNT.length
    return { lamports, tokens: isHolder ? data.readBigUInt64LE() : 0n }
  }),
}))
export type Balance = { readonly lamports: bigint; readonly tokens: bigint }

export const latestBlockhashSchema = z.object({
  value: z.object({ blockhash: name, lastValidBlockHeight: integer }),
})

export const blockhashValidSchema = z.object({ value: z.boolean() })

export const prioritizationFeesSchema = z.array(z.object({ prioritizationFee: integer }))

export const signatureSchema = name
