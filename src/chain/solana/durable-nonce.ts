import { getBase58Decoder, getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'

/** Bytes of a nonce's account: version and state, the authority, the value, the fee (system program, nonce state). */
export const NONCE_BYTES = 80
const VALUE_AT = 40
const VALUE_BYTES = 32

export type DurableNonce = { readonly account: string; readonly value: string }

/** The value that a nonce's account holds, base58; null where these are not such an account's bytes. */
export function nonceValueOf(data: Uint8Array): string | null {
  if (data.length !== NONCE_BYTES || data.every((byte) => byte === 0)) return null
  return getBase58Decoder().decode(data.subarray(VALUE_AT, VALUE_AT + VALUE_BYTES))
}

/** The durable nonce of a signed transaction whose first instruction moves it on, and who alone may have it moved on. */
export function nonceOfTransaction(raw: Uint8Array): DurableNonce & { readonly authority: string } {
  const { messageBytes } = getTransactionDecoder().decode(raw)
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const first = 'instructions' in message ? message.instructions[0] : undefined
  // The account, a list of the chain's own, the authority (system program, AdvanceNonceAccount).
  const [account, , authority] = (first?.accountIndices ?? []).map((index) => message.staticAccounts[index])
  if (account === undefined || authority === undefined)
    throw new Error('the transaction has no durable nonce')
  return { account, value: String(message.lifetimeToken), authority }
}
