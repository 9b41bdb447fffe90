import { encodeEvmAddress } from '../chain/evm/address.ts'
import { ownerOf } from '../chain/solana/watched-owners.ts'
import type { Config } from '../config/config.ts'
import { ASSETS, isSplToken, type Keyspace, type Network } from '../core/assets.ts'
import { formatCoinAmount } from '../core/money.ts'
import { listAccountKeys } from '../db/addresses/account-keys.ts'
import { listFollowedWithoutAddresses } from '../db/addresses/address-availability.ts'
import { countRefusedBatches, findBatchOf } from '../db/addresses/address-batches.ts'
import { listPooledAddresses } from '../db/addresses/address-pool.ts'
import { listHotWalletNetworks, loadHotWallet } from '../db/addresses/hot-wallets.ts'
import {
  loadApprovalKey,
  loadPinnedApprovalKey,
  loadPinnedOutcomeKey,
} from '../payouts/store/approval-keys.ts'
import { listAllFrozenDeposits } from '../payouts/store/frozen-deposits.ts'
import type { LongWait } from '../payouts/store/long-waits.ts'
import { readLongWaits } from '../payouts/store/long-waits.ts'
import { countLostPayouts } from '../payouts/store/lost-payouts.ts'
import { countUnsealedOutcomes } from '../payouts/store/outcome-seals.ts'
import { listPayoutHolds, listRefusals, type StoppedPayout } from '../payouts/store/payout-holds.ts'
import {
  FEE_PAYER_NETWORKS,
  readFeePayerBalance,
  readX402FeePayerBalance,
} from '../payouts/store/read-fee-payer-balance.ts'
import { type GasBalance, HOT_WALLETS, readGasBalance } from '../payouts/store/read-gas-balance.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { openApprovalKey } from '../secrets/approval-key.ts'
import { createIssuedAddresses } from '../secrets/issued-addresses.ts'
import { openKeyring } from '../secrets/keyring.ts'
import { findOutcomeKey, isReadingSealed } from '../secrets/outcome-key.ts'
import { readSecretKey } from '../secrets/secret-key.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** Whether the API signs approvals with the key by which the signer knows them, and nobody has placed another one. */
export async function inspectApprovalKey(
  config: Pick<Config, 'dataDir' | 'secretKey'>,
  pool: Pool,
): Promise<Finding[]> {
  const secret = await readSecretKey(config.dataDir, config.secretKey)
  const own = secret === null ? null : openApprovalKey(openKeyring(secret)).publicKey.toString('hex')
  const known = (await loadPinnedApprovalKey(pool))?.toString('hex') ?? null
  const stored = (await loadApprovalKey(pool))?.toString('hex') ?? null
  const findings: Finding[] = []
  if (known === null && stored !== null)
    findings.push(
      fault(
        `Approvals: the signer knows no key of the API's, and signs no live payout: give it the file that the API writes (APPROVAL_KEY_FILE), or run paylink signer trust-approval-key ${own ?? 'KEY'} where it runs`,
      ),
    )
  if (known !== null && own !== null && own !== known)
    findings.push(
      fault(
        `Approvals: the API signs them with the key ${own}, and the signer knows ${known}: if SECRET_KEY was changed by you, run paylink signer trust-approval-key ${own} where the signer runs`,
      ),
    )
  if (known !== null && stored !== null && stored !== known)
    findings.push(
      fault(
        `Approvals: the database names the key ${stored}, and the signer knows ${known}: if it is not yours, find out who wrote it, and delete the row of table payout_approval_key`,
      ),
    )
  if (findings.length > 0 || known === null) return findings
  return [ok(`Approvals: the signer knows the key ${known}`)]
}

/** Whether the signer knows the watcher's seals, and whether what became of sweeps and payouts is sealed. */
export async function inspectOutcomes(
  config: Pick<Config, 'dataDir' | 'secretKey' | 'watcherKey'>,
  pool: Pool,
  clock: Clock,
): Promise<Finding[]> {
  const own = (await findOutcomeKey(config))?.publicKey.toString('hex') ?? null
  const known = (await loadPinnedOutcomeKey(pool))?.toString('hex') ?? null
  const findings: Finding[] = []
  if (known !== null && own !== null && own !== known)
    findings.push(
      fault(
        `Outcomes: the watcher seals them with the key ${own}, and the signer knows ${known}: if SECRET_KEY was changed by you, run paylink signer trust-outcome-key ${own} where the signer runs`,
      ),
    )
  for (const { network, count, first } of await countUnsealedOutcomes(pool))
    findings.push(
      fault(
        `${network}: ${count} sweeps that are called done or payouts that are called failed, such as ${first}, have no seal of the watcher, and the signer does not count them: see that the watcher runs and has WATCHER_KEY (paylink watcher-key); if it does, its log says what the chain has`,
      ),
    )
  const since = new Date(clock().getTime() - READ_WITHIN_MS)
  for (const network of await listHotWalletNetworks(pool, since))
    if (!(await isHotWalletSealed(pool, network, known)))
      findings.push(
        fault(
          `${network}: what the watcher read of the hot wallet has no seal that the signer knows, and no payout there is signed: see that the watcher is of this release and has WATCHER_KEY (paylink watcher-key)`,
        ),
      )
  if (findings.length > 0 || known === null) return findings
  return [ok(`Outcomes: the signer knows the watcher's key ${known}`)]
}

/** What nobody has read for longer is of a network that is not in use any more. */
const READ_WITHIN_MS = 3_600_000

/** Where no key is known yet, any seal will do. */
async function isHotWalletSealed(pool: Pool, network: Network, known: string | null): Promise<boolean> {
  const { text, seal } = (await loadHotWallet(pool, network))?.sealed ?? { text: '', seal: null }
  return seal !== null && (known === null || isReadingSealed(Buffer.from(known, 'hex'), text, seal))
}

/** Of each kind; more say nothing new. */
const LISTED_MAX = 20
const REFUSED_WITHIN_MS = 7 * 24 * 3_600_000

/** Approved payouts that the signer holds back by its own files, and live ones of a week that it refused for their approval. */
export async function inspectStoppedPayouts(pool: Pool, clock: Clock): Promise<Finding[]> {
  const since = new Date(clock().getTime() - REFUSED_WITHIN_MS)
  const held = await listPayoutHolds(pool, LISTED_MAX + 1)
  const refused = await listRefusals(pool, Object.keys(REFUSED), { since, limit: LISTED_MAX + 1 })
  return [
    ...listed(held, ({ reason, until }) => {
      const when = until === null ? '' : ` until ${until.toISOString()}`
      return `the signer holds it back${when}: ${HELD[reason] ?? reason}`
    }),
    ...listed(refused, ({ reason }) => `the signer refused it (${reason}): ${REFUSED[reason] ?? ''}`),
  ]
}

function listed(payouts: readonly StoppedPayout[], describe: (payout: StoppedPayout) => string): Finding[] {
  const findings = payouts
    .slice(0, LISTED_MAX)
    .map((payout) => notice(`Payout ${payout.id} of ${payout.merchantId}: ${describe(payout)}`))
  if (payouts.length > LISTED_MAX)
    findings.push(notice('Payouts: there are more of these; see the log of the signer'))
  return findings
}

const RAISE =
  'wait, or raise it and restart the signer; if you do not know the payout, find out who approved it'
const HELD: { readonly [reason: string]: string } = {
  destination_new:
    'it has known the destination for less than a day; if you do not know the address, remove it and find out who added it',
  payouts_in_hour:
    'as many payouts were signed as an hour may have; wait, and if you do not know them, find out who approved them',
  value_in_hour: `with it, the merchant would be above the limit of an hour in limits.json of the signer: ${RAISE}`,
  value_in_day: `with it, the merchant would be above the limit of a day in limits.json of the signer: ${RAISE}`,
}
const REFUSED: { readonly [code: string]: string } = {
  approver_too_new:
    'request it again when the approver’s passkey, authenticator app or role is 24 hours old, or let another owner or admin approve',
  approval_expired:
    'its code reached the signer after more than 15 minutes: keep the signer running, and request it again or approve with a passkey',
}

/** The signer keeps no more than some hundred ready. */
const LOOKED_AT_MAX = 2_000

/** Whether there are addresses to give out, and whether they are the signer's. */
export async function inspectAddresses(config: Config, pool: Pool): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const network of await listFollowedWithoutAddresses(pool)) {
    findings.push(
      fault(
        `${network}: no deposit address is ready, and invoices in its coins are refused: see that the signer and the watcher run`,
      ),
    )
  }
  const refused = await countRefusedBatches(pool)
  if (refused > 0) {
    findings.push(
      fault(
        `Addresses: ${refused} batches in the database are not signed by the signer, or clash with addresses that it did not issue, and were refused: find out who writes to it, then delete them (address_batch, refused_at)`,
      ),
    )
  }
  for (const { keyspace } of await listAccountKeys(pool))
    findings.push(await keyspaceFinding(config, pool, keyspace))
  return findings
}

async function keyspaceFinding(config: Config, pool: Pool, keyspace: Keyspace): Promise<Finding> {
  const issued = createIssuedAddresses({ keysPath: config.addressKeysFile, log: createLogger('silent') })
  const waiting = await listPooledAddresses(pool, keyspace, LOOKED_AT_MAX)
  for (const pooled of waiting) {
    if (await issued.isIssued(keyspace, pooled, () => findBatchOf(pool, keyspace, pooled.idx))) continue
    return fault(
      `Addresses of ${keyspace}: number ${pooled.idx} is not given out, and invoices in its coins are refused: ${issued.refusals.reason}. If somebody else wrote it, find out who, then delete the row from table address`,
    )
  }
  return ok(`Addresses of ${keyspace}: ${waiting.length} are ready, each signed by the signer`)
}

const SANDBOX_SENDS = 'the sandbox sends it some when a payout needs it'

/**
 * The hot wallets: where they are, whether they have enough ether for the gas of USDC, and what they lack of merchants'
 * ether. Those of `sandboxes` get gas as soon as a payout needs it.
 */
export async function inspectHotWallets(pool: Pool, sandboxes: readonly Network[]): Promise<Finding[]> {
  const balances = await Promise.all(HOT_WALLETS.map(({ network }) => readGasBalance(pool, network)))
  return balances.flatMap((balance) =>
    balance === null ? [] : findingsOf(balance, sandboxes.includes(balance.network)),
  )
}

/**
 * The fee payers of payouts on Solana: where they are, and whether they have enough. Those of `sandboxes` get some as soon as a
 * payout needs it.
 */
export async function inspectFeePayers(pool: Pool, sandboxes: readonly Network[]): Promise<Finding[]> {
  const balances = await Promise.all(FEE_PAYER_NETWORKS.map((network) => readFeePayerBalance(pool, network)))
  return balances.flatMap((balance) => {
    if (balance === null) return []
    const { network, feePayer, held, isLow, isNeeded } = balance
    const said = `${network}: the fee payer ${feePayer} has ${formatCoinAmount(held, ASSETS.SOL.decimals)} SOL for fees`
    if (!isLow) return [ok(said)]
    if (sandboxes.includes(network)) return [ok(`${said}; ${SANDBOX_SENDS}`)]
    const fix = `send it SOL on ${network}`
    return [
      isNeeded
        ? fault(`${said}, which is too little: payouts on Solana wait; ${fix}`)
        : notice(`${said}; before a payout on Solana, ${fix}`),
    ]
  })
}

/** The fee payers of payments by x402 on Solana, which hold nothing else. */
export async function inspectX402FeePayers(pool: Pool, sandboxes: readonly Network[]): Promise<Finding[]> {
  const balances = await Promise.all(
    FEE_PAYER_NETWORKS.map((network) => readX402FeePayerBalance(pool, network)),
  )
  return balances.flatMap((balance) => {
    if (balance === null) return []
    const { network, feePayer, held, isLow } = balance
    const said = `${network}: the fee payer of x402 payments ${feePayer} has ${formatCoinAmount(held, ASSETS.SOL.decimals)} SOL`
    if (!isLow || sandboxes.includes(network)) return [ok(said)]
    return [notice(`${said}; programs cannot pay without: send it SOL on ${network}`)]
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

/** Frozen deposits that are reported at most: the merchant sees each of theirs among the balances. */
const FROZEN_TOLD_MAX = 10

/** Deposits that their issuer lets nobody move. */
export async function inspectFrozenDeposits(pool: Pool): Promise<Finding[]> {
  return (await listAllFrozenDeposits(pool, FROZEN_TOLD_MAX)).map(
    ({ network, asset, address, invoiceId, merchantId, amount, reason }) =>
      notice(
        `${network}: ${formatCoinAmount(amount, ASSETS[asset].decimals)} ${asset} of ${merchantId} at ${isSplToken(asset) ? ownerOf(address) : encodeEvmAddress(address)} (${invoiceId}) cannot be moved (${reason}): no payout is made of it until its issuer lets go of it`,
      ),
  )
}

const STANDS: { readonly [state in LongWait['state']]: string } = {
  approved: 'payouts wait to be signed and sent',
  submitted: 'payouts that were sent wait to be confirmed',
  planned: 'sweeps wait for a block',
  done: 'sweeps that are in a block wait to be final',
  next_in_line: 'the hot wallet’s next transaction is in no block, and all behind it wait',
  behind_a_gap:
    'what is signed has a higher nonce than the hot wallet’s next, which nothing has; what is signed from now on takes those between, and else see docs/payouts.md',
}

/** Payouts and sweeps that have stood in one state longer than is usual. */
export async function inspectLongWaits(pool: Pool, clock: Clock): Promise<Finding[]> {
  return (await readLongWaits(pool, clock())).map(({ network, state, count, oldestId, since }) =>
    fault(
      `${network}: ${STANDS[state]}: ${count}, of them ${oldestId} since ${since.toISOString()}; the log of watcher and signer says why`,
    ),
  )
}

function findingsOf(
  { network, address, native, own, isLow, isNeeded }: GasBalance,
  isSandbox: boolean,
): Finding[] {
  const wallet = `${network}: the hot wallet ${encodeEvmAddress(address)}`
  const { symbol, decimals } = ASSETS[native]
  const fix = `send it ${symbol} on ${network}`
  const coin = (wei: bigint) => `${formatCoinAmount(wei, decimals)} ${symbol}`
  if (own < 0n)
    return [fault(`${wallet} lacks ${coin(-own)} of what merchants have in it: payouts wait; ${fix}`)]
  const tokens = HOT_WALLETS.find((each) => each.network === network)?.tokens ?? []
  if (tokens.length === 0) return []
  const symbols = [...new Set(tokens.map((id) => ASSETS[id].symbol))].join(' or ')
  const held = `${wallet} has ${coin(own)} for gas`
  if (!isLow) return [ok(held)]
  if (isSandbox) return [ok(`${held}; ${SANDBOX_SENDS}`)]
  return [
    isNeeded
      ? fault(`${held}, which is too little: payouts in ${symbols} wait; ${fix}`)
      : notice(`${held}; before a payout in ${symbols}, ${fix}`),
  ]
}
