import { encodeEvmAddress } from '../chain/evm/address.ts'
import { ASSETS, type Network } from '../core/assets.ts'
import { formatCoinAmount } from '../core/money.ts'
import { listAllFrozenDeposits } from '../payouts/store/frozen-deposits.ts'
import type { LongWait } from '../payouts/store/long-waits.ts'
import { countLostPayouts } from '../payouts/store/lost-payouts.ts'
import { FEE_PAYER_NETWORKS, readFeePayerBalance } from '../payouts/store/read-fee-payer-balance.ts'
import { type GasBalance, HOT_WALLETS, readGasBalance } from '../payouts/store/read-gas-balance.ts'
import { readLongWaits } from '../payouts/store/read-long-waits.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** The hot wallets: where they are, whether they have enough ether for the gas of USDC, and what they lack of merchants' ether. */
export async function inspectHotWallets(pool: Pool): Promise<Finding[]> {
  const standings = await Promise.all(HOT_WALLETS.map(({ network }) => readGasBalance(pool, network)))
  return standings.flatMap((standing) => (standing === null ? [] : findingsOf(standing)))
}

/**
 * The fee payers of payouts in SOL: where they are, and whether they have enough. Those of `sandboxes` get some as soon as a
 * payout needs it.
 */
export async function inspectFeePayers(pool: Pool, sandboxes: readonly Network[]): Promise<Finding[]> {
  const standings = await Promise.all(FEE_PAYER_NETWORKS.map((network) => readFeePayerBalance(pool, network)))
  return standings.flatMap((standing) => {
    if (standing === null) return []
    const { network, feePayer, held, isLow, isNeeded } = standing
    const said = `${network}: the fee payer ${feePayer} has ${formatCoinAmount(held, ASSETS.SOL.decimals)} SOL for fees`
    if (!isLow) return [ok(said)]
    if (sandboxes.includes(network)) return [ok(`${said}; the sandbox sends it some when a payout needs it`)]
    const fix = `send it SOL on ${network}`
    return [
      isNeeded
        ? fault(`${said}, which is too little: payouts in SOL wait; ${fix}`)
        : notice(`${said}; before a payout in SOL, ${fix}`),
    ]
  })
}

/** Payouts that the signer's journal has and the database, which was restored, has not. */
export async function inspectLostPayouts(pool: Pool): Promise<Finding[]> {
  return (await countLostPayouts(pool)).map(({ network, count }) =>
    fault(
      `${network}: the database does not know ${count} of the payouts that were signed, since it was restored: nothing is signed there; run paylink signer recover where the signer runs`,
    ),
  )
}

/** Frozen deposits that are told at most: the merchant sees each of theirs among the balances. */
const FROZEN_TOLD_MAX = 10

/** Deposits that their issuer lets nobody move. */
export async function inspectFrozenDeposits(pool: Pool): Promise<Finding[]> {
  return (await listAllFrozenDeposits(pool, FROZEN_TOLD_MAX)).map(
    ({ network, asset, address, invoiceId, merchantId, amount, reason }) =>
      notice(
        `${network}: ${formatCoinAmount(amount, ASSETS[asset].decimals)} ${asset} of ${merchantId} at ${encodeEvmAddress(address)} (${invoiceId}) cannot be moved (${reason}): no payout is made of it until its issuer lets go of it`,
      ),
  )
}

const STANDS: { readonly [state in LongWait['state']]: string } = {
  approved: 'payouts wait to be signed and sent',
  submitted: 'payouts that were sent wait to be confirmed',
  planned: 'sweeps wait for a block',
  done: 'sweeps that are in a block wait to be final',
  next_in_line: 'the hot wallet’s next transaction is in no block, and all behind it wait',
}

/** Payouts and sweeps that have stood in one state longer than is usual. */
export async function inspectLongWaits(pool: Pool, clock: Clock): Promise<Finding[]> {
  return (await readLongWaits(pool, clock())).map(({ network, state, count, oldestId, since }) =>
    fault(
      `${network}: ${STANDS[state]}: ${count}, of them ${oldestId} since ${since.toISOString()}; the log of watcher and signer says why`,
    ),
  )
}

function findingsOf({ network, address, own, isLow, isNeeded }: GasBalance): Finding[] {
  const wallet = `${network}: the hot wallet ${encodeEvmAddress(address)}`
  const fix = `send it ether on ${network}`
  const ether = (wei: bigint) => `${formatCoinAmount(wei, ASSETS.ETH_BASE.decimals)} ETH`
  if (own < 0n)
    return [fault(`${wallet} lacks ${ether(-own)} of what merchants have in it: payouts wait; ${fix}`)]
  // On Ethereum it pays no gas for others.
  if (HOT_WALLETS.find((each) => each.network === network)?.token === null) return []
  const held = `${wallet} has ${ether(own)} for gas`
  if (!isLow) return [ok(held)]
  return [
    isNeeded
      ? fault(`${held}, which is too little: payouts in USDC wait; ${fix}`)
      : notice(`${held}; before a payout in USDC, ${fix}`),
  ]
}
