import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { loadLastAudit } from '../audit/last-audit.ts'
import { startBackups } from '../backup/keep-backing-up.ts'
import { type Config, givenSettings } from '../config/config.ts'
import { findLinkOwner } from '../db/checkout/payment-links.ts'
import { sealOlderAccess } from '../flows/seal-access.ts'
import { createDepositAddressLimit } from '../flows/steps/deposit-address-limit.ts'
import { createOpenInvoiceLimit } from '../flows/steps/open-invoice-limit.ts'
import { createNetworkStates } from '../http/api/network-states.ts'
import { createRequestRecorder } from '../http/api/request-recorder.ts'
import { createAuditPart } from '../http/public/audit-page.tsx'
import { createCellPart } from '../http/public/cells.ts'
import { createDashboardPart } from '../http/public/dashboard-files.ts'
import { createHealthApp } from '../http/public/health.ts'
import { createPageTurns } from '../http/public/page-turns.ts'
import type { HttpPart } from '../http/server.ts'
import { type ChainNode, chainIdentitiesOf, configuredNodes } from '../nodes/chain-nodes.ts'
import { openOnramps } from '../onramp/open-onramps.ts'
import { openDatabaseClock } from '../postgres/database-clock.ts'
import { latestMigration } from '../postgres/migrate.ts'
import { createNotifier } from '../postgres/notify.ts'
import type { OpenDatabase } from '../postgres/open-database.ts'
import type { Pool } from '../postgres/pool.ts'
import type { RoleContext, RoleName } from '../roles/role.ts'
import { openSandboxControl, startSandboxRole } from '../roles/sandbox.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { DeduplicatedLog } from '../runtime/deduplicated-log.ts'
import type { Log } from '../runtime/log.ts'
import { createMetrics, serveMetrics } from '../runtime/metrics.ts'
import type { InTurn } from '../runtime/slots.ts'
import type { SandboxControl } from '../sandbox/sandbox-control.ts'
import { openAccessSeals } from '../secrets/access-seals.ts'
import { readSealKey } from '../secrets/address-keys.ts'
import { openApprovalKey } from '../secrets/approval-key.ts'
import { createIssuedAddresses } from '../secrets/issued-addresses.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { openForDelivery, openInstallationKeyring } from '../secrets/open-keyring.ts'
import { findOutcomeKey, openOutcomeKey, outcomeKeyFileOf, watcherKeyOf } from '../secrets/outcome-key.ts'
import { writePublicKeyFile } from '../secrets/public-key-file.ts'
import { followActivity } from './follow-activity.ts'
import { listenOrRefuse } from './listen-or-refuse.ts'
import { openPrices } from './open-prices.ts'
import { createRolePools, openStandby, openStandbyPool } from './role-pools.ts'
import { startSignerProcess } from './signer-process.ts'
import { StopList } from './stop-list.ts'

/** Where the build puts the dashboard; the same path from the sources and from the compiled program. */
const DASHBOARD_FOLDER = fileURLToPath(new URL('../../dist/dashboard/', import.meta.url))

export type RunOptions = {
  readonly config: Config
  readonly roles: ReadonlySet<RoleName>
  readonly database: OpenDatabase
  readonly log: Log
  readonly onFatal: (error: Error) => void
  readonly onStep: (line: string) => void
  /** Ends the start between two of its steps. */
  readonly stop: AbortSignal
}

/**
 * Wires and starts the given roles in this process, except the signer, which beside others gets its own process. Each
 * role's code is loaded where it starts: a delivery worker carries no sign-in.
 * Everything that was started is stopped in the opposite order, even if a later step fails. Throws `StartRefused`, or
 * the reason of `stop`.
 */
export async function runRoles(options: RunOptions): Promise<StopList> {
  const { roles, log, onStep, stop } = options
  const stops = new StopList(log)
  let signer: ReturnType<typeof startSignerProcess> | null = null
  try {
    if (roles.has('signer')) {
      onStep('starting the signer in a process of its own')
      signer = startSignerProcess({ ...options, signerUrl: options.database.roleUrls.signer })
      stops.add('the signer', signer.stop)
    }
    const context = await openContext(options, stops)
    stop.throwIfAborted()
    const keyring = await startWorkers(context, options, stops)
    // It takes out of a restored database's pool what was given out since the backup: nobody is shown that again. A key that
    // does not fit ends the start.
    await Promise.race([signer?.begun, once(stop, 'abort')])
    stop.throwIfAborted()
    if (keyring !== null) await startSite({ ...context, keyring }, options, stops)
    startScheduledBackups(context, options, stops)
    await startMetrics(context, options, stops)
    return stops
  } catch (error) {
    await stops.stop()
    throw error
  }
}

function startScheduledBackups(context: RoleContext, { database }: RunOptions, stops: StopList): void {
  const { config, clock, log } = context
  const backups = startBackups(config, givenSettings(), { ownerUrl: database.ownerUrl, clock, log })
  if (backups !== null) stops.add('the backups', () => backups.stop())
}

/** Opens what the roles share: connections, nodes, metrics. */
async function openContext(options: RunOptions, stops: StopList): Promise<RoleContext> {
  const { config, database, log, onFatal } = options
  const { poolOf, waiting } = createRolePools(database.roleUrls, log, stops)
  const clock = await openClock(options, poolOf, stops)
  const metrics = createMetrics(log)
  metrics.gauge('paylink_database_waiting', 'Callers that wait for a database connection', async () =>
    waiting().map(({ role, count }) => ({ label: role, value: count })),
  )
  const nodes = await openNodes(options, systemClock, stops)
  const activity = followActivity({ ...options, urls: database.roleUrls }, stops)
  return { config, clock, log, metrics, urls: database.roleUrls, poolOf, nodes, activity, onFatal }
}

/** Deliveries go by the host's clock, which they compare with the database's; sandbox chains have no database. */
async function openClock({ roles, log }: RunOptions, poolOf: RoleContext['poolOf'], stops: StopList) {
  const role = roles.has('api') || roles.has('checkout') ? 'api' : roles.has('watcher') ? 'watcher' : null
  if (role === null) return systemClock
  const { clock, stop } = await openDatabaseClock(poolOf(role), log)
  stops.add("the database's clock", async () => stop())
  return clock
}

/** Every role that needs a chain also serves the sandbox chains, unless another process does. */
async function openNodes(options: RunOptions, clock: Clock, stops: StopList): Promise<ChainNode[]> {
  const { config, roles, log, onStep } = options
  const readsChains = (['api', 'checkout', 'watcher', 'sandbox'] as const).some((role) => roles.has(role))
  if (!readsChains) return []
  const sandbox = await startSandboxRole(config, { clock, log, hasSandboxRole: roles.has('sandbox') })
  stops.add('the sandbox chains', () => sandbox.stop())
  for (const { chain } of sandbox.nodes) onStep(`sandbox chain for ${chain} is open`)
  return [...configuredNodes(config), ...sandbox.nodes]
}

/** Starts the watcher, the delivery worker and the reader. Returns the keys of the site, null where there is none. */
async function startWorkers(
  context: RoleContext,
  options: RunOptions,
  stops: StopList,
): Promise<Keyring | null> {
  const { roles } = options
  const { config, clock, log } = context
  const hasSite = roles.has('api') || roles.has('checkout')
  // First, since on a first start it makes the key that the others read.
  const keyring = hasSite ? await openInstallationKeyring(config, context.poolOf('api'), clock) : null
  if (roles.has('delivery')) {
    const opener = await openForDelivery(config, context.poolOf('delivery'))
    const { startDeliveryRole } = await import('../roles/delivery.ts')
    const delivery = await startDeliveryRole({ ...context, clock: systemClock, keyring: opener })
    stops.add('the deliveries', () => delivery.stop())
  }
  if (roles.has('reader')) {
    const { startReaderRole } = await import('../roles/reader.ts')
    const reader = await startReaderRole(context)
    stops.add('the reader', () => reader.stop())
  }
  if (roles.has('watcher')) {
    const notifier = createNotifier(context.poolOf('watcher'), (error) => logLost(log, error))
    stops.add("the watcher's notifications", () => notifier.close())
    const outcomeKey = await findOutcomeKey(config)
    const standby = openStandbyPool('watcher', context, stops)
    const { startWatcherRole } = await import('../roles/watcher.ts')
    const watcher = startWatcherRole({ ...context, notifier, outcomeKey, standby })
    stops.add('the watcher', () => watcher.stop())
  }
  return keyring
}

type SiteContext = RoleContext & {
  readonly keyring: Keyring
  readonly sandbox: SandboxControl
}

async function startSite(
  of: Omit<SiteContext, 'sandbox'>,
  { roles }: RunOptions,
  stops: StopList,
): Promise<void> {
  const context = { ...of, sandbox: openSandboxControl(of) }
  stops.add('the test payments', () => context.sandbox.stop())
  const { config, clock, log, keyring, metrics } = context
  const shared = { ...openShared(context, stops), inTurn: createPageTurns() }
  const { pool, prices } = shared
  const health = createHealthApp({
    pool,
    clock,
    log,
    prices,
    baseUrl: config.baseUrl,
    migration: await latestMigration(),
  })
  const parts: HttpPart[] = [
    {
      name: 'health',
      owns: (path) => path === '/healthz' || path === '/readyz',
      fetch: (request) => health.fetch(request),
    },
    createAuditPart({ loadLastAudit: lastAuditOf(pool, keyring, log), log }),
  ]
  const holdsLink = (slug: string) => shared.inTurn(async () => (await findLinkOwner(pool, slug)) !== null)
  parts.push(createCellPart(config.cell, { holdsLink, parts }))
  let endStreams = () => {}
  if (roles.has('checkout')) {
    const onramps = openOnramps(config.onramps, { clock })
    stops.add('the card providers', () => onramps.close())
    const { baseUrl, serviceFeeBps, smtpUrl, x402, staging } = config
    const sendsReceipts = smtpUrl !== null
    const own = { listenUrl: context.urls.api, baseUrl, serviceFeeBps, onramps, sendsReceipts, x402, staging }
    const { openCheckout } = await import('../roles/checkout.ts')
    const checkout = openCheckout({ ...shared, ...own })
    stops.add('the checkout', () => checkout.stop())
    endStreams = checkout.endStreams
    parts.push(...checkout.parts)
  }
  if (roles.has('api')) {
    await publishKeys(config, keyring, log)
    parts.push(...(await openApiParts(context, shared, stops)))
  }
  const server = await listenOrRefuse({ config, parts, log, metrics, notifier: shared.notifier })
  stops.add('the site', () => server.stop(endStreams))
}

/** Reads the last audit that a process of ours sealed; others are logged, each once. */
function lastAuditOf(pool: Pool, keyring: Keyring, log: Log) {
  const { publicKey } = openOutcomeKey(watcherKeyOf(keyring))
  const alerts = new DeduplicatedLog()
  return () =>
    loadLastAudit(pool, publicKey, ({ startedAt }) => {
      if (alerts.isNew(startedAt.toISOString(), 'unsealed'))
        log.error(
          { startedAt },
          'an audit in the database counts for nothing: no watcher with WATCHER_KEY sealed it',
        )
    })
}

/** Where it cannot be written the rest works: the signer says what it lacks. */
async function publishKeys(config: Config, keyring: Keyring, log: Log): Promise<void> {
  const { approvalKeyFile } = config
  try {
    await writePublicKeyFile(approvalKeyFile, openApprovalKey(keyring).publicKey)
    const outcomeKey = openOutcomeKey(watcherKeyOf(keyring))
    await writePublicKeyFile(outcomeKeyFileOf(approvalKeyFile), outcomeKey.publicKey)
  } catch (error) {
    log.error(
      { err: error, approvalKeyFile },
      'the public keys for approvals and outcomes could not be written: a signer that does not know them yet signs no live payout, and none of ETH, USDC or SOL. Let this user write APPROVAL_KEY_FILE and its folder',
    )
  }
}

/** Opens what the API and the checkout share. */
function openShared(context: SiteContext, stops: StopList) {
  const { config, clock, log, keyring, metrics, nodes, poolOf, sandbox } = context
  const pool = poolOf('api')
  const notifier = createNotifier(pool, (error) => logLost(log, error))
  stops.add("the API's notifications", () => notifier.close())
  const { prices, currencyRates } = openPrices(context, stops)
  const networks = createNetworkStates(pool, undefined, chainIdentitiesOf(nodes))
  const issuedAddresses = createIssuedAddresses({ keysPath: config.addressKeysFile, log })
  metrics.gauge(
    'paylink_addresses_refused',
    'Addresses not given out or shown since the start, for the signer did not sign them',
    async () => [{ value: issuedAddresses.refusals.count }],
  )
  const openInvoices = createOpenInvoiceLimit({
    pool,
    max: config.openInvoicesMax,
    elapsedMs: () => performance.now(),
  })
  const depositAddresses = createDepositAddressLimit({
    pool,
    max: config.depositAddressesMax,
    elapsedMs: () => performance.now(),
  })
  const seals = openAccessSeals(keyring, log)
  const standby = openStandby(context, stops)
  metrics.gauge(
    'paylink_access_rows_refused',
    'Times since the start that a row of a member, key, person or sign-in counted for nothing: Paylink did not write it',
    async () => [{ value: seals.refusals.count }],
  )
  return {
    pool,
    ...standby,
    clock,
    log,
    keyring,
    seals,
    networks,
    prices,
    currencyRates,
    notifier,
    issuedAddresses,
    openInvoices,
    depositAddresses,
    sandbox,
  }
}

/** The API with the sign-in, the dashboard and the compatibility APIs. */
async function openApiParts(
  { config }: SiteContext,
  shared: ReturnType<typeof openShared> & { readonly inTurn: InTurn },
  stops: StopList,
): Promise<HttpPart[]> {
  const { baseUrl, rateLimits, webhookAllowPrivate, smtpUrl, serviceFeeBps, compatApis, staging } = config
  const { pool, log } = shared
  const { openPeopleRole } = await import('../roles/people.ts')
  const { openApi } = await import('../roles/api.ts')
  const { openCompat } = await import('../roles/compat.ts')
  const sealed = await sealOlderAccess(shared)
  if (sealed !== null && sealed > 0)
    log.warn({ rows: sealed }, 'sealed the people, members and keys of the release before')
  const signerSealKey = () => readSealKey(config.addressKeysFile)
  const people = openPeopleRole({ ...shared, ...config, signerSealKey })
  stops.add('the sign-in', () => people.stop())
  const recorder = createRequestRecorder({ pool, log })
  stops.add('the request log', () => recorder.stop())
  const sendsMail = smtpUrl !== null
  const deps = { ...shared, findSignIn: people.findSignIn, recorder, signerSealKey, sendsMail }
  const api = openApi(
    { ...deps, baseUrl, rateLimits, webhookAllowPrivate, staging, serviceFeeBps },
    compatApis,
  )
  return [
    people.part,
    await createDashboardPart({ folder: DASHBOARD_FOLDER, baseUrl }),
    // Before the API, which owns every remaining path.
    ...openCompat({ ...deps, baseUrl }, compatApis, api),
    api,
  ]
}

async function startMetrics(context: RoleContext, { roles }: RunOptions, stops: StopList): Promise<void> {
  const { config, log, metrics } = context
  if (config.operatorPort === null) return
  const { port, isGiven } = config.operatorPort
  if (!isGiven && !roles.has('api')) return
  const server = await serveMetrics({ registry: metrics.registry, host: config.operatorHost, port, log })
  stops.add('the metrics', () => server.stop())
}

const logLost = (log: Log, error: Error): void =>
  log.warn({ err: error }, 'a notification could not be sent; its listeners poll meanwhile')
