import { createHash } from 'node:crypto'
import { judgePayerTransaction, splitPayerTransaction } from '../../../chain/solana/payer-transaction.ts'
import { addressBytesOf, ownerOf } from '../../../chain/solana/watched-owners.ts'
import { ASSETS } from '../../../core/assets.ts'
import { type Realm, realmOfMode } from '../../../core/chain/realm.ts'
import { solanaMintsOf } from '../../../core/chain/solana-mints.ts'
import { x402CostMax } from '../../../core/payout/solana-fee.ts'
import { isOffered } from '../../../core/x402/judge-authorization.ts'
import { loadVaultToken } from '../../../payouts/store/solana-token-sweeps.ts'
import { loadSolanaWorth } from '../../../payouts/store/sweep-cost.ts'
import { loadX402FeePayer } from '../../../payouts/store/x402-fee-payer.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { isEvmPayload } from '../../../wire/x402.ts'
import type { OfferOf } from './x402-offer.ts'

/** How old the watcher's last reading of the fee payer and of the mint may be. */
const READING_AGE_MS_MAX = 5 * 60_000
/**
 * CAIP-2: the first 32 characters of the genesis hash. Clients know public clusters alone, so that a private one goes by the
 * name of devnet, whose mints it has; what is signed is over a block of the one chain and good on no other.
 */
const NETWORK_NAMES: { readonly [realm in Realm]: string } = {
  live: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  staging: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  test: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
}

/**
 * On Solana the payer signs a transaction whose fee an account of the signer's pays. Null while that was never read, or the
 * token cannot be moved whole.
 */
export const solanaOffer: OfferOf = async ({ pool, now, staging }, { tenant, invoice, network }) => {
  const { asset: id, livemode, amount, address: payTo } = invoice
  const read = await withTransaction(pool, tenant, async (tx) => {
    const feePayer = await loadX402FeePayer(tx, network)
    const token = await loadVaultToken(tx, network, id)
    if (feePayer?.reading == null || token === null) return null
    const cost = x402CostMax(feePayer.reading.accountRent)
    const worth = await loadSolanaWorth(tx, { asset: id, livemode, amount: cost })
    return { feePayer: feePayer.address, reading: feePayer.reading, token, cost, worth }
  })
  if (read === null || read.token.refusal !== null) return null
  const { feePayer, reading, token, cost, worth } = read
  const isOld = [reading, token].some(({ readAt }) => now.getTime() - readAt.getTime() > READING_AGE_MS_MAX)
  // What must stay on an account is less than what a token account must hold.
  const isPoor = reading.lamports < cost + reading.accountRent
  const realm = realmOfMode(livemode, staging)
  const { symbol, decimals } = ASSETS[id]
  const mints = solanaMintsOf(network, realm, { [symbol]: token.mint })
  const mint = mints.find((each) => each.asset === id && each.mint === token.mint)
  if (mint === undefined) return null
  const extra = { feePayer }
  const terms = { network: NETWORK_NAMES[realm], asset: mint.mint, payTo, amount, extra }
  return {
    terms,
    isClosed: isOld || isPoor || worth > amount,
    judge: ({ accepted, payload }) => {
      if (isEvmPayload(payload)) return null
      const signed = splitPayerTransaction(payload.transaction)
      if (signed === null) return null
      const refused = (reason: string) => ({ kind: 'refused' as const, reason, payer: '' })
      if (!isOffered(accepted, terms)) return refused('invalid_payment_requirements')
      const judged = judgePayerTransaction(signed, { feePayer, mint, decimals, owner: payTo, amount })
      if ('refusal' in judged) return refused(judged.refusal)
      const [payer, recipient] = [judged.payer, payTo].map((owner) =>
        Buffer.from(addressBytesOf(owner), 'hex'),
      )
      if (payer === undefined || recipient === undefined) throw new Error('no bytes')
      // Whoever signs the same message again, with whatever signature, makes the same transaction of the fee payer's.
      const nonce = createHash('sha256').update(signed.message).digest()
      const times = { validAfter: 0n, validBefore: 0n }
      const transfer = { ...signed, ...times, payer, recipient, nonce, value: amount }
      return { kind: 'good', payer: judged.payer, lateness: null, transfer }
    },
    payerOf: ({ payer }) => ownerOf(payer),
  }
}
