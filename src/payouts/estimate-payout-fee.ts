import { ASSETS, type AssetId, networkOf } from '../core/assets.ts'
import { gasCostOf, gasPriceOf, TRANSFER_GAS } from '../core/payout/gas.ts'
import { PAYOUT_OUTPUT_MIN } from '../core/payout/payout-limits.ts'
import { feeFor, INPUTS_MAX, mostThatFits, selectCoins, vbytesOf } from '../core/payout/select-coins.ts'
import { solanaFee } from '../core/payout/solana-fee.ts'
import { loadHotWallet } from '../db/addresses/hot-wallets.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { isChangeComing, listSpendableCoins, loadNetworkFee } from './store/payout-coins.ts'
import { loadSolanaSignerAccounts } from './store/solana-accounts.ts'
import { listSweepSources } from './store/sweeps.ts'
import { loadSweptCredit, sumUnsignedPayouts } from './store/swept-credit.ts'

/** What a network takes is known for this long; a network that is followed tells it every minute. */
const FEE_KNOWN_MS = 3_600_000

type Wanted = { readonly asset: AssetId; readonly amount: bigint; readonly now: Date }

/**
 * What the network would take for a payout now, in units of its asset; null where nobody knows. `most`: the amount needs more
 * coins than fit into one transaction, which can surely send so much.
 */
export function estimatePayoutFee(
  tx: Tx,
  tenant: Tenant,
  wanted: Wanted,
): Promise<bigint | { readonly most: bigint } | null> {
  const { keyFamily } = ASSETS[wanted.asset]
  switch (keyFamily) {
    case 'bitcoin':
    case 'litecoin':
      return estimateOverCoins(tx, tenant, wanted)
    case 'evm':
      return estimateFromHotWallet(tx, tenant, wanted)
    case 'solana':
      return estimateOnSolana(tx, tenant, wanted)
  }
}

/** The least that may arrive of a payout, in units of its asset; null where nobody knows. */
export async function payoutOutputMin(
  tx: Tx,
  tenant: Tenant,
  { asset, now }: Pick<Wanted, 'asset' | 'now'>,
): Promise<bigint | null> {
  const fixed = PAYOUT_OUTPUT_MIN[asset]
  if (fixed !== undefined || ASSETS[asset].keyFamily !== 'solana') return fixed ?? null
  // Less than this, the chain does not let a new account hold.
  return (await freshReading(tx, tenant, { asset, now }))?.rentExempt ?? null
}

async function estimateOnSolana(tx: Tx, tenant: Tenant, wanted: Wanted): Promise<bigint | null> {
  const reading = await freshReading(tx, tenant, wanted)
  return reading === null ? null : solanaFee(reading.unitPrice)
}

async function freshReading(tx: Tx, tenant: Tenant, { asset, now }: Pick<Wanted, 'asset' | 'now'>) {
  const signerAccounts = await loadSolanaSignerAccounts(tx, networkOf(asset, tenant.livemode))
  const reading = signerAccounts?.reading ?? null
  return reading === null || now.getTime() - reading.readAt.getTime() > FEE_KNOWN_MS ? null : reading
}

async function estimateOverCoins(
  tx: Tx,
  tenant: Tenant,
  { asset, amount, now }: Wanted,
): Promise<bigint | { readonly most: bigint } | null> {
  const network = networkOf(asset, tenant.livemode)
  const changeMin = PAYOUT_OUTPUT_MIN[asset]
  if (changeMin === undefined) return null
  const fee = await loadNetworkFee(tx, network)
  if (fee === null || now.getTime() - fee.updatedAt.getTime() > FEE_KNOWN_MS) return null
  const coins = await listSpendableCoins(tx, tenant, network)
  const selection = selectCoins(coins, amount, { rate: fee.rate, changeMin })
  if (selection !== null) return selection.fee
  const most = mostThatFits(coins, changeMin)
  if (most !== null && !(await isChangeComing(tx, tenant, network))) return { most }
  // Some coins are on their way back from another payout: all that are left, and one of those.
  return feeFor(vbytesOf(Math.min(coins.length + 1, INPUTS_MAX), true), fee.rate)
}

/**
 * On an account-based chain: the payout's own transaction, and each sweep that is needed beside what is in the hot wallet, new
 * or left over from a payout that failed. A token takes nothing from the amount, for its gas is paid in another coin. Null also where
 * addresses hold so little that none is worth its sweep.
 */
async function estimateFromHotWallet(
  tx: Tx,
  tenant: Tenant,
  { asset, amount, now }: Wanted,
): Promise<bigint | null> {
  const network = networkOf(asset, tenant.livemode)
  const wallet = await loadHotWallet(tx, network)
  if (wallet === null || now.getTime() - wallet.updatedAt.getTime() > FEE_KNOWN_MS) return null
  if (asset === 'USDC_BASE') return wallet.token === null ? null : 0n
  const cost = gasCostOf(TRANSFER_GAS, gasPriceOf(wallet), wallet)
  const of = { network, asset }
  const credit = await loadSweptCredit(tx, tenant, { ...of, counts: 'planned' })
  let missing = amount + (await sumUnsignedPayouts(tx, tenant, { ...of, before: null })) - credit
  let transactions = 1n
  const { orphans, addresses, crumbs } = await listSweepSources(tx, tenant, { ...of, cost })
  for (const { amount: swept, isSigned } of [
    ...orphans,
    ...addresses.map((each) => ({ ...each, isSigned: false })),
  ]) {
    // What was signed before for a payout that failed comes along, needed or not.
    if (missing <= 0n && !isSigned) break
    missing -= swept
    transactions += 1n
  }
  // Where the rest is not in the merchant's balance either, the ledger says so.
  return missing > 0n && missing <= crumbs ? null : cost * transactions
}
