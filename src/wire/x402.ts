import { z } from 'zod'

/** x402 version 2, specs/x402-specification-v2.md §5.2, for the scheme `exact`. */

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const NUMBER_DIGITS_MAX = 78
/** Base64 of 1,232 bytes, which is all that a packet holds. */
const TRANSACTION_CHARACTERS_MAX = 1_644
const UINT256_MAX = 2n ** 256n - 1n

const address = z
  .string()
  .regex(ADDRESS)
  .transform((text) => text.toLowerCase())
const uint256 = z
  .string()
  .max(NUMBER_DIGITS_MAX)
  .regex(/^(?:0|[1-9][0-9]*)$/)
  .transform((text) => BigInt(text))
  .refine((value) => value <= UINT256_MAX)

/** EIP-3009, on account-based chains. */
const evmPayload = z.object({
  /** Of an account with a key of its own: contracts' signatures are longer. */
  signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/),
  authorization: z.object({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: z
      .string()
      .regex(/^0x[0-9a-fA-F]{64}$/)
      .transform((text) => text.toLowerCase()),
  }),
})

/** On Solana: the transaction, which the payer has signed. */
const solanaPayload = z.object({ transaction: z.base64().max(TRANSACTION_CHARACTERS_MAX) })

/** Unknown fields are the protocol's to add, and mean nothing here. */
export const x402PaymentSchema = z.object({
  x402Version: z.literal(2),
  accepted: z.object({
    scheme: z.string(),
    network: z.string(),
    amount: z.string(),
    asset: z.string(),
    payTo: z.string(),
  }),
  payload: z.union([evmPayload, solanaPayload]),
})
export type X402Payment = z.infer<typeof x402PaymentSchema>
type EvmPayload = z.infer<typeof evmPayload>

export const isEvmPayload = (payload: X402Payment['payload']): payload is EvmPayload =>
  'authorization' in payload
