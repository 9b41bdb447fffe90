import { encodeEvmAddress } from '../../../chain/evm/address.ts'
import { isSignedByPayer } from '../../../chain/evm/payer-authorization.ts'
import { isKnownContract } from '../../../core/chain/evm-parameters.ts'
import { realmOfMode } from '../../../core/chain/realm.ts'
import { gasCostOf, gasPriceOf, tokenSweepGasAt } from '../../../core/payout/gas.ts'
import { judgeAuthorization, TOO_LATE } from '../../../core/x402/judge-authorization.ts'
import { hotTokenOf, loadHotWallet } from '../../../db/addresses/hot-wallets.ts'
import { loadSweepCost } from '../../../payouts/store/sweep-cost.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { isEvmPayload } from '../../../wire/x402.ts'
import type { OfferOf } from './x402-offer.ts'

/** How old the watcher's last reading of the hot wallet may be. */
const WALLET_AGE_MS_MAX = 5 * 60_000

/** On account-based chains the hot wallet pays the gas. Null while none was ever read, or there is no token. */
export const evmOffer: OfferOf = async ({ pool, now, staging }, { tenant, invoice, network }) => {
  const { asset: id, livemode } = invoice
  const read = await withTransaction(pool, tenant, async (tx) => {
    const wallet = await loadHotWallet(tx, network)
    return wallet === null ? null : { wallet, cost: await loadSweepCost(tx, { asset: id, livemode, wallet }) }
  })
  if (read === null) return null
  const { wallet, cost } = read
  const { chainId } = wallet
  const token = hotTokenOf(wallet, id)
  if (token?.domain == null) return null
  const isOld = now.getTime() - wallet.updatedAt.getTime() > WALLET_AGE_MS_MAX
  const price = gasPriceOf(wallet)
  const isPoor = wallet.balance < gasCostOf(tokenSweepGasAt(price, wallet), price, wallet)
  const asset = encodeEvmAddress(token.contract)
  const known = { asset: id, contract: asset.toLowerCase() }
  if (!isKnownContract(network, realmOfMode(livemode, staging), known)) return null
  const { contract, domain: extra } = token
  const terms = { network: `eip155:${chainId}`, asset, payTo: invoice.address, amount: invoice.amount, extra }
  return {
    terms,
    isClosed: isOld || isPoor || cost > invoice.amount,
    judge: ({ accepted, payload }) => {
      if (!isEvmPayload(payload)) return null
      const { authorization } = payload
      const { from: payer, value, validAfter, validBefore } = authorization
      const refusal = judgeAuthorization(authorization, accepted, { terms, nowMs: now.getTime() })
      if (refusal !== null && refusal !== TOO_LATE) return { kind: 'refused', reason: refusal, payer }
      const [from, to, nonce] = [bytesOf(payer), bytesOf(authorization.to), bytesOf(authorization.nonce)]
      const signature = bytesOf(payload.signature)
      const signed = { ...authorization, from, to, nonce, signature }
      if (!isSignedByPayer(signed, { ...extra, chainId: BigInt(chainId), contract }))
        return { kind: 'refused', reason: 'invalid_exact_evm_payload_signature', payer }
      const transfer = { payer: from, recipient: to, value, validAfter, validBefore, nonce, signature }
      return { kind: 'good', payer, lateness: refusal, transfer: { ...transfer, message: null } }
    },
    payerOf: ({ payer }) => encodeEvmAddress(payer),
  }
}

const bytesOf = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex')
