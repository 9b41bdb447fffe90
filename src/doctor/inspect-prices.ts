import type { Config } from '../config/config.ts'
import { exchangesAt } from '../rates/exchanges.ts'
import { type AssetPriceReport, createPriceBook } from '../rates/price-book.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

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
