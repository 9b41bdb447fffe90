import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createAddressWithSeed,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getSignatureFromTransaction,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  type Nonce,
  pipe,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageComputeUnitPrice,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system'
import type { DurableNonce } from '../../../chain/solana/durable-nonce.ts'
import type { Network } from '../../../core/assets.ts'
import { type SolanaKeys, type SolanaKeyspace, solanaKeyspace } from '../../../signer/solana-addresses.ts'
import type { SigningContext } from '../signing-context.ts'

/** Durable nonces of a network: so many payouts can be on their way at once. */
const NONCES = 4

/** The signer's own accounts on one network, with their keys. */
export type SolanaSignerAccountKeys = {
  readonly feePayer: KeyPairSigner
  readonly vault: KeyPairSigner
  readonly nonceAccounts: readonly Address[]
  /** The fee payer of x402 payments, which signs payers' own transactions (sign-x402) and no others. It holds only some SOL. */
  readonly x402FeePayer: KeyPairSigner
}

/** A signed transaction: its name, base58, and its bytes. */
export type SolanaSigned = { readonly txid: string; readonly raw: Buffer }

export const nonceSeed = (place: number): string => `paylink-nonce-${place}`

export async function openSignerAccounts(
  issuer: SolanaKeys,
  keyspace: SolanaKeyspace,
): Promise<SolanaSignerAccountKeys> {
  const feePayer = await signerOf(issuer.signerAccountKey(keyspace, 'fee_payer'))
  const vault = await signerOf(issuer.signerAccountKey(keyspace, 'vault'))
  const places = Array.from({ length: NONCES }, (_, place) => place)
  const nonceAccounts = await Promise.all(
    places.map((place) =>
      createAddressWithSeed({
        baseAddress: feePayer.address,
        programAddress: SYSTEM_PROGRAM_ADDRESS,
        seed: nonceSeed(place),
      }),
    ),
  )
  const x402FeePayer = await signerOf(issuer.signerAccountKey(keyspace, 'x402_fee_payer'))
  return { feePayer, vault, nonceAccounts, x402FeePayer }
}

const knownAccounts = new WeakMap<SigningContext['solana'], Map<Network, SolanaSignerAccountKeys>>()

/** The accounts of a network, derived once in a process. */
export async function signerAccountsOf(
  { solana }: SigningContext,
  network: Network,
): Promise<SolanaSignerAccountKeys> {
  const known = knownAccounts.get(solana) ?? new Map<Network, SolanaSignerAccountKeys>()
  knownAccounts.set(solana, known)
  const signerAccounts = known.get(network) ?? (await openSignerAccounts(solana, solanaKeyspace(network)))
  known.set(network, signerAccounts)
  return signerAccounts
}

/** The key becomes one of the runtime, which gives it out no more; its bytes are wiped. */
export async function signerOf(privateKey: Uint8Array): Promise<KeyPairSigner> {
  try {
    return await createKeyPairSignerFromPrivateKeyBytes(privateKey)
  } finally {
    privateKey.fill(0)
  }
}

/** Signed with all keys that the instructions name; good until `lastValidHeight`. */
export async function signWithBlockhash(
  feePayer: KeyPairSigner,
  instructions: readonly Instruction[],
  lifetime: { readonly blockhash: string; readonly lastValidHeight: number },
  budget?: ComputeBudget,
): Promise<SolanaSigned> {
  const { blockhash, lastValidHeight } = lifetime
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (empty) => setTransactionMessageFeePayerSigner(feePayer, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash as Blockhash, lastValidBlockHeight: BigInt(lastValidHeight) },
        paid,
      ),
    (timed) => setTransactionMessageComputeUnitLimit(budget?.units, timed),
    (limited) => setTransactionMessageComputeUnitPrice(budget && BigInt(budget.price), limited),
    (priced) => appendTransactionMessageInstructions(instructions, priced),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return named(getSignatureFromTransaction(signed), getTransactionEncoder().encode(signed))
}

/** So many compute units at most, at this price in millionths of a lamport each. */
type ComputeBudget = { readonly units: number; readonly price: number }

/** Signed over a durable nonce, whose authority is the fee payer: good until something moves the nonce on. */
export async function signWithNonce(
  feePayer: KeyPairSigner,
  instructions: readonly Instruction[],
  nonce: DurableNonce,
  budget?: ComputeBudget,
): Promise<SolanaSigned> {
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (empty) => setTransactionMessageFeePayerSigner(feePayer, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingDurableNonce(
        {
          nonce: nonce.value as Nonce,
          nonceAccountAddress: nonce.account as Address,
          nonceAuthorityAddress: feePayer.address,
        },
        paid,
      ),
    (timed) => setTransactionMessageComputeUnitLimit(budget?.units, timed),
    (limited) => setTransactionMessageComputeUnitPrice(budget && BigInt(budget.price), limited),
    (priced) => appendTransactionMessageInstructions(instructions, priced),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return named(getSignatureFromTransaction(signed), getTransactionEncoder().encode(signed))
}

const named = (txid: string, wire: ArrayLike<number>): SolanaSigned => ({
  txid,
  raw: Buffer.from(Uint8Array.from(wire)),
})
