import { loadLastAudit } from '../audit/last-audit.ts'
import type { Network } from '../core/assets.ts'
import { findNetworksWithAddresses } from '../db/addresses/address-availability.ts'
import { countRefusedBatches } from '../db/addresses/address-batches.ts'
import { isSignerActive } from '../db/addresses/signer-lock.ts'
import { loadLastBackup } from '../db/backup-runs.ts'
import { loadNetworkStates } from '../db/chain/network-state.ts'
import type { AuditRun } from '../db/ledger/audit-runs.ts'
import { countShortfalls } from '../db/ledger/ledger.ts'
import { isApprovalKeyForeign } from '../payouts/store/approval-keys.ts'
import { readLongWaits } from '../payouts/store/long-waits.ts'
import { readFeePayerBalance, readX402FeePayerBalance } from '../payouts/store/read-fee-payer-balance.ts'
import { readGasBalance } from '../payouts/store/read-gas-balance.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GaugeValue, Metrics } from '../runtime/metrics.ts'

type Sources = {
  readonly metrics: Metrics
  readonly pool: Pool
  readonly networks: readonly Network[]
  readonly clock: Clock
  /** Of the key that seals audits; null believes every row. */
  readonly auditKey: Uint8Array | null
}

/** What an account that pays for others has. */
type FeeBalance = { readonly network: Network; readonly isLow: boolean; readonly isNeeded: boolean }

/** The watcher's metrics: all but one describe the whole installation, and any watcher serves them. */
export function exposeMetrics(sources: Sources): void {
  exposeNetworks(sources)
  exposeMoney(sources)
  exposeAudits(sources)
}

function exposeNetworks({ metrics, pool, networks, clock }: Sources): void {
  metrics.gauge('paylink_network_height', 'Last block whose consequences are committed', async () =>
    (await loadNetworkStates(pool)).map(({ network, height }) => ({ label: network, value: height ?? 0 })),
  )
  metrics.gauge('paylink_network_ok', '1 where a network is followed without a fault', async () =>
    (await loadNetworkStates(pool)).map(({ network, status }) => ({
      label: network,
      value: status === 'ok' ? 1 : 0,
    })),
  )
  metrics.gauge(
    'paylink_network_impaired',
    '1 where a network is followed and one of its providers is away, so that payments may wait',
    async () =>
      (await loadNetworkStates(pool)).map(({ network, status, reason }) => ({
        label: network,
        value: status === 'ok' && reason !== null ? 1 : 0,
      })),
  )
  metrics.gauge(
    'paylink_network_notifications_silent',
    "1 where notifications of a network's node are configured and not heard, so that it is asked in short intervals",
    async () =>
      (await loadNetworkStates(pool)).map(({ network, notificationsSilent }) => ({
        label: network,
        value: notificationsSilent === null ? 0 : 1,
      })),
  )
  metrics.gauge(
    'paylink_network_read_age_seconds',
    'Time since tip and mempool of a network were last read in full, by whichever process follows it',
    async () =>
      (await loadNetworkStates(pool)).flatMap(({ network, readAt }) =>
        readAt === null ? [] : [{ label: network, value: (clock().getTime() - readAt.getTime()) / 1_000 }],
      ),
  )
  metrics.gauge('paylink_network_has_addresses', '1 where a deposit address is ready', async () => {
    const ready = await findNetworksWithAddresses(pool)
    return networks.map((network) => ({ label: network, value: ready.has(network) ? 1 : 0 }))
  })
}

/** Of wallets, balances and the signer, which serves no metrics of its own. */
function exposeMoney({ metrics, pool, networks, clock }: Sources): void {
  const lowOf = async (read: (db: Pool, network: Network) => Promise<FeeBalance | null>) => {
    const balances = await Promise.all(networks.map((network) => read(pool, network)))
    return balances.flatMap((each) =>
      each === null ? [] : [{ label: each.network, value: each.isLow && each.isNeeded ? 1 : 0 }],
    )
  }
  metrics.gauge(
    'paylink_hot_wallet_low',
    '1 where a hot wallet has too little of the coin of its network, for the gas of payouts in tokens or for what merchants have in it, so that they wait',
    () => lowOf(readGasBalance),
  )
  metrics.gauge(
    'paylink_fee_payer_low',
    '1 where the fee payer of payouts on Solana has too little, and there is money to be paid out',
    () => lowOf(readFeePayerBalance),
  )
  metrics.gauge(
    'paylink_x402_fee_payer_low',
    '1 where the fee payer of x402 payments on Solana has too little, and x402 was used there or it was funded',
    () => lowOf(readX402FeePayerBalance),
  )
  metrics.gauge(
    'paylink_payouts_late',
    'Payouts and sweeps that stand in one state longer than is usual, as paylink doctor names them',
    async () => {
      const waits = await readLongWaits(pool, clock())
      return networks.map((label) => {
        const here = waits.filter(({ network }) => network === label)
        return { label, value: here.reduce((sum, { count }) => sum + count, 0) }
      })
    },
  )
  metrics.gauge('paylink_signer_active', '1 while a signer holds its lock, in any process', async () => [
    { value: (await isSignerActive(pool)) ? 1 : 0 },
  ])
  metrics.gauge(
    'paylink_balances_short',
    'Balances in which something is missing that was paid out before the chain took it back',
    async () => {
      const { live, test } = (await countShortfalls(pool)).merchants
      return [
        { label: 'live', value: live },
        { label: 'test', value: test },
      ]
    },
  )
  metrics.gauge(
    'paylink_fees_short',
    'Balances of service fees that were sent to the operator before the chain took the payments back',
    async () => {
      const { live, test } = (await countShortfalls(pool)).fees
      return [
        { label: 'live', value: live },
        { label: 'test', value: test },
      ]
    },
  )
  metrics.gauge(
    'paylink_approval_key_foreign',
    '1 while the database names another key for approvals than the signer knows',
    async () => [{ value: (await isApprovalKeyForeign(pool)) ? 1 : 0 }],
  )
  metrics.gauge(
    'paylink_address_batches_refused',
    'Batches of addresses in the database that the signer did not sign, or that clash with addresses there',
    async () => [{ value: await countRefusedBatches(pool) }],
  )
}

function exposeAudits({ metrics, pool, auditKey }: Sources): void {
  const last = () => loadLastAudit(pool, auditKey)
  metrics.gauge(
    'paylink_backup_last_run_seconds',
    'When the last good backup began, in Unix seconds',
    async () => {
      const last = await loadLastBackup(pool)
      return last === null ? [] : [{ value: last.startedAt.getTime() / 1_000 }]
    },
  )
  metrics.gauge('paylink_audit_last_run_seconds', 'When the last audit ended, in Unix seconds', async () =>
    gaugeOf(await last(), ({ finishedAt }) => finishedAt.getTime() / 1_000),
  )
  metrics.gauge('paylink_audit_discrepancies', 'What the last audit found', async () =>
    gaugeOf(await last(), ({ discrepancies }) => discrepancies),
  )
  metrics.gauge('paylink_audit_not_checked', 'What the last audit could not check', async () =>
    gaugeOf(await last(), ({ notChecked }) => notChecked),
  )
}

/** No value before the first audit. */
const gaugeOf = (run: AuditRun | null, read: (run: AuditRun) => number): GaugeValue[] =>
  run === null ? [] : [{ value: read(run) }]
