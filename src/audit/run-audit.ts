import type { AccessSeals } from '../core/people/access-seals.ts'
import { loadNetworkStates } from '../db/chain/network-state.ts'
import {
  type EventPart,
  type Finding,
  findDisagreements,
  listBookedCoins,
  listEventParts,
  listOtherNetworks,
  prepareAudit,
} from '../db/ledger/audit.ts'
import { type ChainNode, isEvmNode, isSolanaNode, isUtxoNode } from '../nodes/chain-nodes.ts'
import type { Pool } from '../postgres/pool.ts'
import { type ReadFrom, withReadMoment } from '../postgres/standby.ts'
import type { Tx } from '../postgres/transaction.ts'
import { readAddressKeys } from '../secrets/address-keys.ts'
import { auditAccess } from './audit-access.ts'
import { type AddressAudit, auditAddresses } from './audit-addresses.ts'
import { auditBalances, listHeld } from './audit-balances.ts'
import { auditChain, type ChainRecord, readChainRecord } from './audit-chain.ts'
import { type AuditCheck, unlessEnded, unlessUnreadable } from './audit-check.ts'
import { auditCoins } from './audit-coins.ts'
import { auditInvoices } from './audit-invoices.ts'
import { auditOutcomes } from './audit-outcomes.ts'
import type { ChainAudit } from './chain-audit.ts'
import { DEPOSIT_CHECKS } from './deposit-checks.ts'
import { EVENT_FACT_CHECKS } from './event-facts.ts'
import { EVENT_CHECKS, INVOICE_CHECKS } from './invoice-checks.ts'
import { LEDGER_CHECKS } from './ledger-checks.ts'
import { PAYOUT_CHECKS, SWEEP_CHECKS } from './payout-checks.ts'

/** Why what is stored of a network cannot be compared with its chain. */
type Unreadable = { readonly unreadable: string }

/** What is listed of one check; more of the same says nothing new. */
const FINDINGS_MAX = 100
/** A check over all that a large shop ever had takes longer than any other statement may. */
const CHECK_MINUTES_MAX = 60
/** Of events that one query takes apart: 2 GB, some 1,300,000 of them. */
const EVENT_PAGES_MAX = 262_144

export type CheckResult = {
  readonly name: string
  readonly rule: string
  readonly findings: readonly Finding[]
  /** Why it could not be checked, or not in full, beside what was found; null where it was. */
  readonly notChecked: string | null
}

/** How far an audit has come: parts done, of how many, and which is looked at. */
type AuditProgress = (done: number, total: number, note: string) => void

/** Checks that are one query each. */
const QUERY_CHECKS: readonly AuditCheck[] = [
  ...LEDGER_CHECKS,
  ...PAYOUT_CHECKS,
  ...SWEEP_CHECKS,
  ...INVOICE_CHECKS,
  ...EVENT_CHECKS,
  ...EVENT_FACT_CHECKS,
  ...DEPOSIT_CHECKS,
]
/** Every invoice by the core's rules takes about as long as so many queries. */
const INVOICES_WEIGHT = 2

/** How many parts an audit has for its progress. */
export const auditParts = (nodes: readonly ChainNode[]): number =>
  QUERY_CHECKS.length + INVOICES_WEIGHT + nodes.length

type AuditOptions = {
  readonly onProgress?: AuditProgress
  /** Given the database's process that works, and where, for who wants to end it; null once none does. */
  readonly onBackend?: (backend: { readonly pid: number; readonly pool: Pool } | null) => void
  /** Reads what is stored, in place of the primary. */
  readonly standby?: Pool | null
  /** Given where what is stored is read, as often as the reading begins. */
  readonly onRead?: (from: ReadFrom) => void
  /** Ends the calls to nodes that wait for an answer: what they were asked for counts as not checked. */
  readonly stop?: AbortSignal
  /** Where the signer wrote its public keys; null leaves their check out. */
  readonly addressKeysFile?: string | null
  /** What one check may take; an hour where absent. */
  readonly checkMinutesMax?: number
  /** Pages of the table of events that one query takes apart. */
  readonly eventPagesMax?: number
  /** Absent where the installation's key is not at hand: leaves the check of members and keys out. */
  readonly seals?: AccessSeals
}

/**
 * Every promise of the service against what is stored and what the chains say, all at one moment.
 */
export async function runAudit(
  pool: Pool,
  nodes: readonly ChainNode[],
  options: AuditOptions = {},
): Promise<CheckResult[]> {
  const { onProgress = () => {}, onBackend = () => {}, stop = new AbortController().signal } = options
  const { addressKeysFile = null, checkMinutesMax = CHECK_MINUTES_MAX } = options
  const { eventPagesMax = EVENT_PAGES_MAX, standby = null, onRead = () => {} } = options
  const addressKeys = addressKeysFile === null ? null : await readAddressKeys(addressKeysFile)
  const total = auditParts(nodes)
  const progress = (done: number, note: string) => onProgress(done, total, note)
  const { results, records } = await withReadMoment({ pool, standby }, checkMinutesMax, async (tx, from) => {
    onRead(from)
    onBackend({ pid: await prepareAudit(tx), pool: from.pool })
    const results = await checkDatabase(tx, await listEventParts(tx, eventPagesMax), progress)
    if (addressKeysFile !== null) {
      const addresses = await auditAddresses(tx, addressKeys, FINDINGS_MAX)
      results.push(resultOf('address_is_the_signers', 'the signer signed every deposit address', addresses))
    }
    if (options.seals !== undefined) {
      const findings = await auditAccess(tx, options.seals, FINDINGS_MAX)
      const rule = 'Paylink wrote every person, member, second factor and API key'
      results.push({ name: 'access_is_sealed', rule, findings, notChecked: null })
    }
    results.push(...(await uncheckedChains(tx, nodes)))
    return { results, records: await readChains(tx, nodes) }
  })
  onBackend(null)
  for (const [index, { node, record }] of records.entries()) {
    progress(total - nodes.length + index, `chain of ${node.network}`)
    const name = `chain_${node.network}`
    const onChain = isUtxoNode(node)
      ? `every transfer stands on the chain of ${node.network}, and every payment there is a transfer`
      : `every transfer stands on the chain of ${node.network}`
    if ('unreadable' in record) {
      const findings = [{ merchantId: null, subject: node.network, detail: record.unreadable }]
      results.push({ name, rule: onChain, findings, notChecked: null })
      continue
    }
    results.push(resultOf(name, onChain, await auditChain(node, record, stop)))
    if (isEvmNode(node) || isSolanaNode(node)) {
      const rule = `every address on ${node.network} holds what the books say it has`
      const held = await auditBalances(node, record.held, () => listHeld(pool, node), stop)
      results.push(resultOf(`balances_${node.network}`, rule, held))
      const outcomes = `every sweep that is done, and no payout that failed, has its transaction on ${node.network}`
      results.push(resultOf(`outcomes_${node.network}`, outcomes, await auditOutcomes(node, pool, stop)))
    }
    if (!isUtxoNode(node)) continue
    const rule = `every coin of a balance is unspent on the chain of ${node.network}, and none that a confirmed payout spent`
    const audit = await auditCoins(node, record, () => listBookedCoins(pool, node.network), stop)
    results.push(resultOf(`coins_${node.network}`, rule, audit))
  }
  progress(total, 'done')
  return results
}

const resultOf = (name: string, rule: string, audit: ChainAudit | AddressAudit): CheckResult => {
  if (audit.kind === 'not_checked') return { name, rule, findings: [], notChecked: audit.reason }
  const notChecked = 'unchecked' in audit ? (audit.unchecked ?? null) : null
  return { name, rule, findings: audit.findings.slice(0, FINDINGS_MAX), notChecked }
}

type Found = Pick<CheckResult, 'findings' | 'notChecked'>
const NOTHING: Found = { findings: [], notChecked: null }

async function checkDatabase(
  tx: Tx,
  eventParts: readonly EventPart[],
  progress: (done: number, note: string) => void,
): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  /** Of each query that stands for several checks: what it says of all of them, or null where each is asked alone. */
  const together = new Map<string, Found | null>()
  for (const { name, rule, sql, unless, inParts } of QUERY_CHECKS) {
    const parts = inParts === true ? eventParts : [null]
    const ask = async (query: string, limit: number): Promise<Found> => {
      let found = NOTHING
      for (const [place, part] of parts.entries()) {
        progress(results.length, parts.length === 1 ? rule : `${rule}: part ${place + 1} of ${parts.length}`)
        const more = await findingsOf(tx, name, () => findDisagreements(tx, query, limit, part))
        const findings = [...found.findings, ...more.findings].slice(0, limit)
        found = { findings, notChecked: found.notChecked ?? more.notChecked }
        if (findings.length === limit) break
      }
      return found
    }
    if (unless !== undefined && !together.has(unless)) {
      const any = await ask(unless, 1)
      together.set(unless, any.findings.length === 0 ? any : null)
    }
    const found = together.get(unless ?? '') ?? (await ask(sql, FINDINGS_MAX))
    results.push({ name, rule, ...found })
  }
  progress(QUERY_CHECKS.length, 'every invoice by its facts')
  const name = 'invoice_follows_its_facts'
  const rule = "every invoice's status and every transfer's bucket are what the facts give"
  results.push({ name, rule, ...(await findingsOf(tx, name, () => auditInvoices(tx, FINDINGS_MAX))) })
  return results
}

/**
 * What a check finds. A value that it cannot read is a finding, and one that takes too long is not checked: neither keeps
 * another check from being made.
 */
const findingsOf = (tx: Tx, check: string, find: () => Promise<Finding[]>): Promise<Found> =>
  unlessEnded(
    tx,
    () =>
      unlessUnreadable(
        tx,
        async (): Promise<Found> => ({ ...NOTHING, findings: await find() }),
        (detail) => ({ ...NOTHING, findings: [{ merchantId: null, subject: check, detail }] }),
      ),
    (notChecked) => ({ ...NOTHING, notChecked }),
  )

/** Networks with payments and without a node: nobody can say whether those payments are on their chain. */
async function uncheckedChains(tx: Tx, nodes: readonly ChainNode[]): Promise<CheckResult[]> {
  const networks = await listOtherNetworks(
    tx,
    nodes.map(({ network }) => network),
  )
  return networks.map((network) => ({
    name: `chain_${network}`,
    rule: `every transfer stands on the chain of ${network}`,
    findings: [],
    notChecked: 'no node of this network is in the settings',
  }))
}

async function readChains(tx: Tx, nodes: readonly ChainNode[]) {
  const states = await loadNetworkStates(tx)
  const records: { node: ChainNode; record: ChainRecord | Unreadable }[] = []
  for (const node of nodes) {
    const state = states.find(({ network }) => network === node.network) ?? null
    const record = await unlessUnreadable<ChainRecord | Unreadable>(
      tx,
      () => readChainRecord(tx, node, state),
      (unreadable) => ({ unreadable }),
    )
    records.push({ node, record })
  }
  return records
}
