import { backupTimeOf, newestOfEach } from '../backup/backup-name.ts'
import { openStore } from '../backup/open-store.ts'
import type { Config } from '../config/config.ts'
import { formatPrice } from '../core/money.ts'
import { CURRENCIES } from '../core/rates/currencies.ts'
import { agreePrice, type Observation } from '../core/rates/median.ts'
import { PRICE_SYMBOLS, type PriceSymbol } from '../core/rates/plausible-price.ts'
import { ConnectFailed } from '../delivery/outcome-code.ts'
import { createDnsResolver, resolveBySystem } from '../delivery/resolve-host.ts'
import { connectVetted } from '../delivery/vetted-connect.ts'
import { smtpTransport } from '../mail/mail.ts'
import { configuredNodes } from '../nodes/chain-nodes.ts'
import { createCurrencyRates } from '../rates/currency-rates.ts'
import { exchangesAt } from '../rates/exchanges.ts'
import { fetchPrice, openExchangeConnections, REQUEST_TIMEOUT_MS } from '../rates/fetch-price.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { type Finding, fault, notice, ok } from './finding.ts'
import { newestBackupFinding } from './inspect-backup.ts'
import { inspectLiveNetworks } from './inspect-live-networks.ts'
import { inspectCards } from './inspect-setup.ts'

/** Everything outside that the settings name, asked now and only read. */
export async function inspectLive(config: Config, clock: Clock): Promise<Finding[]> {
  const found = await Promise.all([
    inspectLivePrices(config, clock),
    inspectCurrencies(config, clock),
    inspectLiveNetworks(configuredNodes(config), clock),
    inspectCards(config.onramps, clock),
    inspectMail(config.smtpUrl),
    inspectBackupTarget(config.backup, clock),
    inspectClock(config, clock),
    inspectWebhookWay(config),
  ])
  return found.flat()
}

/** Each exchange's price of each coin, how old it is by the exchange's own time, and how far they lie apart. */
async function inspectLivePrices(config: Config, clock: Clock): Promise<Finding[]> {
  const dispatcher = openExchangeConnections()
  try {
    return await Promise.all(PRICE_SYMBOLS.map((symbol) => inspectPrice(config, clock, symbol, dispatcher)))
  } finally {
    await dispatcher.close()
  }
}

async function inspectPrice(
  { priceSources, priceUrls }: Config,
  clock: Clock,
  symbol: PriceSymbol,
  dispatcher: ReturnType<typeof openExchangeConnections>,
): Promise<Finding> {
  const observations: Observation[] = []
  const quotes = await Promise.all(
    exchangesAt(priceSources, priceUrls).map(async (exchange) => {
      const market = exchange.markets[symbol]
      if (market === undefined) return []
      const { signal } = new AbortController()
      const options = { dispatcher, timeoutMs: REQUEST_TIMEOUT_MS, signal }
      const fetched = await fetchPrice(exchange, symbol, market, options)
      if (fetched.kind !== 'price') return [`${exchange.name}: ${fetched.reason}`]
      const { price, exchangeTimeMs } = fetched
      const nowMs = clock().getTime()
      observations.push({ source: exchange.name, price, receivedAtMs: nowMs, exchangeTimeMs })
      const age = exchangeTimeMs === null ? 'reports no time' : `${seconds(nowMs - exchangeTimeMs)} old`
      return [`${exchange.name} ${formatPrice(price)} (${age})`]
    }),
  )
  const said = `Price of ${symbol}: ${quotes.flat().join(', ')}`
  if (agreePrice(observations, clock().getTime()).kind === 'agreed')
    return ok(`${said}; apart by ${spreadOf(observations)} %`)
  return fault(`${said}; no two fresh ones agree, and invoices in it are refused`)
}

/** The currencies in which shops may price, and buyers read prices. */
async function inspectCurrencies({ currencyUrls: urls }: Config, clock: Clock): Promise<Finding[]> {
  const rates = createCurrencyRates({ urls, clock })
  try {
    await rates.refresh()
    const agreed = rates.dollarsPerCurrency(true)
    const missing = CURRENCIES.filter((currency) => !agreed.has(currency))
    const without = missing.length > 0 && agreed.size > 0 ? `, without ${missing.join(', ')}` : ''
    const said = `Currencies for prices: ${agreed.size} of ${CURRENCIES.length}${without}`
    const faults = rates.report().flatMap(({ name, fault }) => (fault === null ? [] : [`${name}: ${fault}`]))
    if (agreed.size > 0) return [ok(said)]
    const why = faults.join('; ') || 'the sources disagree'
    return [notice(`${said} (${why}); invoices priced in them are refused, and buyers read dollars alone`)]
  } finally {
    await rates.stop()
  }
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** Hundredths of a percent are enough. */
function spreadOf(observations: readonly Observation[]): string {
  const [lowest = 1n, ...rest] = observations.map(({ price }) => price).sort((a, b) => (a < b ? -1 : 1))
  const highest = rest.at(-1) ?? lowest
  return (Number(((highest - lowest) * 10_000n) / lowest) / 100).toFixed(2)
}

/** Connects, greets, encrypts and signs in; no mail is sent. Without encryption only where the server offers none. */
async function inspectMail(smtpUrl: string | null, requireTLS = true): Promise<Finding[]> {
  if (smtpUrl === null) return [notice('Email: off; set SMTP_URL')]
  const { host, username } = new URL(smtpUrl)
  const signedIn = username === '' ? 'asks for no password' : 'takes the password'
  const transport = smtpTransport(smtpUrl, { requireTLS })
  try {
    await transport.verify()
    return requireTLS
      ? [ok(`Email: ${host} answers, encrypts, and ${signedIn}`)]
      : [notice(`Email: ${host} answers and ${signedIn}, but does not encrypt: use smtps:`)]
  } catch (error) {
    const isWithoutTls = error instanceof Error && 'code' in error && error.code === 'ETLS'
    if (requireTLS && isWithoutTls) return inspectMail(smtpUrl, false)
    return [fault(`Email: ${host}: ${describeError(error)}; see SMTP_URL`)]
  } finally {
    transport.close()
  }
}

async function inspectBackupTarget(backup: Config['backup'], clock: Clock): Promise<Finding[]> {
  if (backup === null) return [notice('Backups: off; set BACKUP_TO')]
  const store = openStore(backup.target)
  try {
    const names = await store.list()
    const newest = names.at(-1)
    const installations = newestOfEach(names).length
    const shared = installations > 1 ? ` of ${installations} installations` : ''
    const place = `${store.description} lists ${names.length}${shared}`
    if (newest === undefined) return [fault(`Backups: ${place}; run paylink backup`)]
    return [newestBackupFinding(backup, backupTimeOf(newest), place, clock)]
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    return [fault(`Backups: ${error.message}`)]
  }
}

/** What codes, signatures and prices forgive is much more; what is off by this much goes on drifting. */
const CLOCK_OFF_MS_MAX = 5_000
const DATE_TIMEOUT_MS = 5_000
/** A Date header names a second, of which we cannot know how much is over. */
const HALF_A_SECOND_MS = 500

/** This machine's clock against the median of the times that exchanges and card providers report. */
async function inspectClock(config: Config, clock: Clock): Promise<Finding[]> {
  const { coinbase, moonpay } = config.onramps
  const origins = new Set(
    [...exchangeUrls(config), coinbase?.apiUrl, moonpay?.apiUrl].flatMap((url) =>
      url == null ? [] : [new URL(url).origin],
    ),
  )
  const measured = await Promise.all([...origins].map((origin) => clockOffset(origin, clock)))
  const offsets = measured.filter((offset) => offset !== null).sort((a, b) => a - b)
  const middle = offsets[Math.floor(offsets.length / 2)]
  if (middle === undefined) return [notice('Clock: no server reported a time to compare it with')]
  const said = `Clock: ${seconds(Math.abs(middle))} ${middle < 0 ? 'ahead' : 'behind'} (servers that answered: ${offsets.length})`
  if (Math.abs(middle) <= CLOCK_OFF_MS_MAX) return [ok(said)]
  return [fault(`${said}: set it by NTP; prices, webhooks and sign-in codes are refused by a wrong one`)]
}

const exchangeUrls = ({ priceSources, priceUrls }: Config): string[] =>
  exchangesAt(priceSources, priceUrls).map(({ baseUrl }) => baseUrl)

/** Milliseconds that a server's clock is ahead of ours; null where it reports none. */
async function clockOffset(origin: string, clock: Clock): Promise<number | null> {
  try {
    const sentMs = clock().getTime()
    const signal = AbortSignal.timeout(DATE_TIMEOUT_MS)
    const { headers } = await fetch(origin, { method: 'HEAD', redirect: 'manual', signal })
    const middleMs = (sentMs + clock().getTime()) / 2
    const date = Date.parse(headers.get('date') ?? '')
    return Number.isNaN(date) ? null : date + HALF_A_SECOND_MS - middleMs
  } catch {
    // Whether it can be reached is reported with its prices and cards.
    return null
  }
}

/** Whether this machine lets webhooks out: names resolve, and TLS is spoken, in the way that deliveries are made. */
async function inspectWebhookWay(config: Config): Promise<Finding[]> {
  const publicOnly = !config.webhookAllowPrivate
  const resolve = publicOnly ? createDnsResolver() : resolveBySystem
  const failures: string[] = []
  for (const url of exchangeUrls(config)) {
    const { hostname, protocol, port, host } = new URL(url)
    try {
      const socket = await connectVetted({ publicOnly, resolve }, { hostname, protocol, port })
      socket.destroy()
      return [ok(`Webhooks: connections get out (tried with ${host})`)]
    } catch (error) {
      if (!(error instanceof ConnectFailed)) throw error
      failures.push(`${host}: ${describeError(error)}`)
    }
  }
  return [
    fault(`Webhooks: no connection gets out (${failures.join('; ')}): let this machine out on port 443`),
  ]
}
