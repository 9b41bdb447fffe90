import { statfs } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { CHAINS, type Network } from '../core/assets.ts'
import { CARD_PROVIDER_NAMES } from '../core/card/onramp-provider.ts'
import { STAGING_NOTICE } from '../core/staging.ts'
import { FOLLOWED_CHAINS, rpcSettingOf } from '../nodes/chain-nodes.ts'
import { type OnrampConfig, openOnramps } from '../onramp/open-onramps.ts'
import { exchangesAt } from '../rates/exchanges.ts'
import { type AssetPriceReport, createPriceBook } from '../rates/price-book.ts'
import type { Clock } from '../runtime/clock.ts'
import { openDataDir } from '../runtime/data-dir.ts'
import { describeError } from '../runtime/log.ts'
import { urlHost } from '../runtime/url-host.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

const FREE_BYTES_MIN = 1024 ** 3
const REQUEST_TIMEOUT_MS = 3_000

/** The configuration itself, the data folder, and whether the service answers. */
export async function inspectSetup(config: Config): Promise<Finding[]> {
  return [
    ok(
      config.sandbox
        ? 'Sandbox: no live network is configured, test mode only'
        : 'Live networks are configured',
    ),
    ...(config.staging ? [notice(STAGING_NOTICE)] : []),
    baseUrlFinding(config),
    ...unfollowedNetworks(config),
    await dataDirFinding(config),
    await serviceFinding(config),
  ]
}

function baseUrlFinding({ baseUrl, sandbox, staging }: Config): Finding {
  const isLocal = /^http:\/\/(localhost|127\.|\[::1\])/.test(baseUrl)
  if (baseUrl.startsWith('https:') || ((sandbox || staging) && isLocal))
    return ok(`Links are given out as ${baseUrl}`)
  if (isLocal) {
    return fault(
      `Links are given out as ${baseUrl}, which no buyer can open: set BASE_URL to your https address`,
    )
  }
  return fault(`Links are given out as ${baseUrl}, without encryption: set BASE_URL to an https address`)
}

function unfollowedNetworks(config: Config): Finding[] {
  return CHAINS.filter((chain) => !FOLLOWED_CHAINS.some((followed) => followed === chain)).flatMap((chain) =>
    (['live', 'test'] as const)
      .map((mode): Network => `${chain}-${mode}`)
      .filter((network) => config.networks[network] !== undefined)
      .map((network) =>
        notice(`${rpcSettingOf(network)} is set, and this version does not follow ${chain} yet`),
      ),
  )
}

async function dataDirFinding({ dataDir }: Config): Promise<Finding> {
  try {
    await openDataDir(dataDir)
    const { bavail, bsize } = await statfs(dataDir)
    const free = bavail * bsize
    const gigabytes = `${(free / 1024 ** 3).toFixed(1)} GB free`
    if (free < FREE_BYTES_MIN)
      return fault(`Data folder ${dataDir}: only ${gigabytes}; make room, or move DATA_DIR`)
    return ok(`Data folder ${dataDir}: writable, ${gigabytes}`)
  } catch (error) {
    return fault(describeError(error))
  }
}

async function serviceFinding({ host, port }: Config): Promise<Finding> {
  const url = `http://${urlHost(host)}:${port}/healthz`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    if (response.ok) return ok(`The service answers on port ${port}`)
    return fault(
      `Port ${port} answers with ${response.status}: another program has it; set PORT, or end that program`,
    )
  } catch {
    return notice(`The service does not answer on port ${port}: start it with paylink start`)
  }
}

const PREFIXES = { coinbase: 'COINBASE_ONRAMP_', moonpay: 'MOONPAY_', sandbox: '' } as const

/** Asks every card provider that is configured a question that makes nothing; nothing is said of the others. */
export async function inspectCards(onramps: OnrampConfig, clock: Clock): Promise<Finding[]> {
  const { providers, webhooks, close } = openOnramps(onramps, { clock })
  try {
    const findings = await Promise.all(
      providers.map(async (provider) => {
        const name = CARD_PROVIDER_NAMES[provider.id]
        const wrong = await provider.fault()
        if (wrong !== null) {
          return fault(
            `Cards by ${name}: no offers (${wrong}); check the keys ${PREFIXES[provider.id]}…, and that this machine may reach it`,
          )
        }
        return webhooks.has(provider.id)
          ? ok(`Cards by ${name}: answers`)
          : notice(`Cards by ${name}: answers; without its webhook key buyers see less of their purchase`)
      }),
    )
    return findings
  } finally {
    await close()
  }
}

/** Asks every exchange once. */
export async function inspectPrices(config: Config, clock: Clock): Promise<Finding[]> {
  const sources = exchangesAt(config.priceSources, config.priceUrls)
  const prices = createPriceBook({ sources, sandboxPrices: true, clock })
  try {
    await prices.refresh()
    return prices.report().map((report) => priceFinding(report, config.sandbox))
  } finally {
    await prices.stop()
  }
}

function priceFinding(
  { asset, status, usdPerUnit, reason, sources }: AssetPriceReport,
  sandbox: boolean,
): Finding {
  const answering = sources.filter(({ fresh }) => fresh).map(({ name }) => name)
  if (status === 'ok') return ok(`Price of ${asset}: ${usdPerUnit} USD, from ${answering.join(', ')}`)
  const why =
    reason ?? sources.map(({ name, lastError }) => `${name}: ${lastError ?? 'no answer'}`).join('; ')
  if (status === 'sandbox') {
    const text = `Price of ${asset}: the built-in table serves test mode, as no exchange can be reached (${why})`
    return sandbox
      ? notice(text)
      : fault(`${text}; live invoices in it are refused: allow this machine to reach them`)
  }
  return fault(`Price of ${asset}: none (${why}); invoices in it are refused until two exchanges agree`)
}
