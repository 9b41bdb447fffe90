import { setMaxListeners } from 'node:events'
import { type AssetId, type Network, networkOf } from '../core/assets.ts'
import { amountsOf } from '../core/invoice/status.ts'
import type { Invoice, Payment } from '../core/invoice/types.ts'
import type { Tenant } from '../core/tenant.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import type { SandboxControls, SignedPayment } from './controls.ts'
import type { PendingStep } from './pending-step.ts'
import { SandboxUnavailable } from './sandbox-rpc.ts'

/** How long a step waits until the watcher has reported the step before; then the scenario goes on regardless. */
const STEP_WAIT_MS = 60_000
/** An invoice past its deadline is expired by the next full reading of the chain. */
const EXPIRY_WAIT_MS = 15_000
const POLL_MS = 150
/** How long a passing state is left to be seen. */
const SHOWN_MS = 2_000
const MAX_RUNNING = 200

export type TestPayment =
  | { readonly kind: 'sent'; readonly scenario: Scenario; readonly txids: readonly string[] }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'sandbox_not_available'; readonly reason: string }

/** Pays test invoices on the sandbox chains. */
export type SandboxControl = {
  /** Whether invoices in this asset can be paid here. */
  serves(asset: AssetId, livemode: boolean): boolean
  payInvoice(input: {
    readonly tenant: Tenant
    readonly invoiceId: string
    readonly scenario: Scenario
    readonly source?: 'api' | 'checkout'
  }): Promise<TestPayment>
  /** Sends coins to any address, as a buyer's card provider would; false where no sandbox chain could. */
  sendCoins(coins: {
    readonly asset: AssetId
    readonly address: string
    /** Base units. */
    readonly amount: bigint
    /** How long they are held back first; the payment is signed before this answers. */
    readonly afterMs: number
  }): Promise<boolean>
  /** Lets running scenarios take their remaining steps at once, and waits for them. */
  stop(): Promise<void>
}

/** The invoices that test payments pay, wherever they are stored. */
export type TestInvoices = {
  /** Reads an invoice that is about to be paid, and where `late` is asked for moves its deadline into the past. */
  begin(input: {
    readonly tenant: Tenant
    readonly invoiceId: string
    readonly late: boolean
    /** Networks that run on a sandbox chain. */
    readonly networks: ReadonlySet<Network>
  }): Promise<
    | { readonly kind: 'ready'; readonly invoice: Invoice; readonly network: Network }
    | { readonly kind: 'unavailable'; readonly network: Network }
    | { readonly kind: 'not_found' }
  >
  read(tenant: Tenant, invoiceId: string): Promise<Invoice | null>
}

type Deps = {
  readonly invoices: TestInvoices
  readonly log: Log
  readonly chains: ReadonlyMap<Network, SandboxControls>
}

/** One scenario under way. */
type Run = {
  readonly deps: Deps
  readonly tenant: Tenant
  readonly invoice: Invoice
  readonly network: Network
  readonly chain: SandboxControls
  readonly scenario: Scenario
  readonly stopped: AbortSignal
}

/**
 * The control of the sandbox chains that serve the given networks. A scenario's transactions are all signed
 * before the answer; steps that need the watcher to have seen the one before are taken in the background.
 */
export function createSandboxControl(deps: Deps): SandboxControl {
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  // Each of them listens while it waits.
  setMaxListeners(MAX_RUNNING, stopping.signal)
  return {
    serves: (asset, livemode) => !livemode && deps.chains.has(networkOf(asset, livemode)),
    payInvoice: async (input) => {
      if (running.size >= MAX_RUNNING || stopping.signal.aborted) {
        return unavailable('Too many test payments are under way: try again later.')
      }
      const { tenant, invoiceId, scenario } = input
      const networks = new Set(deps.chains.keys())
      const begun = await deps.invoices.begin({ tenant, invoiceId, late: scenario === 'late', networks })
      if (begun.kind === 'not_found') return begun
      const chain = deps.chains.get(begun.network)
      if (begun.kind === 'unavailable' || chain === undefined) {
        return unavailable(`The network ${begun.network} does not run on a sandbox chain: pay with a wallet.`)
      }
      const run: Run = { deps, ...begun, tenant, chain, scenario, stopped: stopping.signal }
      try {
        const signed = await signPayments(run)
        const step = pendingStepOf(run, signed)
        if (step !== null) await chain.pendingSteps?.keep(step)
        const rest = await takeFirstStep(run, signed)
        const background = finish(run, rest, step).finally(() => running.delete(background))
        running.add(background)
        return { kind: 'sent', scenario, txids: txidsOf(run, signed) }
      } catch (error) {
        if (!(error instanceof SandboxUnavailable)) throw error
        deps.log.warn({ err: error, invoiceId, scenario }, 'a test payment was not made')
        return unavailable(`The sandbox chain did not make the payment: ${error.message}.`)
      }
    },
    sendCoins: async ({ asset, address, amount, afterMs }) => {
      const chain = deps.chains.get(networkOf(asset, false))
      if (chain === undefined || running.size >= MAX_RUNNING || stopping.signal.aborted) return false
      try {
        const signed = await chain.signPayment(asset, address, amount)
        if (afterMs === 0) await chain.send(signed)
        else {
          const later = sendLater(deps.log, chain, signed, { afterMs, stopped: stopping.signal })
          const background = later.finally(() => running.delete(background))
          running.add(background)
        }
        return true
      } catch (error) {
        if (!(error instanceof SandboxUnavailable)) throw error
        deps.log.warn({ err: error, asset }, 'a test card bought nothing')
        return false
      }
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

async function sendLater(
  log: Log,
  chain: SandboxControls,
  signed: SignedPayment,
  { afterMs, stopped }: { readonly afterMs: number; readonly stopped: AbortSignal },
): Promise<void> {
  try {
    await pauseUnless(stopped, afterMs)
    await chain.send(signed)
  } catch (error) {
    log.warn({ err: error, txid: signed.txid }, 'a delayed test card payment failed')
  }
}

const unavailable = (reason: string): TestPayment => ({ kind: 'sandbox_not_available', reason })

/** Throws `SandboxUnavailable` where the chain does not know the invoice's address, or has no coin for it. */
async function signPayments(run: Run): Promise<readonly SignedPayment[]> {
  const signed: SignedPayment[] = []
  for (const amount of scenarioAmounts(run.invoice, run.scenario)) {
    signed.push(await run.chain.signPayment(run.invoice.asset, run.invoice.address, amount))
  }
  return signed
}

function txidsOf(run: Run, signed: readonly SignedPayment[]): string[] {
  return signed.flatMap((payment) =>
    run.scenario === 'double_spend' ? [payment.txid, payment.replacement.txid] : [payment.txid],
  )
}

/** What is left to do when the answer goes out. */
type Rest = () => Promise<void>

/** Does what the answer may wait for, and returns the rest. */
async function takeFirstStep(run: Run, signed: readonly SignedPayment[]): Promise<Rest> {
  const [first, second] = signed
  if (first === undefined) throw new Error('a scenario pays nothing')
  switch (run.scenario) {
    case 'exact':
    case 'under':
    case 'over':
      await run.chain.send(first)
      return async () => {}
    case 'two_parts':
      await run.chain.send(first)
      return async () => {
        if (second !== undefined) await sendSecondPart(run, first, second)
      }
    case 'late':
      return () => payLate(run, first)
    case 'double_spend':
      await run.chain.show(first, 'detected')
      return () => spendTwice(run, first)
    case 'reorg':
      await run.chain.show(first, 'confirmed')
      return () => reorganiseAndReturn(run, first)
  }
}

/** What the chain does itself, should nobody be left to do it. */
function pendingStepOf({ scenario }: Run, [first, second]: readonly SignedPayment[]): PendingStep | null {
  if (first === undefined) return null
  const { txid } = first
  switch (scenario) {
    case 'exact':
    case 'under':
    case 'over':
      return null
    case 'two_parts':
      return second === undefined ? null : { txid, held: false, hex: second.hex }
    case 'late':
      return { txid, held: false, hex: first.hex }
    case 'double_spend':
      return { txid, held: true, hex: first.replacement.hex }
    case 'reorg':
      return { txid, held: false, hex: null }
  }
}

async function finish(run: Run, rest: Rest, step: PendingStep | null): Promise<void> {
  const context = { invoiceId: run.invoice.id, scenario: run.scenario }
  try {
    await rest()
    if (step !== null) await run.chain.pendingSteps?.done(step.txid)
    run.deps.log.debug(context, 'test payment finished')
  } catch (error) {
    run.deps.log.warn({ ...context, err: error }, 'a test payment was left unfinished')
  }
}

/** The first part is final before the second goes out, so that `partially_paid` is seen. */
async function sendSecondPart(run: Run, first: SignedPayment, second: SignedPayment): Promise<void> {
  await waitUntil(run, STEP_WAIT_MS, (invoice) => statusIn(invoice, first.txid) === 'confirmed')
  await run.chain.send(second)
}

/** The invoice expires before the money comes, as it would by itself. */
async function payLate(run: Run, payment: SignedPayment): Promise<void> {
  const canExpire = run.invoice.payments.length === 0 && run.invoice.cancelledAtMs === null
  if (canExpire) await waitUntil(run, EXPIRY_WAIT_MS, (invoice) => invoice.expiredAtMs !== null)
  await run.chain.send(payment)
}

/** The payment waits unconfirmed; then a transaction that pays us nothing takes its coin. */
async function spendTwice(run: Run, payment: SignedPayment): Promise<void> {
  await waitUntil(run, STEP_WAIT_MS, (invoice) => statusIn(invoice, payment.txid) !== null)
  await show(run)
  await run.chain.replace(payment)
}

/**
 * The payment is final; its block leaves the chain and the payment waits again; some blocks later it is in a
 * block once more. The invoice is paid, then under review (`reorged`), then paid.
 */
async function reorganiseAndReturn(run: Run, payment: SignedPayment): Promise<void> {
  await waitUntil(run, STEP_WAIT_MS, (invoice) => statusIn(invoice, payment.txid) === 'confirmed')
  await show(run)
  await run.chain.withdraw(payment)
  await waitUntil(run, STEP_WAIT_MS, (invoice) => statusIn(invoice, payment.txid) !== 'confirmed')
  await show(run)
  await run.chain.release(payment)
}

/** The status of the invoice's payment by this transaction, or null where it is not known yet. */
function statusIn(invoice: Invoice, txid: string): Payment['status'] | null {
  return invoice.payments.find((payment) => payment.txid === txid)?.status ?? null
}

/** Asks for the invoice until the condition holds, the time is up or the program stops. */
async function waitUntil(run: Run, forMs: number, holds: (invoice: Invoice) => boolean): Promise<void> {
  const { invoices, log } = run.deps
  const attempts = Math.ceil(forMs / POLL_MS)
  for (let attempt = 0; attempt < attempts && !run.stopped.aborted; attempt++) {
    const invoice = await invoices.read(run.tenant, run.invoice.id)
    if (invoice === null || holds(invoice)) return
    await pauseUnless(run.stopped, POLL_MS)
  }
  if (!run.stopped.aborted) {
    const context = { invoiceId: run.invoice.id, scenario: run.scenario }
    log.warn(context, 'the watcher did not report a test payment in time; going on')
  }
}

const show = (run: Run): Promise<void> => pauseUnless(run.stopped, SHOWN_MS)

type Scenario = 'exact' | 'under' | 'over' | 'two_parts' | 'late' | 'double_spend' | 'reorg'

const UNDER_PERCENT = 40n
const OVER_PERCENT = 160n

/**
 * What a scenario pays, in base units, one transaction each: parts of what remains to be paid, or of the whole
 * amount where nothing remains, so that a payment after settlement can be tried too.
 */
function scenarioAmounts(invoice: Invoice, scenario: Scenario): readonly bigint[] {
  const { remaining } = amountsOf(invoice)
  const due = remaining > 0n ? remaining : invoice.amount
  switch (scenario) {
    case 'under':
      return [atLeastOne((due * UNDER_PERCENT) / 100n)]
    case 'over':
      return [(due * OVER_PERCENT + 99n) / 100n]
    case 'two_parts':
      return due === 1n ? [due] : [due / 2n, due - due / 2n]
    case 'exact':
    case 'late':
    case 'double_spend':
    case 'reorg':
      return [due]
  }
}

const atLeastOne = (amount: bigint): bigint => (amount > 0n ? amount : 1n)
